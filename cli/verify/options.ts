/** Reads the settings of `tvs verify` and `tvs-verify` from options, or else from environment variables. */

import { resolve } from "node:path";
import type { ArgsDef } from "citty";
import type { Environment } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { decodeTextFile } from "../../src/partner/file-text.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import { openLogProof } from "../../src/partner/log-proof.ts";
import { isThumbprint } from "../../src/partner/rsa-key.ts";
import { type OfflinePack, readOfflinePack } from "../../src/partner/status-list.ts";
import type { VerifyOptions } from "../../src/partner/verify-envelope.ts";
import { option, readRepeatedOption, toggle } from "../command.ts";
import { addToLogStateFile, readLogStateFile, readTrustedLogKeys } from "../evidence/log-state.ts";
import { readSmallFile } from "../safe/input-file.ts";
import { parseDuration, parseTime } from "../terminal/output.ts";

export const verifyArgs = {
  jwks: option("FILE", "The service's JWKS (TVS_VERIFY_JWKS)"),
  "key-history": option(
    "FILE",
    "The key history (TVS_VERIFY_KEY_HISTORY); beside a JWKS it counts only when its signer is in that",
  ),
  anchor: option("KID", "The key that must have signed the key history (TVS_VERIFY_ANCHOR)"),
  issuer: option("URL", "Who must have signed (TVS_VERIFY_ISSUER)"),
  audience: option("ID", "Your partner id (TVS_VERIFY_AUDIENCE)"),
  proof: option("FILE", "The proof that the envelope is in the service's evidence log; needs --log-key"),
  "log-key": option(
    "KEY|FILE",
    "The log's key, or a file of such keys; may be given several times (TVS_VERIFY_LOG_KEY)",
  ),
  "log-state": option(
    "FILE",
    "Remember the largest checkpoint seen of each log, and refuse a fork (TVS_VERIFY_LOG_STATE)",
  ),
  "status-list": option(
    "FILE",
    "A status list of the service: refuse what was withdrawn since; may be given several times",
  ),
  pack: option(
    "FILE",
    "The service's offline pack: key history, status lists and issuer in one; --anchor pins its signer",
  ),
  "max-age": option(
    "DURATION",
    "How old a status list may be (default 7d, and never beyond its own end); one that was just fetched may be a day old",
  ),
  now: option("TIME", "Check as of this time (ISO 8601)"),
  json: toggle("Print one JSON object a line, one for each envelope"),
} as const satisfies ArgsDef;

type Flags = { readonly [name in Exclude<keyof typeof verifyArgs, "json">]?: string | undefined };

/** A command line as citty parses it. */
export type ParsedCommandLine = {
  readonly args: Flags & { readonly json?: boolean | undefined; readonly _: readonly string[] };
  readonly rawArgs: string[];
};

/** The settings of one run, with the content of all files that the command line names. */
export type VerifySettings = {
  readonly options: VerifyOptions;
  /** The file of the key history or of the offline pack; undefined without a key history. */
  readonly historyFile: string | undefined;
  /** All files that the options name. If these files are in a folder of envelopes, they are skipped. */
  readonly keyFiles: readonly string[];
};

const usage = (message: string) => new TvsError("USAGE", message);

const maxKeyFileMiB = 4;
/** The size limit of a proof. No proof is larger, even with many more signatures. */
const maxProofMiB = 1;
/** The size limit of a pack. A pack is far smaller: it has a status list of at most 180 kB for each million teachers. */
const maxPackMiB = 16;
const maxListMiB = 2;

/** Combines options and environment variables, and reads the files that they name. @throws TvsError USAGE, INPUT_UNREADABLE */
export async function readVerifySettings(
  { args: flags, rawArgs }: ParsedCommandLine,
  env: Environment,
  clock: Date,
) {
  const { TVS_VERIFY_LOG_KEY: keptLogKey } = env;
  const logKeys = readRepeatedOption(rawArgs, "log-key") ?? (keptLogKey ? [keptLogKey] : []);
  const lists = readRepeatedOption(rawArgs, "status-list") ?? [];
  const maxListAge = readMaxAge(flags, lists);
  const files = [
    flags.jwks || env.TVS_VERIFY_JWKS,
    flags["key-history"] || env.TVS_VERIFY_KEY_HISTORY,
    flags["log-state"] || env.TVS_VERIFY_LOG_STATE,
    flags.pack,
    flags.proof,
  ].map((path) => (path ? resolve(path) : undefined));
  const [jwks, keyHistory, logState, packFile, proofFile] = files;
  const pack = packFile === undefined ? undefined : readPack(packFile);
  const anchor = flags.anchor || env.TVS_VERIFY_ANCHOR;
  const issuer = flags.issuer || env.TVS_VERIFY_ISSUER || pack?.issuer;
  const audience = flags.audience || env.TVS_VERIFY_AUDIENCE;
  const historyFile = keyHistory ?? packFile;
  if (jwks === undefined && historyFile === undefined)
    throw usage("no keys to verify with: give --jwks FILE, --key-history FILE or both, or --pack FILE");
  checkAnchor(flags.anchor ?? anchor, historyFile);
  if (!issuer) throw usage("the issuer is not known: give --issuer URL, the public URL of the service");
  if (!audience) throw usage("the audience is not known: give --audience ID, your partner id");
  checkProofFlags(flags, logKeys);
  if (flags._.length === 0) throw usage("nothing to verify: name files, a folder, or - for standard input");
  const now = flags.now === undefined ? clock : new Date(parseTime(flags.now, "--now"));
  const history = keyHistory === undefined ? pack?.keyHistory : readKeys("key history", keyHistory);
  const keys = await createKeySet({
    issuer,
    ...(jwks === undefined ? {} : { jwks: readKeys("JWKS", jwks) }),
    ...(history === undefined ? {} : { keyHistory: history }),
    ...(anchor ? { anchor } : {}),
  });
  const proof =
    proofFile === undefined ? {} : { proof: await openProof(proofFile, logState, { logKeys, now }) };
  const given = { keys, issuer, audience, now, ...proof, ...readLists(lists, pack), ...maxListAge };
  const keyFiles = [...files, ...lists, ...logKeys].filter((path) => path !== undefined);
  return { options: given, historyFile, keyFiles };
}

/** Checks `--anchor`. An empty shell variable must not turn the option off unnoticed. @throws TvsError USAGE */
function checkAnchor(anchor: string | undefined, historyFile: string | undefined): void {
  if (anchor === undefined) return;
  if (anchor === "") throw usage("--anchor is empty: give the id of the key that signed the key history");
  if (historyFile === undefined)
    throw usage(
      "--anchor names the key that signed a key history: give --key-history FILE or --pack FILE as well",
    );
  if (!isThumbprint(anchor))
    throw usage(
      "--anchor is a key id of 43 characters, as the service's health document shows it (activeKid)",
    );
}

/** Reads `--max-age`, and checks the options of status lists. @throws TvsError USAGE */
function readMaxAge({ pack, "max-age": maxAge }: Flags, lists: readonly string[]) {
  if (pack === "" || lists.includes(""))
    throw usage("--pack or --status-list is empty: give the file that the service serves");
  if (maxAge !== undefined && pack === undefined && lists.length === 0)
    throw usage("--max-age is for status lists: give --status-list FILE or --pack FILE as well");
  return maxAge === undefined ? {} : { maxListAgeSeconds: parseDuration(maxAge, "--max-age") / 1000 };
}

/** Checks a proof's options. @throws TvsError USAGE for --log-key or --log-state without --proof, or --proof without --log-key */
function checkProofFlags(flags: Flags, logKeys: readonly string[]): void {
  const { proof } = flags;
  if (logKeys.includes("")) throw usage("--log-key is empty: give the log's key, or a file of such keys");
  const isForProof = flags["log-key"] !== undefined || flags["log-state"] !== undefined;
  if (isForProof && proof === undefined)
    throw usage("--log-key and --log-state are for a proof: give --proof FILE as well");
  if (proof === "") throw usage("--proof is empty: give the file of the proof");
  if (proof !== undefined && logKeys.length === 0)
    throw usage(
      "--proof needs the key of the log: give --log-key KEY, as tvs log key and the service's /log/key print it",
    );
}

const readKeys = (what: string, path: string) => readSmallFile(path, `the ${what} ${path}`, maxKeyFileMiB);

function readPack(path: string): OfflinePack {
  const pack = readOfflinePack(readSmallFile(path, `the pack ${path}`, maxPackMiB));
  if (pack !== null) return pack;
  const where = "fetch it from the service's /v1/inter-agency/offline-pack";
  throw new TvsError("INPUT_UNREADABLE", `${path} is no offline pack: ${where}`);
}

/** Reads the status lists of files and pack. Without files and pack, the result has no member `statusLists`. */
function readLists(paths: readonly string[], pack: OfflinePack | undefined) {
  if (pack === undefined && paths.length === 0) return {};
  const files = paths.map((path) => readSmallFile(path, `the status list ${path}`, maxListMiB));
  const texts = files.map((bytes) => decodeTextFile(bytes) ?? "");
  return { statusLists: [...texts, ...(pack?.statusLists ?? [])] };
}

/**
 * Opens the proof for all envelopes of a run, and remembers its checkpoint in the log state, whatever the verdicts are.
 * @param file the log state @param given verifier keys or the paths of files with verifier keys, and the time
 * @throws TvsError INPUT_UNREADABLE if a file cannot be read, or the log state cannot be written
 */
async function openProof(
  path: string,
  file: string | undefined,
  given: { logKeys: readonly string[]; now: Date },
) {
  const written = readSmallFile(path, `the proof ${path}`, maxProofMiB);
  const options = { ...given, logKeys: await readTrustedLogKeys(given.logKeys) };
  if (file === undefined) return openLogProof(written, options);
  const proof = await openLogProof(written, { ...options, logState: readLogStateFile("--log-state", file) });
  if (proof.refusal === null) await addToLogStateFile(file, proof);
  return proof;
}

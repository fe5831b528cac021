/** Reads the settings of `tvs verify` and `tvs-verify` from options, or else from environment variables. */

import { resolve } from "node:path";
import type { ArgsDef } from "citty";
import type { Environment } from "../../src/config.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { decodeText } from "../../src/partner/file-text.ts";
import { type LogProof, openLogProof } from "../../src/partner/log-proof.ts";
import { isThumbprint } from "../../src/partner/rsa-key.ts";
import { readVerifierKey } from "../../src/partner/signed-note.ts";
import { type OfflinePack, readOfflinePack } from "../../src/partner/status-list.ts";
import { flag, option } from "../command.ts";
import { readLogKeys, readStateFile, rememberInStateFile } from "../evidence/log-state.ts";
import { readBounded } from "../safe/input-file.ts";
import { parseDuration } from "../terminal/output.ts";

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
  json: flag("Print one JSON object a line, one for each envelope"),
} as const satisfies ArgsDef;

type Texts = Exclude<keyof typeof verifyArgs, "json" | "log-key" | "status-list">;

export type VerifyFlags = { readonly [name in Texts]?: string | undefined } & {
  readonly json?: boolean | undefined;
  readonly "log-key"?: readonly string[] | undefined;
  readonly "status-list"?: readonly string[] | undefined;
};

/** The settings of one run. Paths are absolute. */
export type VerifySettings = LogSettings & {
  readonly jwks: string | undefined;
  readonly keyHistory: string | undefined;
  /** The offline pack. Its key history is used if none was given, and its status lists are added to `statusLists`. */
  readonly pack: { readonly path: string; readonly read: OfflinePack } | undefined;
  readonly statusLists: readonly string[];
  readonly maxListAgeSeconds: number | undefined;
  readonly anchor: string | undefined;
  readonly issuer: string;
  readonly audience: string;
};

const usage = (message: string) => new TvsError("USAGE", message);

/** Combines options and environment variables. @throws TvsError USAGE if settings are missing or contradict */
export async function resolveSettings(flags: VerifyFlags, env: Environment): Promise<VerifySettings> {
  const { TVS_VERIFY_LOG_KEY: keptLogKey } = env;
  const logKeys = flags["log-key"] ?? (keptLogKey ? [keptLogKey] : []);
  const [jwks, keyHistory, logState] = [
    flags.jwks || env.TVS_VERIFY_JWKS,
    flags["key-history"] || env.TVS_VERIFY_KEY_HISTORY,
    flags["log-state"] || env.TVS_VERIFY_LOG_STATE,
  ].map((path) => (path ? resolve(path) : undefined));
  const anchor = flags.anchor || env.TVS_VERIFY_ANCHOR;
  const lists = checkListFlags(flags);
  const pack =
    flags.pack === undefined ? undefined : { path: resolve(flags.pack), read: await readPack(flags.pack) };
  const issuer = flags.issuer || env.TVS_VERIFY_ISSUER || pack?.read.issuer;
  const audience = flags.audience || env.TVS_VERIFY_AUDIENCE;
  if (!jwks && !keyHistory && !pack)
    throw usage("no keys to verify with: give --jwks FILE, --key-history FILE or both, or --pack FILE");
  // An empty variable in a script must not switch the pin off unnoticed.
  if (flags.anchor === "")
    throw usage("--anchor is empty: give the id of the key that signed the key history");
  if (anchor && !keyHistory && !pack)
    throw usage(
      "--anchor names the key that signed a key history: give --key-history FILE or --pack FILE as well",
    );
  if (anchor && !isThumbprint(anchor))
    throw usage(
      "--anchor is a key id of 43 characters, as the service's health document shows it (activeKid)",
    );
  if (!issuer) throw usage("the issuer is not known: give --issuer URL, the public URL of the service");
  if (!audience) throw usage("the audience is not known: give --audience ID, your partner id");
  if (logKeys.includes("")) throw usage("--log-key is empty: give the log's key, or a file of such keys");
  checkProofFlags(flags, logKeys);
  // A value that is not a verifier key is the path of a file with keys.
  const settled = await Promise.all(
    logKeys.map(async (value) => ((await readVerifierKey(value)) === null ? resolve(value) : value)),
  );
  return { jwks, keyHistory, pack, ...lists, anchor, issuer, audience, logKeys: settled, logState };
}

function checkListFlags(flags: VerifyFlags): Pick<VerifySettings, "statusLists" | "maxListAgeSeconds"> {
  const { pack, "status-list": lists = [], "max-age": maxAge } = flags;
  if (pack === "" || lists.includes(""))
    throw usage("--pack or --status-list is empty: give the file that the service serves");
  if (maxAge !== undefined && pack === undefined && lists.length === 0)
    throw usage("--max-age is for status lists: give --status-list FILE or --pack FILE as well");
  const maxListAgeSeconds = maxAge === undefined ? undefined : parseDuration(maxAge, "--max-age") / 1000;
  return { statusLists: lists.map((path) => resolve(path)), maxListAgeSeconds };
}

/** Checks the options of a proof. @throws TvsError USAGE if they are given without --proof, or --proof without a key */
function checkProofFlags(flags: VerifyFlags, logKeys: readonly string[]): void {
  const { proof } = flags;
  const isForProof = flags["log-key"] !== undefined || flags["log-state"] !== undefined;
  if (isForProof && proof === undefined)
    throw usage("--log-key and --log-state are for a proof: give --proof FILE as well");
  if (proof === "") throw usage("--proof is empty: give the file of the proof");
  if (proof !== undefined && logKeys.length === 0)
    throw usage(
      "--proof needs the key of the log: give --log-key KEY, as tvs log key and the service's /log/key print it",
    );
}

/** Far above the size of a pack, which has a status list of at most 180 kB for each million teachers. */
const maxPackMiB = 16;
const maxListMiB = 2;

/** Reads an offline pack. @throws TvsError INPUT_UNREADABLE */
async function readPack(path: string): Promise<OfflinePack> {
  const pack = readOfflinePack(await readFileUpTo(path, `the pack ${path}`, maxPackMiB));
  if (pack !== null) return pack;
  const where = "fetch it from the service's /v1/inter-agency/offline-pack";
  throw new TvsError("INPUT_UNREADABLE", `${path} is no offline pack: ${where}`);
}

/** Reads the files of status lists. @throws TvsError INPUT_UNREADABLE */
export async function readStatusLists(paths: readonly string[]): Promise<string[]> {
  const files = paths.map((path) => readFileUpTo(path, `the status list ${path}`, maxListMiB));
  return (await Promise.all(files)).map((bytes) => decodeText(bytes) ?? "");
}

type LogSettings = {
  /** Verifier keys, and paths of files with verifier keys. */
  readonly logKeys: readonly string[];
  /** The file that remembers the largest checkpoint of each log. */
  readonly logState: string | undefined;
};

/** No proof is as long, even with many more signatures. */
const maxProofMiB = 1;

/** Reads a file of at most `maxMiB`; the message names it as `called`. @throws TvsError INPUT_UNREADABLE */
export async function readFileUpTo(path: string, called: string, maxMiB: number): Promise<Uint8Array> {
  const bytes = await readBounded(path, maxMiB * 1024 * 1024).catch((cause) => {
    throw new TvsError("INPUT_UNREADABLE", `${called} cannot be read: check the path`, { cause });
  });
  if (bytes === null) throw new TvsError("INPUT_UNREADABLE", `${called} is larger than ${maxMiB} MiB`);
  return bytes;
}

/**
 * Opens the proof for all envelopes of a run, and remembers its checkpoint in the log state, whatever the verdicts are.
 * @throws TvsError INPUT_UNREADABLE if a file cannot be read, or the log state cannot be written
 */
export async function openProof(path: string, settings: LogSettings, now: Date): Promise<LogProof> {
  const written = await readFileUpTo(path, `the proof ${path}`, maxProofMiB);
  const logKeys = await readLogKeys(settings.logKeys);
  if (settings.logState === undefined) return openLogProof(written, { logKeys, now });
  const logState = readStateFile("--log-state", settings.logState);
  const proof = await openLogProof(written, { logKeys, now, logState });
  if (proof.refusal === null) await rememberInStateFile(settings.logState, proof);
  return proof;
}

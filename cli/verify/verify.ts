/** The command `tvs verify`, which judges envelopes offline. The judging itself is src/partner, the same as partners use. */

import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import type { ArgsDef } from "citty";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { createKeySet, type KeySet, type KeySetSources } from "../../src/partner/key-set.ts";
import { command, commonArgs } from "../command.ts";
import { workerEntry } from "../entry.ts";
import { readBounded } from "../input-file.ts";
import { exitCodes, parseTime } from "../terminal/output.ts";
import { printable } from "../terminal/printable.ts";
import { type Bytes, openSources } from "./files.ts";
import { formatOf } from "./format.ts";
import { type Judge, judgeSource, type Tally, type VerifierThreads } from "./judge.ts";
import type { PictureLimits } from "./pictures.ts";
import { createPrinter, createProgress } from "./printer.ts";
import { openProof } from "./proof.ts";
import { openRs256 } from "./rs256.ts";
import { type Environment, type Profile, resolveProfile, saveProfile } from "./settings.ts";
import { startVerifiers, type VerifierSettings } from "./threads.ts";

/** What the command touches of the outside world. */
type VerifyIo = {
  /** A promise when the reader is slower; the next piece comes after it is fulfilled. */
  stdout(text: string): void | Promise<void>;
  stderr(text: string): void;
  readonly env: Environment;
  now(): Date;
  /** Standard input; the process's own when left out. */
  readonly stdin?: Bytes;
  /** Whether standard output is a terminal that shows colours. */
  readonly color?: boolean;
  /** The program's entry; with it, large inputs are judged by a thread for each core. */
  readonly workerEntry?: URL;
  /** Another number of threads than the machine has cores. */
  readonly threads?: number;
  /** Other limits for pictures than 30 s and 512 MiB. */
  readonly pictureLimits?: PictureLimits;
};

const args = {
  jwks: { type: "string", valueHint: "FILE", description: "The service's JWKS (TVS_VERIFY_JWKS)" },
  "key-history": {
    type: "string",
    valueHint: "FILE",
    description:
      "The key history (TVS_VERIFY_KEY_HISTORY); beside a JWKS it counts only when its signer is in that",
  },
  anchor: {
    type: "string",
    valueHint: "KID",
    description: "The key that must have signed the key history (TVS_VERIFY_ANCHOR)",
  },
  issuer: { type: "string", valueHint: "URL", description: "Who must have signed (TVS_VERIFY_ISSUER)" },
  audience: { type: "string", valueHint: "ID", description: "Your partner id (TVS_VERIFY_AUDIENCE)" },
  proof: {
    type: "string",
    valueHint: "FILE",
    description: "The proof that the envelope is in the service's evidence log; needs --log-key",
  },
  "log-key": {
    type: "string",
    valueHint: "KEY|FILE",
    description: "The log's key, or a file of such keys; may be given several times (TVS_VERIFY_LOG_KEY)",
  },
  "log-state": {
    type: "string",
    valueHint: "FILE",
    description: "Remember the largest checkpoint seen of each log, and refuse a fork (TVS_VERIFY_LOG_STATE)",
  },
  now: { type: "string", valueHint: "TIME", description: "Check as of this time (ISO 8601)" },
  profile: { type: "string", valueHint: "NAME", description: "Use a saved profile" },
  "save-profile": {
    type: "string",
    valueHint: "NAME",
    description: "Save keys, anchor, issuer, audience, log keys and log state as a profile",
  },
  json: { type: "boolean", description: "Print one JSON object a line, one for each envelope" },
  qr: { type: "boolean", description: "The files are pictures or PDFs of one printed certificate" },
} as const satisfies ArgsDef;

type Command = {
  readonly paths: string[];
  readonly profile: Profile;
  readonly settings: VerifierSettings;
  readonly qr: boolean;
  readonly proof: string | undefined;
};

const maxKeyFileBytes = 4 * 1024 * 1024;

/** Strict: a mistyped flag must not quietly turn into an envelope that is judged by other rules. */
function parse(rawArgs: readonly string[]) {
  try {
    return parseArgs({
      args: [...rawArgs],
      options: { ...args, ...commonArgs, "log-key": { type: "string", multiple: true } },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    // Node's message names the flag; its further sentences are advice for other programs.
    const [sentence] = String((error as Error).message).split(/\. |\n/);
    throw new TvsError("USAGE", `${sentence}; --help shows its options`);
  }
}

async function readKeyFile(path: string | undefined, what: string): Promise<Uint8Array | null> {
  if (path === undefined) return null;
  const bytes = await readBounded(path, maxKeyFileBytes).catch((cause) => {
    throw new TvsError("INPUT_UNREADABLE", `the ${what} ${path} cannot be read: check the path`, { cause });
  });
  if (bytes === null) throw new TvsError("INPUT_UNREADABLE", `the ${what} ${path} is larger than 4 MiB`);
  return bytes;
}

async function readSources({ jwks, keyHistory, anchor, issuer }: Profile): Promise<KeySetSources> {
  const set = await readKeyFile(jwks, "JWKS");
  const history = await readKeyFile(keyHistory, "key history");
  return {
    issuer,
    ...(set === null ? {} : { jwks: set }),
    ...(history === null ? {} : { keyHistory: history }),
    ...(anchor === undefined ? {} : { anchor }),
  };
}

/** What only a proof needs must not look as if it had been judged by. */
function assertProofFlags(flags: ReturnType<typeof parse>["values"], { logKeys }: Profile): void {
  const { proof, qr } = flags;
  const isForProof = flags["log-key"] !== undefined || flags["log-state"] !== undefined;
  // A certificate may bring its own.
  const isExpected = proof !== undefined || qr === true || flags["save-profile"] !== undefined;
  if (isForProof && !isExpected)
    throw new TvsError("USAGE", "--log-key and --log-state are for a proof: give --proof FILE as well");
  if (proof === "") throw new TvsError("USAGE", "--proof is empty: give the file of the proof");
  if (proof !== undefined && logKeys.length === 0)
    throw new TvsError(
      "USAGE",
      "--proof needs the key of the log: give --log-key KEY, as tvs log key and the service's /log/key print it",
    );
}

async function prepare(rawArgs: readonly string[], io: VerifyIo): Promise<Command> {
  const { values: flags, positionals: paths } = parse(rawArgs);
  const { "key-history": keyHistory, "log-key": logKeys, "log-state": logState } = flags;
  const profile = await resolveProfile({ ...flags, keyHistory, logKeys, logState }, io.env);
  assertProofFlags(flags, profile);
  const name = flags["save-profile"];
  if (name !== undefined) {
    const path = await saveProfile(name, profile, io.env);
    io.stderr(`saved profile ${name} in ${path}\n`);
  } else if (paths.length === 0) {
    throw new TvsError("USAGE", "nothing to verify: name files, a folder, or - for standard input");
  }
  const { issuer, audience } = profile;
  const now = flags.now === undefined ? io.now() : new Date(parseTime("--now", flags.now));
  const [sources, json, color] = [await readSources(profile), flags.json === true, io.color ?? false];
  const settings = { sources, issuer, audience, nowMs: now.getTime(), json, color };
  return { paths, profile, settings, qr: flags.qr === true, proof: flags.proof };
}

/** How this run judges; the threads are started when a large input needs them. */
async function createJudge({ settings, proof, profile }: Command, printed: string | null, io: VerifyIo) {
  const { sources, issuer, audience, nowMs } = settings;
  const now = new Date(nowMs);
  const [keys, verifySignature] = [await createKeySet(sources), await openRs256()];
  const count = io.threads ?? availableParallelism();
  const entry = count > 1 ? io.workerEntry : undefined;
  let started: Promise<VerifierThreads> | null = null;
  const opened = await openProof({ path: proof, printed }, profile, now);
  const judge: Judge = {
    options: { keys, issuer, audience, now, verifySignature },
    proof: opened,
    hasUnjudgedProof: opened === null && printed !== null,
    format: formatOf(settings),
    async threads() {
      if (entry === undefined) return null;
      started ??= startVerifiers(entry, settings, count);
      return started;
    },
  };
  return { judge, close: async () => (await started)?.close() };
}

/** Frozen: 1 when anything was refused, else 2 when anything is undecidable, else 0. */
function exitCode(tally: Tally): number {
  if (tally.refused > 0) return exitCodes.refused;
  return tally.undecidable > 0 ? exitCodes.undecided : exitCodes.done;
}

async function openPictures(paths: readonly string[], stdin: Bytes, io: VerifyIo) {
  const { pictureLimits, readCertificate, startPictureThread } = await import("./pictures.ts");
  const entry = io.workerEntry ?? new URL("../main.ts", import.meta.url);
  return readCertificate(paths, stdin, startPictureThread(entry, io.pictureLimits ?? pictureLimits));
}

/** A proof that came with the certificate and was not asked about must not look as if it had been judged. */
function proofNote({ hasUnjudgedProof }: Judge): string {
  if (!hasUnjudgedProof) return "";
  return "the certificate carries a proof of the evidence log: --log-key KEY has it judged as well\n";
}

/** Without a JWKS or an anchor, whoever made the file decided what is valid: the reader has to know. */
function trustNote({ trust }: KeySet, { keyHistory = "" }: Profile): string {
  if (trust?.basis !== "key-history") return "";
  const signed = `signed by key ${trust.historySigner} on ${trust.historySignedAt}`;
  return `trust rests on ${printable(keyHistory)} alone, ${signed}; --anchor pins its signer, --jwks checks it\n`;
}

async function judgeAll(command: Command, io: VerifyIo): Promise<number> {
  const { paths, profile, settings } = command;
  const progress = command.qr ? null : await createProgress(paths);
  const stdin = io.stdin ?? process.stdin;
  const certificate = command.qr ? await openPictures(paths, stdin, io) : null;
  const printed = certificate?.proof ?? null;
  const { judge, close } = await createJudge(command, printed, io);
  const { printer, tally, flush } = createPrinter(io.stdout, judge.format, progress);
  const { jwks, keyHistory, logKeys, logState } = profile;
  const keyFiles = [jwks, keyHistory, command.proof, logState, ...logKeys].filter(
    (path) => path !== undefined,
  );
  try {
    const sources = certificate === null ? openSources(paths, stdin, keyFiles) : [certificate.source];
    for await (const source of sources) {
      await judgeSource(source, judge, printer);
    }
    await flush();
  } finally {
    progress?.stop();
    await close();
  }
  const { valid, refused, undecidable } = tally;
  const isSummed = !settings.json && paths.length > 0;
  if (isSummed) await io.stdout(trustNote(judge.options.keys, profile) + proofNote(judge));
  if (isSummed) await io.stdout(`${valid} valid, ${refused} refused, ${undecidable} undecidable\n`);
  return exitCode(tally);
}

/**
 * Runs the command. It never touches the network.
 *
 * @param rawArgs the arguments after `verify`
 * @param io where it writes, the environment and the time
 * @returns the exit code: 0 all valid, 1 something refused, 2 something undecidable, nothing found or a
 * wrong command line (then one line on stderr says what to do)
 */
export async function runVerify(rawArgs: readonly string[], io: VerifyIo): Promise<number> {
  try {
    return await judgeAll(await prepare(rawArgs, io), io);
  } catch (error) {
    if (!isTvsError(error)) throw error;
    io.stderr(`tvs verify: ${printable(error.message)}\n`);
    return exitCodes.undecided;
  }
}

function processIo(): VerifyIo {
  const { env, stdout, stderr } = process;
  return {
    stdout: writeAll,
    stderr: (text) => stderr.write(text),
    env,
    now: () => new Date(),
    color: stdout.isTTY === true && !env.NO_COLOR,
    workerEntry: workerEntry(),
  };
}

/** Waits for a reader that is slower, so that memory stays bounded; an error is for the stream's own listener. */
function writeAll(piece: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(piece, () => resolve()));
}

/** A reader that closes the pipe early (`| head`) has seen enough: stop, without having judged everything. */
function stopOnClosedPipe(error: Error & { code?: string }): void {
  if (error.code !== "EPIPE") throw error;
  process.exit(exitCodes.undecided);
}

export default command({
  name: "verify",
  description:
    "Verify envelopes offline: files, a folder (the files in it), or - for standard input. --json prints one object a line. Exit 0: all valid; 1: one was refused; 2: one could not be judged",
  example:
    "tvs verify answers.ndjson --jwks jwks.json --key-history key-history.jose --issuer https://teachers.example --audience exam-body-a\n" +
    "  tvs verify answer.json --proof answer.proof --log-key log.key --profile exam-a\n" +
    "  tvs verify --qr certificate.pdf --profile exam-body-a",
  args,
  variadic: true,
  async run({ rawArgs }) {
    process.stdout.once("error", stopOnClosedPipe);
    process.exitCode = await runVerify(rawArgs, processIo());
    // Elsewhere the program ends by itself: on Bun a write is called done before a slow reader has all of it, and what
    // was left would be lost. A thread that a picture keeps busy must not keep it; of one certificate little is printed.
    if (rawArgs.includes("--qr")) process.exit();
  },
});

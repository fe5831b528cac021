/** The command `tvs verify`, which judges envelopes offline. The judging itself is src/partner, the same as partners use. */

import process from "node:process";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { createKeySet, type KeySet, type KeySetSources } from "../../src/partner/key-set.ts";
import type { VerifyOptions } from "../../src/partner/verify-envelope.ts";
import { command, type OurCommand } from "../command.ts";
import { readBounded } from "../safe/input-file.ts";
import { exitCodes, parseTime } from "../terminal/output.ts";
import { printable } from "../terminal/printable.ts";
import { type Bytes, openSources } from "./files.ts";
import { formatOf } from "./format.ts";
import { judgeSource } from "./judge.ts";
import { assertProofFlags, parseFlags, verifyArgs } from "./options.ts";
import { createPrinter, createProgress, type Tally } from "./printer.ts";
import { openProof } from "./proof.ts";
import { type Environment, resolveSettings, type VerifySettings } from "./settings.ts";

/** What the command touches of the outside world. */
type VerifyIo = {
  /** How messages call the program; `tvs verify` when left out. */
  readonly program?: string;
  /** A promise when the reader is slower; the next piece comes after it is fulfilled. */
  stdout(text: string): void | Promise<void>;
  stderr(text: string): void;
  readonly env: Environment;
  now(): Date;
  /** Standard input; the process's own when left out. */
  readonly stdin?: Bytes;
  /** Whether standard output is a terminal that shows colours. */
  readonly color?: boolean;
};

type Command = {
  readonly paths: string[];
  readonly given: VerifySettings;
  readonly options: VerifyOptions;
  readonly json: boolean;
  readonly proof: string | undefined;
};

const maxKeyFileBytes = 4 * 1024 * 1024;

async function readKeyFile(path: string | undefined, what: string): Promise<Uint8Array | null> {
  if (path === undefined) return null;
  const bytes = await readBounded(path, maxKeyFileBytes).catch((cause) => {
    throw new TvsError("INPUT_UNREADABLE", `the ${what} ${path} cannot be read: check the path`, { cause });
  });
  if (bytes === null) throw new TvsError("INPUT_UNREADABLE", `the ${what} ${path} is larger than 4 MiB`);
  return bytes;
}

async function readSources({ jwks, keyHistory, anchor, issuer }: VerifySettings): Promise<KeySetSources> {
  const set = await readKeyFile(jwks, "JWKS");
  const history = await readKeyFile(keyHistory, "key history");
  return {
    issuer,
    ...(set === null ? {} : { jwks: set }),
    ...(history === null ? {} : { keyHistory: history }),
    ...(anchor === undefined ? {} : { anchor }),
  };
}

async function prepare(rawArgs: readonly string[], io: VerifyIo): Promise<Command> {
  const { values: flags, positionals: paths } = parseFlags(rawArgs);
  const { "key-history": keyHistory, "log-key": logKeys, "log-state": logState } = flags;
  const given = await resolveSettings({ ...flags, keyHistory, logKeys, logState }, io.env);
  assertProofFlags(flags, given);
  if (paths.length === 0)
    throw new TvsError("USAGE", "nothing to verify: name files, a folder, or - for standard input");
  const { issuer, audience } = given;
  const now = flags.now === undefined ? io.now() : new Date(parseTime("--now", flags.now));
  const keys = await createKeySet(await readSources(given));
  const proof = flags.proof === undefined ? {} : { proof: await openProof(flags.proof, given, now) };
  const options = { keys, issuer, audience, now, ...proof };
  return { paths, given, options, json: flags.json === true, proof: flags.proof };
}

/** Frozen: 1 when anything was refused, else 2 when anything is undecidable, else 0. */
function exitCode(tally: Tally): number {
  if (tally.refused > 0) return exitCodes.refused;
  return tally.undecidable > 0 ? exitCodes.undecided : exitCodes.done;
}

/** Without a JWKS or an anchor, whoever made the file decided what is valid: the reader has to know. */
function trustNote({ trust }: KeySet, { keyHistory = "" }: VerifySettings): string {
  if (trust?.basis !== "key-history") return "";
  const signed = `signed by key ${trust.historySigner} on ${trust.historySignedAt}`;
  return `trust rests on ${printable(keyHistory)} alone, ${signed}; --anchor pins its signer, --jwks checks it\n`;
}

async function judgeAll(command: Command, io: VerifyIo): Promise<number> {
  const { paths, given, options, json, proof } = command;
  const progress = await createProgress(paths);
  const format = formatOf({ json, color: io.color ?? false });
  const { printer, tally, flush } = createPrinter(io.stdout, format, progress);
  const { jwks, keyHistory, logKeys, logState } = given;
  const keyFiles = [jwks, keyHistory, proof, logState, ...logKeys].filter((path) => path !== undefined);
  try {
    for await (const source of openSources(paths, io.stdin ?? process.stdin, keyFiles)) {
      await judgeSource(source, options, printer);
    }
    await flush();
  } finally {
    progress?.stop();
  }
  const { valid, refused, undecidable } = tally;
  const isSummed = !json;
  if (isSummed) await io.stdout(trustNote(options.keys, given));
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
    io.stderr(`${io.program ?? "tvs verify"}: ${printable(error.message)}\n`);
    return exitCodes.undecided;
  }
}

function processIo(program: string): VerifyIo {
  const { env, stdout, stderr } = process;
  return {
    program,
    stdout: writeAll,
    stderr: (text) => stderr.write(text),
    env,
    now: () => new Date(),
    color: stdout.isTTY === true && !env.NO_COLOR,
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

const example =
  "tvs verify answers.ndjson --jwks jwks.json --key-history key-history.jose --issuer https://teachers.example --audience exam-body-a\n" +
  "  tvs verify answer.json --proof answer.proof --log-key log.key";

/**
 * The command under the name of its program: `tvs verify`, or the `tvs-verify` of the partners' package (decision
 * D14.1).
 */
export function verifyCommand(program: string): OurCommand {
  return command({
    description:
      "Verify envelopes offline: files, a folder (the files in it), or - for standard input. --json prints one object a line. Exit 0: all valid; 1: one was refused; 2: one could not be judged",
    example: example.replaceAll("tvs verify", program),
    args: verifyArgs,
    variadic: true,
    async run({ rawArgs }) {
      process.stdout.once("error", stopOnClosedPipe);
      process.exitCode = await runVerify(rawArgs, processIo(program));
    },
  });
}

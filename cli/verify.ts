/** `tvs verify`: judges envelopes offline. The judging itself is src/partner, the same as partners use. */

import { readFile, stat } from "node:fs/promises";
import process from "node:process";
import { parseArgs } from "node:util";
import type { ArgsDef } from "citty";
import { isTvsError, TvsError } from "../src/domain/errors.ts";
import { createKeySet, type KeySet } from "../src/partner/key-set.ts";
import type { Verdict } from "../src/partner/reasons.ts";
import type { VerifyOptions } from "../src/partner/verify-envelope.ts";
import { command } from "./command.ts";
import { exitCodes, parseTime } from "./output.ts";
import { type Bytes, openSources } from "./verify-files.ts";
import { fastVerifier, judgeSource, type Print } from "./verify-judge.ts";
import { formatHuman, formatJson, printable } from "./verify-print.ts";
import { type Environment, type Profile, resolveProfile, saveProfile } from "./verify-settings.ts";

/** What the command touches of the outside world. */
export type VerifyIo = {
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Environment;
  now(): Date;
  /** Standard input; the process's own when left out. */
  readonly stdin?: Bytes;
  /** Whether standard output is a terminal that shows colours. */
  readonly color?: boolean;
};

const args = {
  jwks: { type: "string", valueHint: "FILE", description: "The service's JWKS (TVS_VERIFY_JWKS)" },
  "key-history": {
    type: "string",
    valueHint: "FILE",
    description: "The key history (TVS_VERIFY_KEY_HISTORY)",
  },
  issuer: { type: "string", valueHint: "URL", description: "Who must have signed (TVS_VERIFY_ISSUER)" },
  audience: { type: "string", valueHint: "ID", description: "Your partner id (TVS_VERIFY_AUDIENCE)" },
  now: { type: "string", valueHint: "TIME", description: "Judge as at this time (ISO 8601)" },
  profile: { type: "string", valueHint: "NAME", description: "Use a saved profile" },
  "save-profile": {
    type: "string",
    valueHint: "NAME",
    description: "Save keys, issuer and audience as a profile",
  },
} as const satisfies ArgsDef;

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

/** The same flags for the parser, and those that every command takes; of these only `json` matters here. */
const flagOptions = {
  jwks: text,
  "key-history": text,
  issuer: text,
  audience: text,
  now: text,
  profile: text,
  "save-profile": text,
  json: flag,
  data: text,
  database: text,
  sandbox: flag,
} as const;

type Command = {
  readonly paths: string[];
  readonly profile: Profile;
  readonly options: VerifyOptions;
  readonly json: boolean;
};

type Tally = Record<Verdict, number>;

const flushCharacters = 64 * 1024;
const maxKeyFileBytes = 4 * 1024 * 1024;

/** Strict: a mistyped flag must not quietly turn into an envelope that is judged by other rules. */
function parse(rawArgs: readonly string[]) {
  try {
    return parseArgs({ args: [...rawArgs], options: flagOptions, allowPositionals: true, strict: true });
  } catch (error) {
    // Node's message names the flag; its further sentences are advice for other programs.
    const [sentence] = String((error as Error).message).split(/\. |\n/);
    throw new TvsError("USAGE", `${sentence}; --help shows what this command takes`);
  }
}

async function readKeyFile(path: string | undefined, what: string): Promise<Uint8Array | null> {
  if (path === undefined) return null;
  try {
    if ((await stat(path)).size > maxKeyFileBytes) throw new Error("too large");
    return await readFile(path);
  } catch (cause) {
    throw new TvsError("INPUT_UNREADABLE", `the ${what} ${path} cannot be read: check the path`, { cause });
  }
}

async function loadKeys({ jwks, keyHistory, issuer }: Profile): Promise<KeySet> {
  const set = await readKeyFile(jwks, "JWKS");
  const history = await readKeyFile(keyHistory, "key history");
  return createKeySet({
    issuer,
    ...(set === null ? {} : { jwks: set }),
    ...(history === null ? {} : { keyHistory: history }),
  });
}

async function prepare(rawArgs: readonly string[], io: VerifyIo): Promise<Command> {
  const { values: flags, positionals: paths } = parse(rawArgs);
  const profile = await resolveProfile({ ...flags, keyHistory: flags["key-history"] }, io.env);
  const name = flags["save-profile"];
  if (name !== undefined) {
    const path = await saveProfile(name, profile, io.env);
    io.stderr(`saved profile ${name} in ${path}\n`);
  } else if (paths.length === 0) {
    throw new TvsError("USAGE", "nothing to verify: name files, a folder, or - for standard input");
  }
  const { issuer, audience } = profile;
  const now = flags.now === undefined ? io.now() : new Date(parseTime("--now", flags.now));
  const options = { keys: await loadKeys(profile), issuer, audience, now, ...fastVerifier };
  return { paths, profile, options, json: flags.json === true };
}

/** Collects lines, because a write for each of a million envelopes would cost more than judging them. */
function createPrinter(io: VerifyIo, json: boolean, tally: Tally): { print: Print; flush: () => void } {
  let text = "";
  const flush = () => {
    if (text !== "") io.stdout(text);
    text = "";
  };
  const print: Print = (verification, location) => {
    tally[verification.verdict]++;
    text += json
      ? formatJson(verification, location)
      : formatHuman(verification, location, io.color ?? false);
    if (text.length > flushCharacters) flush();
  };
  return { print, flush };
}

/** Frozen: 1 when anything was refused, else 2 when anything is undecidable, else 0. */
function exitCode(tally: Tally): number {
  if (tally.refused > 0) return exitCodes.refused;
  return tally.undecidable > 0 ? exitCodes.undecided : exitCodes.done;
}

async function judgeAll(command: Command, io: VerifyIo): Promise<number> {
  const tally: Tally = { valid: 0, refused: 0, undecidable: 0 };
  const { print, flush } = createPrinter(io, command.json, tally);
  const keyFiles = [command.profile.jwks, command.profile.keyHistory].filter((path) => path !== undefined);
  for await (const source of openSources(command.paths, io.stdin ?? process.stdin, keyFiles)) {
    await judgeSource(source, command.options, print);
  }
  flush();
  const { valid, refused, undecidable } = tally;
  const isSummed = !command.json && command.paths.length > 0;
  if (isSummed) io.stdout(`${valid} valid, ${refused} refused, ${undecidable} undecidable\n`);
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
    stdout: (text) => stdout.write(text),
    stderr: (text) => stderr.write(text),
    env,
    now: () => new Date(),
    color: stdout.isTTY === true && !env.NO_COLOR,
  };
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
    "tvs verify --jwks jwks.json --issuer https://teachers.example --audience exam-body-a answers.ndjson",
  args,
  variadic: true,
  async run({ rawArgs }) {
    process.stdout.once("error", stopOnClosedPipe);
    process.exitCode = await runVerify(rawArgs, processIo());
  },
});

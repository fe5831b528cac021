/**
 * Runs the program as a user does, by command line and URL. TVS_COMMAND names the program, so that the same tests run
 * with the source on Bun, the compiled executable and the source on Deno.
 */
import { fileURLToPath } from "node:url";
import { sleep, until } from "./eventually.ts";

/** The timeout of tests that start processes. Each test file sets it for itself. */
export const testTimeoutMs = 60_000;

/** The URL of main.ts, the entry of the program and of its threads. */
export const mainUrl = new URL("../../cli/main.ts", import.meta.url);

/** The words that start the program. TVS_COMMAND has them as a JSON array, or separated by spaces. */
export const programWords: readonly string[] = readCommand(process.env.TVS_COMMAND ?? "");

function readCommand(text: string): string[] {
  if (text.trim() === "") return [process.execPath, fileURLToPath(mainUrl)];
  return text.trim().startsWith("[") ? (JSON.parse(text) as string[]) : text.trim().split(/\s+/);
}

export type Environment = Readonly<Record<string, string>>;

/**
 * Makes the environment of a child process: ours, without variables that change the program. The signing engine stays,
 * so that a suite can be run with each.
 */
export function childEnvironment(env: Environment): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      ["TVS_SIGNING_ENGINE", "TVS_CRYPTO_MB"].includes(name) ||
      !/^(TVS_|NO_COLOR$|FORCE_COLOR$|BUN_|NODE_OPTIONS$)/.test(name),
  );
  return { ...(Object.fromEntries(kept) as Record<string, string>), ...env };
}

/** The result of a command. It is a class because `toEqual` would compare the method of an object. */
export class CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;

  constructor(code: number, stdout: string, stderr: string) {
    this.code = code;
    this.stdout = stdout;
    this.stderr = stderr;
  }

  /** Parses stdout. @throws SyntaxError if it is not exactly one JSON value */
  json<T>(): T {
    return JSON.parse(this.stdout) as T;
  }
}

export type RunOptions = {
  /** The data folder, for command lines without `--data`. */
  readonly dataDir?: string;
  readonly stdin?: string | Uint8Array;
  readonly env?: Environment;
  readonly cwd?: string;
  /** The words that start the program, instead of those of TVS_COMMAND. */
  readonly program?: readonly string[];
  /** Whether a missing register is not made, which the command needs. */
  readonly isBare?: boolean | undefined;
};

/** The commands for which a missing register is made, as for {@link startService}. */
const filling = ["teachers import", "partners add", "keys import"];

/** Makes the register that a command needs, if it is missing. @returns the environment of the command's process */
export async function prepareCommand(
  words: readonly string[],
  { dataDir, env, isBare }: Pick<RunOptions, "dataDir" | "env" | "isBare">,
): Promise<Record<string, string>> {
  const given = { ...(dataDir === undefined ? {} : { TVS_DATA: dataDir }), ...env };
  const isFilling = words[0] === "serve" || filling.includes(words.slice(0, 2).join(" "));
  if (!isBare && isFilling && !words.includes("--help")) {
    const { makeMissingRegister } = await import("./service.ts");
    await makeMissingRegister(words, given);
  }
  return childEnvironment(given);
}

/** The most commands that run at once. More would only wait for the processors. */
const maxCommands = 4;
let running = 0;
const waiting: (() => void)[] = [];

export async function runTvs(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  if (running >= maxCommands) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await runNow(args, options);
  } finally {
    // The slot goes to the command that has waited longest, or becomes free.
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }
}

async function runNow(args: readonly string[], options: RunOptions): Promise<CommandResult> {
  const { program = programWords, stdin, cwd } = options;
  return runToEnd([...program, ...args], { env: await prepareCommand(args, options), stdin, cwd });
}

type ProcessOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string | undefined;
  readonly stdin?: string | Uint8Array | undefined;
};

/** Runs any program to its end. */
export async function runToEnd(
  words: readonly string[],
  { env, cwd, stdin }: ProcessOptions,
): Promise<CommandResult> {
  const child = Bun.spawn([...words], {
    stdin: stdin === undefined ? "ignore" : new Blob([stdin as string]),
    stdout: "pipe",
    stderr: "pipe",
    env,
    ...(cwd === undefined ? {} : { cwd }),
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return new CommandResult(code, stdout, stderr);
}

/** Makes functions that run a command, and require that it succeeds. @throws Error with its stderr if not */
export function requiringSuccess(run: typeof runTvs) {
  async function runWell(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const finished = await run(args, options);
    if (finished.code !== 0)
      throw new Error(`tvs ${args.join(" ")} ended with ${finished.code}: ${finished.stderr}`);
    return finished;
  }
  async function runJson<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    return (await runWell([...args, "--json"], options)).json<T>();
  }
  return { runWell, runJson };
}

export const { runWell, runJson } = requiringSuccess(runTvs);

export type Signal = "SIGTERM" | "SIGINT" | "SIGKILL";

export type Service = Awaited<ReturnType<typeof startService>>;

type ServeOptions = {
  args?: readonly string[];
  env?: Environment;
  dataDir: string;
  /** As in {@link RunOptions}. */
  program?: readonly string[];
  isBare?: boolean;
};

/** Longer than any test waits. */
const maxStartMs = 600_000;

/** Starts the service on a free port, and waits until it says where it listens. */
export async function startService(options: ServeOptions) {
  const { args = [], env = {}, dataDir, program = programWords, isBare } = options;
  const words = ["serve", "--data", dataDir, "--port", "0", ...args];
  const child = Bun.spawn([...program, ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: await prepareCommand(words, { env, isBare }),
  });
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const wantsTls = args.includes("--tls-port");
  const ready = () => {
    const url = /^listening on (http:\S+)$/m.exec(out.text())?.[1];
    const tlsUrl = /^listening on (https:\S+)$/m.exec(out.text())?.[1] ?? "";
    return url !== undefined && (!wantsTls || tlsUrl !== "") ? { url, tlsUrl } : null;
  };
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await until(() => ready() !== null || hasEnded(), maxStartMs);
  const addresses = ready();
  if (addresses === null) {
    child.kill("SIGKILL");
    throw new Error(`serve did not start: ${err.text()}`);
  }
  return {
    /** Its URLs; `tlsUrl` is empty if the TLS port is off. */
    ...addresses,
    pid: child.pid,
    stdout: out.text,
    stderr: err.text,
    /** Resolves with the exit code, which is 128 plus the number of a signal that ended the process. */
    exited: child.exited,
    signal: (name: Signal) => child.kill(name),
    /** Sends SIGTERM, or another signal, and waits. @returns the exit code */
    async stop(signal: Signal = "SIGTERM"): Promise<number> {
      child.kill(signal);
      const code = await child.exited;
      await Promise.all([out.ended, err.ended]);
      return code;
    },
  };
}

/** Reads a pipe all the time, so that the child never blocks on it. */
function collect(stream: ReadableStream<Uint8Array>) {
  const decoder = new TextDecoder();
  let text = "";
  const ended = (async () => {
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  })();
  return { text: () => text, ended };
}

/** Waits for the next clock minute if fewer than `seconds` of this one are left, because each has its own quota. */
export async function waitForFreshMinute(seconds = 10): Promise<void> {
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < seconds * 1_000) await sleep(leftMs + 50);
}

/**
 * Runs a command in this process, in a tenth of the time of a new process. Tests about processes (signals, threads, a
 * terminal, another user) use `program.ts`, which has the same functions.
 */

import { Readable } from "node:stream";
import { resetSync } from "@logtape/logtape";
import { runCommandLine } from "../../cli/commands.ts";
import { CommandResult, mainUrl, prepareCommand, type RunOptions, requiringSuccess } from "./program.ts";

/** The last command. Commands run one after the other: each uses the streams and environment of the process. */
let last: Promise<unknown> = Promise.resolve();

export function runTvs(
  args: readonly string[],
  options: Omit<RunOptions, "program"> = {},
): Promise<CommandResult> {
  const next = last.then(() => runNow(args, options));
  last = next.catch(() => {});
  return next;
}

async function runNow(args: readonly string[], options: RunOptions): Promise<CommandResult> {
  const { stdin = "", cwd } = options;
  const restore = [replaceEnvironment(await prepareCommand(args, options))];
  const stdout = capture(process.stdout, restore);
  const stderr = capture(process.stderr, restore);
  const input = Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]);
  replace(process, "stdin", Object.assign(input, { fd: null }), restore);
  // The umask of main.ts: only the owner may read what a command writes.
  const umask = process.umask(0o077);
  const folder = process.cwd();
  if (cwd !== undefined) process.chdir(cwd);
  process.exitCode = 0;
  // Another test of this process may have redirected the log.
  resetSync();
  if (args[0] === "restore") await closeDatabases();
  try {
    const code = await runCommandLine(args, mainUrl);
    return new CommandResult(code, stdout(), stderr());
  } finally {
    process.exitCode = 0;
    if (cwd !== undefined) process.chdir(folder);
    process.umask(umask);
    for (const undo of restore.reverse()) undo();
  }
}

/**
 * Closes the databases of earlier commands in this process, so that a restore can replace one. The native driver keeps
 * a closed database open until it is garbage-collected.
 */
export async function closeDatabases(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    Bun.gc(true);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Sets a property until it is restored. */
function replace(object: object, name: string, value: unknown, restore: (() => void)[]): void {
  const before = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  restore.push(() => {
    if (before === undefined) Reflect.deleteProperty(object, name);
    else Object.defineProperty(object, name, before);
  });
}

/** Collects the output of a stream, which is not a terminal until `restore` is called. @returns the output so far */
function capture(stream: NodeJS.WriteStream, restore: (() => void)[]): () => string {
  const written: Uint8Array[] = [];
  const write = (chunk: string | Uint8Array, ...others: unknown[]) => {
    written.push(Buffer.from(chunk as string));
    const done = others.at(-1);
    if (typeof done === "function") process.nextTick(done as () => void);
    return true;
  };
  replace(stream, "write", write, restore);
  replace(stream, "isTTY", undefined, restore);
  replace(stream, "columns", undefined, restore);
  return () => Buffer.concat(written).toString();
}

function replaceEnvironment(env: Record<string, string>): () => void {
  const before = { ...process.env };
  const set = (values: NodeJS.ProcessEnv) => {
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(values, name)) delete process.env[name];
    Object.assign(process.env, values);
  };
  set(env);
  return () => set(before);
}

export const { runWell, runJson } = requiringSuccess(runTvs);

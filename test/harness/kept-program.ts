/**
 * Runs one command line after another, each as the program would in a process of its own: with its words, environment,
 * folder and standard input, until it says its exit code. `kept.ts` tells a command by a line of JSON on the real
 * standard input, and a mark on both streams ends what the command has written.
 */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { runCommandLine } from "../../cli/commands.ts";

/** One line on standard input; the command's own input is in base64. */
export type CommandLine = {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: string;
};

const user = process.geteuid?.();

async function runOne({ args, env, cwd, stdin }: CommandLine): Promise<void> {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.exitCode = 0;
  const input = Readable.from(stdin === "" ? [] : [Buffer.from(stdin, "base64")], { objectMode: false });
  Object.defineProperty(process, "stdin", { value: input, configurable: true });
  const code = await runCommandLine(args, new URL("../../cli/main.ts", import.meta.url));
  // Root that has become somebody else cannot come back.
  if (process.geteuid?.() !== user) process.exit(code);
  // What a command leaves to the end of its process happens now, and nothing of it is left for the next one.
  process.emit("exit", code);
  process.removeAllListeners("exit");
  process.stdout.removeAllListeners("error");
  for (const stream of [process.stdout, process.stderr]) stream.write(`\0ended ${code}\0`);
}

process.umask(0o077);
for await (const line of createInterface({ input: process.stdin }))
  await runOne(JSON.parse(line) as CommandLine);

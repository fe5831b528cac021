/**
 * Processes that have loaded the program and run one command after another. To start a process takes longer than most
 * commands do, and half of what `npm test` would spend.
 */
import { fileURLToPath } from "node:url";
import type { CommandLine } from "./kept-program.ts";

const programFile = fileURLToPath(new URL("./kept-program.ts", import.meta.url));
const endOfCommand = /\0ended (\d+)\0$/;

type Kept = ReturnType<typeof startKept>;
const idle: Kept[] = [];

function startKept(env: CommandLine["env"]) {
  const child = Bun.spawn([process.execPath, programFile], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    env,
  });
  child.unref();
  return { child, stdout: child.stdout.getReader(), stderr: child.stderr.getReader() };
}

/** Runs one command; those that run at the same time are in processes of their own. */
export async function runKept(line: CommandLine): Promise<{ code: number; stdout: string; stderr: string }> {
  const kept = idle.pop() ?? startKept(line.env);
  kept.child.stdin.write(`${JSON.stringify(line)}\n`);
  kept.child.stdin.flush();
  const [stdout, stderr] = await Promise.all([readToEnd(kept.stdout), readToEnd(kept.stderr)]);
  const said = { stdout: stdout.text, stderr: stderr.text };
  // A command may end its process without returning, and this one with it.
  if (stdout.code === undefined || stderr.code === undefined)
    return { code: await kept.child.exited, ...said };
  idle.push(kept);
  return { code: Number(stdout.code), ...said };
}

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return { text, code: undefined };
    text += decoder.decode(value, { stream: true });
    const end = endOfCommand.exec(text);
    if (end !== null) return { text: text.slice(0, end.index), code: end[1] };
  }
}

/** Workbooks are read in a process of their own: within one call of a regular expression, only a process can be ended. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { UnreadableError } from "../../src/domain/import/fields.ts";
import type { SheetReader } from "../../src/domain/import/read.ts";
import { damaged, tooLarge } from "../../src/domain/import/text.ts";
import type { Sheet, SheetOptions } from "../../src/domain/import/workbook.ts";
import { isExecutable } from "../program.ts";

/** The word by which the program reads a workbook from its standard input; not a command for people. */
const workbookWord = "workbook-process";

const megabyte = 1024 * 1024;
const maxMs = 60_000;
const watchMs = 50;

type Answer = Sheet | { readonly error: { readonly line: number; readonly message: string } };

/** @param entry the program's main.ts */
export function sheetReaderIn(entry: URL): SheetReader {
  return async (file, options) => {
    const asked = JSON.stringify({ ...options, isText: typeof file === "string" });
    const [command, before] = commandOf(entry);
    const child = spawn(command, [...before, workbookWord, asked], { stdio: ["pipe", "pipe", "ignore"] });
    // A reader that was ended takes no more bytes.
    child.stdin.on("error", () => {});
    child.stdin.end(file);
    const closed = once(child, "close");
    try {
      const text = (await buffer(child.stdout)).toString();
      await closed;
      if (!text.endsWith("\n")) throw new UnreadableError(1, tooLarge);
      const answer = JSON.parse(text) as Answer;
      if ("error" in answer) throw new UnreadableError(answer.error.line, answer.error.message);
      return answer;
    } finally {
      child.kill("SIGKILL");
    }
  };
}

function commandOf(entry: URL): [command: string, before: string[]] {
  if (isExecutable()) return [process.execPath, []];
  const main = fileURLToPath(entry);
  return [process.execPath, "Deno" in globalThis ? ["run", "-A", main] : [main]];
}

export async function runWorkbookProcess(asked: string, entry: URL): Promise<void> {
  const { isText, ...options } = JSON.parse(asked) as SheetOptions & { isText: boolean };
  const bytes = await buffer(process.stdin);
  // A small file has well below a gigabyte.
  const memory = Math.min(2048 * megabyte, 512 * megabyte + 48 * bytes.length);
  const watch = new Worker(entry, {
    workerData: { role: "workbook-watch", memory, parent: process.ppid },
  });
  await once(watch, "message");
  let answer: Answer;
  try {
    const { readWorkbook } = await import("../../src/domain/import/workbook.ts");
    answer = readWorkbook(isText ? bytes.toString() : bytes, options);
  } catch (error) {
    const { line, message } = error instanceof UnreadableError ? error : { line: 1, message: damaged };
    answer = { error: { line, message } };
  }
  const text = Buffer.from(`${JSON.stringify(answer)}\n`);
  for (let at = 0; at < text.length; at += writeSome(text, at));
  process.exit(0);
}

/** The bytes of a text that went out; none while the pipe is full. */
function writeSome(text: Buffer, at: number): number {
  try {
    return writeSync(1, text, at);
  } catch (error) {
    if ((error as { code?: string }).code === "EAGAIN") return 0;
    throw error;
  }
}

/** Ends the process when it has taken its time or its memory, or when nobody waits for it any more. */
export function runWorkbookWatch(): void {
  const { memory, parent } = workerData as { memory: number; parent: number };
  const ends = performance.now() + maxMs;
  setInterval(() => {
    const isOver = performance.now() > ends || process.memoryUsage.rss() > memory || process.ppid !== parent;
    if (isOver) process.kill(process.pid, "SIGKILL");
  }, watchMs);
  parentPort?.postMessage("watching");
}

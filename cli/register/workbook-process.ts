/** Reads workbooks in a child process with limits: a running regular expression can only be ended with its process. */

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

/** The internal command that reads a workbook from standard input. */
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
    // A killed child closes the pipe.
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

/** Returns the number of bytes written; 0 while the pipe is full. */
function writeSome(text: Buffer, at: number): number {
  try {
    return writeSync(1, text, at);
  } catch (error) {
    if ((error as { code?: string }).code === "EAGAIN") return 0;
    throw error;
  }
}

/** Kills the process above its limits of time and memory, and after its parent has ended. */
export function runWorkbookWatch(): void {
  const { memory, parent } = workerData as { memory: number; parent: number };
  const ends = performance.now() + maxMs;
  setInterval(() => {
    const isOver = performance.now() > ends || process.memoryUsage.rss() > memory || process.ppid !== parent;
    if (isOver) process.kill(process.pid, "SIGKILL");
  }, watchMs);
  parentPort?.postMessage("watching");
}

/** Reads workbooks in a child process. Only killing a process can end a regular expression that runs too long. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { UnreadableError } from "../../src/domain/import/fields.ts";
import type { SheetReader } from "../../src/domain/import/read.ts";
import { workbookDamagedMessage, workbookTooLargeMessage } from "../../src/domain/import/text.ts";
import type { Sheet, SheetOptions } from "../../src/domain/import/workbook.ts";
import { isCompiledExecutable } from "../program.ts";

/** The program's internal command that reads a workbook from standard input. */
const workbookWord = "workbook-process";

const megabyte = 1024 * 1024;
const maxMs = 60_000;
const watchMs = 50;

type Answer = Sheet | { readonly error: { readonly line: number; readonly message: string } };

/** Makes a reader that starts a process for each workbook. @param entry the URL of main.ts */
export function makeSheetReader(entry: URL): SheetReader {
  return async (file, options) => {
    const asked = JSON.stringify({ ...options, isText: typeof file === "string" });
    const [command, before] = commandOf(entry);
    const child = spawn(command, [...before, workbookWord, asked], { stdio: ["pipe", "pipe", "ignore"] });
    // Ignores the broken pipe of a killed child, whose missing answer is reported below.
    child.stdin.on("error", () => {});
    child.stdin.end(file);
    const closed = once(child, "close");
    try {
      const text = (await buffer(child.stdout)).toString();
      await closed;
      if (!text.endsWith("\n")) throw new UnreadableError(1, workbookTooLargeMessage);
      const answer = JSON.parse(text) as Answer;
      if ("error" in answer) throw new UnreadableError(answer.error.line, answer.error.message);
      return answer;
    } finally {
      child.kill("SIGKILL");
    }
  };
}

function commandOf(entry: URL): [command: string, before: string[]] {
  if (isCompiledExecutable()) return [process.execPath, []];
  const main = fileURLToPath(entry);
  return [process.execPath, "Deno" in globalThis ? ["run", "-A", main] : [main]];
}

export async function runAsWorkbookProcess(asked: string, entry: URL): Promise<void> {
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
    const { line, message } =
      error instanceof UnreadableError ? error : { line: 1, message: workbookDamagedMessage };
    answer = { error: { line, message } };
  }
  const text = Buffer.from(`${JSON.stringify(answer)}\n`);
  for (let at = 0; at < text.length; at += writeSome(text, at));
  process.exit(0);
}

/** Writes a part of the text to stdout. @returns the number of bytes written; 0 if the pipe is full */
function writeSome(text: Buffer, at: number): number {
  try {
    return writeSync(1, text, at);
  } catch (error) {
    if ((error as { code?: string }).code === "EAGAIN") return 0;
    throw error;
  }
}

/** Runs in a thread of the workbook process, and kills that process if it exceeds its time or memory, or outlives its parent. */
export function watchWorkbookProcess(): void {
  const { memory, parent } = workerData as { memory: number; parent: number };
  const ends = performance.now() + maxMs;
  setInterval(() => {
    const isOver = performance.now() > ends || process.memoryUsage.rss() > memory || process.ppid !== parent;
    if (isOver) process.kill(process.pid, "SIGKILL");
  }, watchMs);
  parentPort?.postMessage("watching");
}

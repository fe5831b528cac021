import { on } from "node:events";
import { createReadStream } from "node:fs";
import { constants, platform, setPriority } from "node:os";
import { parentPort, Worker } from "node:worker_threads";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { type ErrorCode, isTvsError, TvsError } from "../../src/domain/errors.ts";
import type { Reading } from "../../src/domain/import/extract.ts";
import { type FilePiece, readPieces } from "../../src/domain/import/read.ts";
import type { CheckedRow } from "../../src/domain/import/rows.ts";
import { sheetReaderIn } from "./workbook-process.ts";

const readBytes = 256 * 1024;
/** Pieces that may be under way: enough that neither side waits for the other, and few megabytes. */
const maxUnderWay = 4;

type ImportReaderData = {
  readonly file: string;
  /** What messages call the file. */
  readonly name: string;
  readonly blindIndexKey: Uint8Array;
  readonly reading: Reading;
};

/** What the thread has besides: where the program begins, for the process that reads a workbook. */
export type ThreadData = ImportReaderData & { readonly entry: string };

/**
 * A message of the reading thread. Rows travel as one JSON text: to copy a message of many objects costs more than
 * to write and read it.
 */
type Message =
  | { readonly piece: Omit<FilePiece, "rows">; readonly rows: string }
  | { readonly error: { readonly code: ErrorCode | null; readonly message: string } };

/** The loop of the reading thread. It goes on whenever the other side has taken a piece. */
export async function runImportReader(data: ThreadData): Promise<void> {
  const { file, name, blindIndexKey, reading } = data;
  const readSheet = sheetReaderIn(new URL(data.entry));
  const port = parentPort;
  if (port === null) throw new Error("the reader runs in a worker thread only");
  giveWay();
  const taken = on(port, "message");
  let sent = 0;
  try {
    const bytes = createReadStream(file, { highWaterMark: readBytes });
    const pieces = readPieces({ name, bytes, reading, readSheet }, createBlindIndex(blindIndexKey));
    for await (const { rows, ...piece } of pieces) {
      if (sent++ >= maxUnderWay) await taken.next();
      port.postMessage({ piece, rows: JSON.stringify(rows) } satisfies Message);
    }
  } catch (error) {
    const code = isTvsError(error) ? error.code : null;
    port.postMessage({ error: { code, message: (error as Error).message } } satisfies Message);
  }
}

/**
 * Reads an extract in a thread of its own.
 * @param entry where a worker thread re-enters the program
 * @throws TvsError INPUT_UNREADABLE when the file cannot be read to its end
 */
export async function* readInThread(entry: URL, data: ImportReaderData): AsyncGenerator<FilePiece> {
  const worker = new Worker(entry, { workerData: { role: "import-reader", ...data, entry: entry.href } });
  const messages = on(worker, "message", { close: ["exit"] }) as AsyncIterable<[Message]>;
  try {
    for await (const [message] of messages) {
      if ("error" in message) {
        const { code, message: words } = message.error;
        throw code === null ? new Error(words) : new TvsError(code, words);
      }
      worker.postMessage("taken");
      yield { ...message.piece, rows: JSON.parse(message.rows) as CheckedRow[] };
      if (message.piece.sha256 !== null) return;
    }
    throw new Error("the reading thread ended");
  } finally {
    await worker.terminate();
  }
}

/**
 * Lets everybody else go first, where priorities belong to threads and not to processes. Only for a thread that never
 * writes to the database: whoever holds the write lock and is not let run keeps a service waiting.
 */
function giveWay(): void {
  if (platform() !== "linux") return;
  try {
    setPriority(0, constants.priority.PRIORITY_LOW);
  } catch {
    // A sandbox may forbid it; the work is the same at any priority.
  }
}

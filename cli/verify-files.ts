/** Reads the files, folders and streams that `tvs verify` is given, whatever their size. */

import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { type EnvelopeItem, isRecord, readEnvelopes, readLineBlock } from "../src/partner/input.ts";
import { type RefusalReason, refuse } from "../src/partner/reasons.ts";

export type Bytes = AsyncIterable<Uint8Array>;

/** One file of the input, or the reason why a path gives none. */
export type Source =
  | { readonly file: string; readonly chunks: Bytes }
  | { readonly file: string; readonly reason: RefusalReason };

const mebibyte = 1024 * 1024;
/** Up to this size an input is read whole; beyond it, lines are judged while they are read. */
const wholeBytes = 8 * mebibyte;
/** One JSON document, or one line, must fit into memory. */
export const maxDocumentBytes = 64 * mebibyte;

async function canonicalPath(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** Every regular file of one folder, sorted; a folder inside it is reported, never silently left out. */
async function* listFolder(folder: string, skipped: ReadonlySet<string>): AsyncGenerator<Source> {
  for (const name of (await readdir(folder)).sort()) {
    const file = join(folder, name);
    if (skipped.has(await canonicalPath(file))) continue;
    const about = await stat(file).catch(() => null);
    if (about?.isDirectory()) yield { file, reason: "FOLDER_NESTED" };
    else if (about?.isFile()) yield { file, chunks: createReadStream(file, { highWaterMark: mebibyte }) };
    else yield { file, reason: "FILE_UNREADABLE" };
  }
}

async function* openPath(path: string, stdin: Bytes, skipped: ReadonlySet<string>): AsyncGenerator<Source> {
  if (path === "-") {
    yield { file: "-", chunks: stdin };
    return;
  }
  const about = await stat(path).catch(() => null);
  if (about === null) yield { file: path, reason: "FILE_UNREADABLE" };
  else if (about.isDirectory()) yield* listFolder(path, skipped);
  // A pipe may be named as well: `tvs verify <(gunzip -c archive.gz)`.
  else yield { file: path, chunks: createReadStream(path, { highWaterMark: mebibyte }) };
}

/**
 * Opens every path in turn.
 *
 * @param paths files, folders, or `-` for standard input
 * @param stdin standard input
 * @param keyFiles the key set and the key history, which are no envelopes when they lie in a folder
 */
export async function* openSources(
  paths: readonly string[],
  stdin: Bytes,
  keyFiles: readonly string[],
): AsyncGenerator<Source> {
  const skipped = new Set(await Promise.all(keyFiles.map(canonicalPath)));
  for (const path of paths) {
    let found = 0;
    try {
      for await (const source of openPath(path, stdin, skipped)) {
        found++;
        yield source;
      }
      if (found === 0) yield { file: path, reason: "NO_ENVELOPE" };
    } catch {
      yield { file: path, reason: "FILE_UNREADABLE" };
    }
  }
}

/** Whether a large input is to be read line by line: one of its first lines is a record by itself. */
function beginsWithRecords(head: Uint8Array): boolean {
  const text = new TextDecoder().decode(head.subarray(0, mebibyte));
  const lines = text.split("\n", 16).filter((line) => /\S/.test(line));
  return lines.some((line) => !/^\s*\S*["[\]{},]/.test(line) || isRecord(line));
}

function tooLarge(line: number | null): EnvelopeItem[] {
  return [{ place: { line, index: null }, refusal: refuse("INPUT_TOO_LARGE") }];
}

/** Judges whole lines as soon as they have arrived; only the last, unfinished one is kept. */
async function* streamLines(
  head: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Iterable<EnvelopeItem>> {
  const counter = { line: 0 };
  let unfinished = head;
  for (;;) {
    const end = unfinished.lastIndexOf(0x0a) + 1;
    if (end > 0) yield readLineBlock(unfinished.subarray(0, end), counter);
    unfinished = unfinished.subarray(end);
    if (unfinished.length > maxDocumentBytes) return yield tooLarge(counter.line + 1);
    const next = await rest.next();
    if (next.done) break;
    unfinished = Buffer.concat([unfinished, next.value]);
  }
  yield readLineBlock(unfinished, counter);
}

/** Reads on until the input ends or has more than `limitBytes`. */
async function collect(
  parts: Uint8Array[],
  chunks: AsyncIterator<Uint8Array>,
  limitBytes: number,
): Promise<{ bytes: Uint8Array; isWhole: boolean }> {
  let size = parts.reduce((sum, part) => sum + part.length, 0);
  while (size <= limitBytes) {
    const next = await chunks.next();
    if (next.done) return { bytes: Buffer.concat(parts), isWhole: true };
    parts.push(next.value);
    size += next.value.length;
  }
  return { bytes: Buffer.concat(parts), isWhole: false };
}

/**
 * Finds the envelopes of one file.
 *
 * @param chunks its bytes
 * @returns blocks of candidates; a block is to be used up before the next one is asked for
 */
export async function* readSource(chunks: Bytes): AsyncGenerator<Iterable<EnvelopeItem>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const head = await collect([], iterator, wholeBytes);
  if (head.isWhole) return yield readEnvelopes(head.bytes);
  if (beginsWithRecords(head.bytes)) return yield* streamLines(head.bytes, iterator);
  const document = await collect([head.bytes], iterator, maxDocumentBytes);
  yield document.isWhole ? readEnvelopes(document.bytes) : tooLarge(null);
}

/** Reads the input of `tvs verify`: files, folders and streams of any size. */

import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { concatenateBytes } from "../../src/partner/bytes.ts";
import { convertPiecesToUtf8 } from "../../src/partner/file-text.ts";
import { type EnvelopeItem, isJsonOrJwsLine, readEnvelopes, readLineBlock } from "../../src/partner/input.ts";
import { type RefusalReason, refuse } from "../../src/partner/reasons.ts";

export type InputChunks = AsyncIterable<Uint8Array>;

type Paths = readonly string[];

type Source =
  | { readonly file: string; readonly chunks: InputChunks }
  | { readonly file: string; readonly reason: RefusalReason };

const mebibyte = 1024 * 1024;
const readBytes = mebibyte / 2;
/** An input of up to this many bytes is read whole. The lines of a larger input are verified while they are read. */
const wholeBytes = 8 * mebibyte;
/** The maximum bytes of a JSON document or a line. A parsed document takes about twelve times its size in memory. */
export const maxDocumentBytes = 32 * mebibyte;

const canonicalPath = (path: string) => realpath(path).catch(() => path);

/** Reads a file, which is opened when its first piece is read. */
async function* readFileBytes(path: string): InputChunks {
  yield* createReadStream(path, { highWaterMark: readBytes });
}

/**
 * Opens a file, or every regular file of a folder, sorted by name. A folder inside the folder gives FOLDER_NESTED. A pipe is
 * read only if the command line names it, as in `tvs verify <(gunzip -c archive.gz)`.
 */
async function* openPath(path: string, skipped: ReadonlySet<string>, isNamed = true): AsyncGenerator<Source> {
  const about = await stat(path).catch(() => null);
  if (about?.isDirectory() && isNamed)
    for (const name of (await readdir(path)).sort()) {
      const file = join(path, name);
      if (!skipped.has(await canonicalPath(file))) yield* openPath(file, skipped, false);
    }
  else if (about?.isDirectory()) yield { file: path, reason: "FOLDER_NESTED" };
  else if (about?.isFile() || (about !== null && isNamed)) yield { file: path, chunks: readFileBytes(path) };
  else yield { file: path, reason: "FILE_UNREADABLE" };
}

/** Opens files, folders, or `-` for standard input, one after another. @param keyFiles files that a folder skips */
export async function* openInputs(paths: Paths, stdin: InputChunks, keyFiles: Paths): AsyncGenerator<Source> {
  const skipped = new Set(await Promise.all(keyFiles.map(canonicalPath)));
  for (const path of paths) {
    if (path === "-") {
      yield { file: "-", chunks: stdin };
      continue;
    }
    let found = 0;
    try {
      for await (const source of openPath(path, skipped)) {
        found++;
        yield source;
      }
      if (found === 0) yield { file: path, reason: "NO_ENVELOPE" };
    } catch {
      yield { file: path, reason: "FILE_UNREADABLE" };
    }
  }
}

/** Whether a large input is read line by line: one of its first 16 lines must be a whole JSON text or JWS. */
function beginsWithRecords(head: Uint8Array): boolean {
  const text = new TextDecoder().decode(head.subarray(0, mebibyte));
  const lines = text.split("\n", 16).filter((line) => /\S/.test(line));
  return lines.some((line) => !/^\s*\S*["[\]{},]/.test(line) || isJsonOrJwsLine(line));
}

function withoutMark(head: Uint8Array): Uint8Array {
  const hasMark = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
  return hasMark ? head.subarray(3) : head;
}

async function* prepend(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** Reads whole lines as they arrive, and keeps only the last, unfinished line in memory. */
async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<EnvelopeItem> {
  const counter = { line: 0 };
  // The pieces are joined only at the line's end. Joining at each piece would copy a long line again and again.
  let unfinished: Uint8Array[] = [];
  let unfinishedBytes = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(0x0a) + 1;
    if (end > 0) {
      yield* readLineBlock(concatenateBytes([...unfinished, chunk.subarray(0, end)]), counter);
      unfinished = [];
      unfinishedBytes = 0;
    }
    unfinished.push(chunk.subarray(end));
    unfinishedBytes += chunk.length - end;
    if (unfinishedBytes > maxDocumentBytes) return yield makeRefusal("INPUT_TOO_LARGE", counter.line + 1);
  }
  yield* readLineBlock(concatenateBytes(unfinished), counter);
}

async function collectPieces(parts: Uint8Array[], chunks: AsyncIterator<Uint8Array>, limitBytes: number) {
  let size = parts.reduce((sum, part) => sum + part.length, 0);
  while (size <= limitBytes) {
    const next = await chunks.next();
    if (next.done) return { bytes: concatenateBytes(parts), isWhole: true };
    parts.push(next.value);
    size += next.value.length;
  }
  return { bytes: concatenateBytes(parts), isWhole: false };
}

/** Reads the items of a source in order; an empty or unreadable source gives a refusal. */
export async function* readEnvelopeItems(
  source: Source,
  watch: (chunks: InputChunks) => InputChunks = (chunks) => chunks,
): AsyncGenerator<EnvelopeItem> {
  if ("reason" in source) return yield makeRefusal(source.reason);
  let found = 0;
  try {
    for await (const item of readItems(convertPiecesToUtf8(watch(source.chunks)))) {
      found++;
      yield item;
    }
  } catch (error) {
    // Errors of the file system have a code. Any other error is a fault of this program and must not be hidden.
    if (!(error instanceof Error && "code" in error && typeof error.code === "string")) throw error;
    return yield makeRefusal("FILE_UNREADABLE");
  }
  if (found === 0) yield makeRefusal("NO_ENVELOPE");
}

function makeRefusal(reason: RefusalReason, line: number | null = null): EnvelopeItem {
  return { place: { line, index: null }, refusal: refuse(reason) };
}

async function* readItems(chunks: InputChunks): AsyncGenerator<EnvelopeItem> {
  const iterator = chunks[Symbol.asyncIterator]();
  const head = await collectPieces([], iterator, wholeBytes);
  if (head.isWhole) return yield* readEnvelopes(head.bytes);
  if (beginsWithRecords(head.bytes)) return yield* readLines(prepend(withoutMark(head.bytes), iterator));
  const document = await collectPieces([head.bytes], iterator, maxDocumentBytes);
  if (document.isWhole) yield* readEnvelopes(document.bytes);
  else yield makeRefusal("INPUT_TOO_LARGE");
}

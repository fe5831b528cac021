/** Files that a command was given, which may be anything: endless, a pipe, or gone half way. */

import { Buffer } from "node:buffer";
import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { TvsError } from "../../src/domain/errors.ts";
import { note } from "../terminal/output.ts";

/** The largest small file: keys, certificates and policies have some kilobytes. */
const maxBytes = 1024 * 1024;

/**
 * Reads a small file that somebody handed over: a certificate, a key, a policy. A wrong one, which may be a device or a
 * pipe without an end, cannot take the memory.
 * @param called how messages name it
 * @throws TvsError INPUT_UNREADABLE
 */
export function readSmallFile(file: string, called = file): Buffer {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  try {
    const descriptor = openSync(file, "r");
    try {
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(descriptor, bytes, length, bytes.length - length, null);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw new TvsError("INPUT_UNREADABLE", `${called} cannot be read`, { cause });
  }
  if (length <= maxBytes) return bytes.subarray(0, length);
  throw new TvsError("INPUT_UNREADABLE", `${called} is larger than 1 MiB; give the right file`);
}

/**
 * Reads a whole file, a pipe or a device, but never much more than the limit: what a file says of its size is not
 * asked, because a pipe has none and a device lies.
 * @returns its bytes; null when there are more
 * @throws Error of the file system when it cannot be read
 */
export async function readBounded(
  source: string | AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of typeof source === "string" ? createReadStream(source) : source) {
    parts.push(part);
    size += part.length;
    if (size > maxBytes) return null;
  }
  return Buffer.concat(parts);
}

/**
 * Reads the one line that standard input is to hold; at a terminal it is asked for.
 * @param called what is typed. @param wanted what the input must contain, for the refusal of more than `maxBytes`
 * @throws TvsError USAGE
 */
export async function readLine(
  called: string,
  { maxBytes, wanted }: { maxBytes: number; wanted: string },
): Promise<string> {
  if (process.stdin.isTTY === true) note(`type ${called}, then Enter and Ctrl-D`);
  const bytes = await readBounded(process.stdin, maxBytes);
  if (bytes === null) throw new TvsError("USAGE", `standard input must contain ${wanted}`);
  return new TextDecoder().decode(bytes).trim();
}

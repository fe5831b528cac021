/** Reads a file that may be anything: endless, a pipe, or gone half way. */

import { Buffer } from "node:buffer";
import { createReadStream } from "node:fs";

/**
 * Reads a whole file, a pipe or a device, but never much more than the limit: what a file says of its size is not
 * asked, because a pipe has none and a device lies.
 *
 * @param source the file's path, or a stream
 * @param maxBytes the most that is wanted
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

import { Buffer } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import { TvsError } from "../src/domain/errors.ts";

/** Keys, certificates and policies have some kilobytes. */
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

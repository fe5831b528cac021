/** Reads input files up to a limit, because a path may lead to a pipe or device without an end. */

import { Buffer } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import { TvsError } from "../../src/domain/errors.ts";
import { printNote } from "../terminal/output.ts";

/**
 * Reads a file, pipe or device.
 * @param called the file's name in messages @param maxMiB the size limit; a key, certificate or policy has some KiB
 * @throws TvsError INPUT_UNREADABLE
 */
export function readSmallFile(file: string, called = file, maxMiB = 1): Buffer {
  const maxBytes = maxMiB * 1024 * 1024;
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
    throw new TvsError("INPUT_UNREADABLE", `${called} cannot be read: check the path`, { cause });
  }
  if (length <= maxBytes) return bytes.subarray(0, length);
  throw new TvsError("INPUT_UNREADABLE", `${called} is larger than ${maxMiB} MiB; give the right file`);
}

/** Reads standard input. @returns null if it has more than `maxBytes` @throws TvsError INPUT_UNREADABLE */
export async function readStdin(maxBytes: number): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of process.stdin as AsyncIterable<Uint8Array>) {
      parts.push(part);
      size += part.length;
      if (size > maxBytes) return null;
    }
  } catch (cause) {
    throw new TvsError("INPUT_UNREADABLE", "standard input cannot be read", { cause });
  }
  return Buffer.concat(parts);
}

/**
 * Reads one line from standard input. At a terminal, the function first prints what to type.
 * @param called the name of what to type @param wanted the expected input, for the refusal of longer input @throws TvsError USAGE
 */
export async function readStdinLine(
  called: string,
  { maxBytes, wanted }: { maxBytes: number; wanted: string },
) {
  if (process.stdin.isTTY === true) printNote(`type ${called}, then Enter and Ctrl-D`);
  const bytes = await readStdin(maxBytes);
  if (bytes === null) throw new TvsError("USAGE", `standard input must contain ${wanted}`);
  return new TextDecoder().decode(bytes).trim();
}

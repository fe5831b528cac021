/** The list of parts at the end of a zip archive (APPNOTE 4.3.12), read before anything is unpacked. */

import { Buffer } from "node:buffer";
import { UnreadableError } from "./fields.ts";

const megabyte = 1024 * 1024;

/** Limits of the unpacked parts together. A small archive that unpacks to much is refused by its ratio. */
const archiveLimits = { bytes: 1024 * megabyte, entries: 10_000, ratio: 60, ratioFrom: 32 * megabyte };

export const tooLarge = "the workbook is larger than tvs reads; save the sheet as CSV";
export const damaged = "the workbook is damaged; open it in a spreadsheet and save it again, as .xlsx or CSV";

/** Whether a file begins as a zip archive does. */
export function isArchive([a, b, c, d]: Uint8Array): boolean {
  return a === 0x50 && b === 0x4b && c === 3 && d === 4;
}

/**
 * Lists the parts of an archive by lower-case name, as readers of workbooks compare them.
 * @throws UnreadableError when the archive is damaged, names a part twice, or says that it unpacks to too much
 */
export function listParts(bytes: Uint8Array): ReadonlySet<string> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return partsIn(file);
  } catch (error) {
    throw error instanceof UnreadableError ? error : new UnreadableError(1, damaged, { cause: error });
  }
}

function partsIn(file: Buffer): ReadonlySet<string> {
  const end = file.lastIndexOf("PK\x05\x06");
  if (end === -1) throw new UnreadableError(1, damaged);
  const count = file.readUInt16LE(end + 10);
  if (count > archiveLimits.entries) throw new UnreadableError(1, tooLarge);
  let at = file.readUInt32LE(end + 16);
  let unpacked = 0;
  const names = new Set<string>();
  for (let index = 0; index < count; index++) {
    if (file.readUInt32LE(at) !== 0x02014b50) throw new UnreadableError(1, damaged);
    const [name, extra, comment] = [28, 30, 32].map((offset) => file.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const label = file.toString("latin1", at + 46, at + 46 + name).toLowerCase();
    if (names.has(label)) throw new UnreadableError(1, damaged);
    names.add(label);
    unpacked += sizeOf(file, at, name);
    at += 46 + name + extra + comment;
  }
  const { bytes, ratio, ratioFrom } = archiveLimits;
  if (unpacked > bytes || (unpacked > ratioFrom && unpacked > ratio * file.length))
    throw new UnreadableError(1, tooLarge);
  return names;
}

/** The unpacked size of a part; in an archive of the 64-bit form it is in the extra field with id 1. */
function sizeOf(file: Buffer, at: number, nameLength: number): number {
  const size = file.readUInt32LE(at + 24);
  const extra = at + 46 + nameLength;
  const is64 = size === 0xffffffff && file.readUInt16LE(extra) === 1;
  return is64 ? Number(file.readBigUInt64LE(extra + 4)) : size;
}

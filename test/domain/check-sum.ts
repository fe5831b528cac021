/** The check sum at the end of an API key, worked out a second time. */
import { Buffer } from "node:buffer";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** CRC-32 of IEEE 802.3, bit by bit: written from the definition, not from the code under test. */
export function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Six digits, the most significant first. */
export function inBase62(value: number): string {
  let digits = "";
  for (let rest = BigInt(value); digits.length < 6; rest /= 62n) digits = base62[Number(rest % 62n)] + digits;
  return digits;
}

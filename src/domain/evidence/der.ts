/** As much of DER (ITU-T X.690) as a question to a time-stamp authority and its answer need: tags of one byte, definite lengths. */

import { Buffer } from "node:buffer";

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  text: 0x0c,
  time: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** [0] around what is optional or chosen. */
  explicit: 0xa0,
} as const;

/** One value: what its bytes hold is for the tag to say. */
type Der = { readonly tag: number; readonly content: Uint8Array };

/** What is longer needs none of it. */
const maxLengthBytes = 3;

/** Writes a value. @param parts its content, one after the other; less than 64 KiB */
export function writeDer(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const bytes =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Uint8Array.of(tag, ...bytes), content]);
}

/** Reads values that follow one another. @throws RangeError for anything else */
export function readDer(bytes: Uint8Array): Der[] {
  const found: Der[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2);
    const more = first < 0x80 ? 0 : first - 0x80;
    // An indefinite length (0x80) is BER; a tag of more bytes occurs in none of what is read here.
    if (at + 2 > bytes.length || first === 0x80 || more > maxLengthBytes || (tag & 0x1f) === 0x1f)
      throw new RangeError("not DER");
    const start = at + 2 + more;
    const length = more === 0 ? first : Buffer.from(bytes.subarray(at + 2, start)).readUIntBE(0, more);
    if (start + length > bytes.length) throw new RangeError("not DER");
    found.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}

/** The values in one of a kind. @throws RangeError when it is of another kind, or not there */
export function inside(value: Der | undefined, tag: number): Der[] {
  return readDer(contentOf(value, tag));
}

/** @throws RangeError when it is of another kind, or not there */
export function contentOf(value: Der | undefined, tag: number): Uint8Array {
  if (value?.tag !== tag) throw new RangeError("not the value that stands there");
  return value.content;
}

/** An object identifier's content. @param text as in 1.3.6.1 */
export function encodeOid(text: string): Uint8Array {
  const [first = 0n, second = 0n, ...rest] = text.split(".").map(BigInt);
  return Uint8Array.from([first * 40n + second, ...rest].flatMap(base128));
}

/** In seven bits a byte, all but the last marked. */
function base128(value: bigint): number[] {
  const bytes = [Number(value & 0x7fn)];
  for (let left = value >> 7n; left > 0n; left >>= 7n) bytes.unshift(Number(left & 0x7fn) | 0x80);
  return bytes;
}

/** No identifier is longer, and the time that a number takes grows with the square of its length. */
const maxOidBytes = 128;

/** @throws RangeError for one that ends in the midst of a number, or is longer than any */
export function decodeOid(content: Uint8Array): string {
  if (content.length > maxOidBytes) throw new RangeError("no object identifier");
  const numbers: bigint[] = [];
  let value = 0n;
  for (const byte of content) {
    value = (value << 7n) | BigInt(byte & 0x7f);
    if ((byte & 0x80) !== 0) continue;
    numbers.push(value);
    value = 0n;
  }
  const [head] = numbers;
  if (head === undefined || ((content.at(-1) ?? 0) & 0x80) !== 0)
    throw new RangeError("no object identifier");
  const first = head < 80n ? head / 40n : 2n;
  return [first, head - first * 40n, ...numbers.slice(1)].join(".");
}

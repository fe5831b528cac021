/**
 * Time-stamps over a checkpoint (RFC 3161; decision D13.8): what an authority is asked, and whether its answer is one to that
 * question. Who signed it, and whether that counts, is judged by `openssl ts -verify`, whose line is printed with it.
 */

import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { TvsError } from "../errors.ts";

const sha256 = "2.16.840.1.101.3.4.2.1";
const signedData = "1.2.840.113549.1.7.2";
const timeStampInfo = "1.2.840.113549.1.9.16.1.4";
/** What each status says (RFC 3161, 2.4.2); the first two grant a time-stamp. */
const statuses = [
  "granted",
  "granted with changes",
  "rejected",
  "waiting",
  "revocation warning",
  "revoked",
] as const;
/** The most of an authority's own words that is repeated. */
const maxWords = 200;
/** How far the authority's time may be from ours: beyond it one of the two clocks is wrong, and the stamp worth nothing. */
const maxClockDifferenceMs = 300_000;

type TimeStampExpectations = {
  /** The bytes that were time-stamped. */
  readonly content: Uint8Array;
  /** What was asked just now; absent for an answer that was kept, which was compared with it when it came. */
  readonly asked?: { readonly nonce: Buffer; readonly policy?: string | undefined; readonly now: number };
};

/**
 * Asks for a time-stamp over SHA-256 of `content`, with the signer's certificate in the answer.
 * @returns what is sent, as DER, and the nonce that the answer must repeat, so that no older one can stand in for it
 */
export function createTimeStampRequest(content: Uint8Array, policy?: string) {
  // Neither a leading zero nor a sign: an INTEGER in its one DER form.
  const nonce = randomBytes(16);
  nonce[0] = ((nonce[0] ?? 0) & 0x3f) | 0x40;
  const algorithm = writeDer(tags.sequence, writeDer(tags.oid, encodeOid(sha256)), writeDer(tags.null));
  const bytes = writeDer(
    tags.sequence,
    writeDer(tags.integer, Uint8Array.of(1)),
    writeDer(tags.sequence, algorithm, writeDer(tags.octets, digestOf(content))),
    ...(policy === undefined ? [] : [writeDer(tags.oid, encodeOid(policy))]),
    writeDer(tags.integer, nonce),
    writeDer(tags.boolean, Uint8Array.of(0xff)),
  );
  return { bytes: Buffer.from(bytes), nonce };
}

const digestOf = (content: Uint8Array) => createHash("sha256").update(content).digest();

/**
 * Compares an authority's answer with what it was asked: that it grants, for these bytes and this question.
 * @param answer a TimeStampResp as DER
 * @returns the authority's time, ms since the epoch, the number that it gave, in hex, and its policy, an object identifier.
 *   That the authority said it is not checked here
 * @throws TvsError INPUT_UNREADABLE for what is none, REFUSED for one that is not the answer to it
 */
export function readTimeStamp(answer: Uint8Array, { content, asked }: TimeStampExpectations) {
  const { status, words, token } = read(() => readAnswer(answer));
  if (status > 1) {
    const said = words === "" ? "" : `: ${words.slice(0, maxWords)}`;
    throw refusal(`refused (${statuses[status] ?? `status ${status}`})${said}`);
  }
  if (token === undefined) throw refusal("granted a time-stamp and sent none");
  const info = read(() => readInfo(token));
  if (info === null) throw refusal("signed something that is not a time-stamp");
  if (info.algorithm !== sha256 || !digestOf(content).equals(info.digest))
    throw refusal("time-stamped something else than this checkpoint");
  const { time, serial, policy } = info;
  if (asked === undefined) return { time, serial, policy };
  if (info.nonce === undefined || !asked.nonce.equals(info.nonce))
    throw refusal("did not repeat the number that was sent: this may be the answer to another question");
  if (asked.policy !== undefined && policy !== asked.policy)
    throw refusal(`time-stamped under the policy ${policy}, not ${asked.policy}`);
  if (Math.abs(time - asked.now) > maxClockDifferenceMs) {
    const when = new Date(time).toISOString();
    throw refusal(`says that it is ${when}, more than five minutes from this machine's clock`);
  }
  return { time, serial, policy };
}

/** TimeStampResp: a PKIStatusInfo, and where it grants the token (RFC 3161, 2.4.2). */
function readAnswer(answer: Uint8Array) {
  const [whole, ...more] = readDer(answer);
  const [statusInfo, token] = inside(whole, tags.sequence);
  const [status, texts] = inside(statusInfo, tags.sequence);
  const number = contentOf(status, tags.integer);
  if (more.length > 0 || number.length !== 1) throw new RangeError("not an answer");
  const words = texts?.tag === tags.sequence ? readDer(texts.content) : [];
  const said = words.map(({ content }) => Buffer.from(content).toString("utf8")).join("; ");
  return { status: number[0] ?? 0, words: said, token };
}

/**
 * The TSTInfo in a token: a ContentInfo of SignedData over it (RFC 5652, 3 and 5.1).
 * @returns null for what is signed but no time-stamp
 */
function readInfo(token: ReturnType<typeof readAnswer>["token"]) {
  const [type, signed] = inside(token, tags.sequence);
  if (decodeOid(contentOf(type, tags.oid)) !== signedData) return null;
  const [, , encapsulated] = inside(inside(signed, tags.explicit)[0], tags.sequence);
  const [contentType, wrapped] = inside(encapsulated, tags.sequence);
  if (decodeOid(contentOf(contentType, tags.oid)) !== timeStampInfo) return null;
  const [info] = readDer(contentOf(inside(wrapped, tags.explicit)[0], tags.octets));
  const [, policy, imprint, serial, time, ...rest] = inside(info, tags.sequence);
  const [algorithm, digest] = inside(imprint, tags.sequence);
  return {
    policy: decodeOid(contentOf(policy, tags.oid)),
    algorithm: decodeOid(contentOf(inside(algorithm, tags.sequence)[0], tags.oid)),
    digest: contentOf(digest, tags.octets),
    serial: Buffer.from(contentOf(serial, tags.integer)).toString("hex"),
    time: readTime(Buffer.from(contentOf(time, tags.time)).toString("latin1")),
    nonce: rest.find(({ tag }) => tag === tags.integer)?.content,
  };
}

/** A GeneralizedTime in its one form: to the second or finer, in UTC (RFC 3161, 2.4.2). @throws RangeError */
function readTime(text: string): number {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(text);
  if (parts === null) throw new RangeError("not a time");
  const [, year, month, day, hour, minute, second, fraction = ""] = parts;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}Z`);
  if (Number.isNaN(time)) throw new RangeError("not a time");
  return time;
}

/** @throws TvsError INPUT_UNREADABLE */
function read<T>(act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const message = "what came is not an answer of a time-stamp authority (RFC 3161)";
    throw new TvsError("INPUT_UNREADABLE", message, { cause });
  }
}

function refusal(problem: string): TvsError {
  return new TvsError("REFUSED", `the time-stamp authority ${problem}`);
}

// As much of DER (ITU-T X.690) as a question to a time-stamp authority and its answer need: tags of one byte, definite lengths.

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
function readDer(bytes: Uint8Array): Der[] {
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
function inside(value: Der | undefined, tag: number): Der[] {
  return readDer(contentOf(value, tag));
}

/** @throws RangeError when it is of another kind, or not there */
function contentOf(value: Der | undefined, tag: number): Uint8Array {
  if (value?.tag !== tag) throw new RangeError("not the value that stands there");
  return value.content;
}

/** An object identifier's content. @param text as in 1.3.6.1 */
function encodeOid(text: string): Uint8Array {
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
function decodeOid(content: Uint8Array): string {
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

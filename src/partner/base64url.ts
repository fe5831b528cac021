/**
 * Canonical base64url (RFC 4648 section 5, RFC 7515 section 2): one text for each byte string.
 *
 * The decoders of the runtimes are lenient: they skip white space, accept padding and ignore spare bits,
 * so one signature would have many spellings and could not serve as an identity. This one accepts exactly
 * the text that encoding the bytes again would give.
 *
 * `Uint8Array.fromBase64` is strict and fast, but Node has it from 25 on (partners run 20), and browsers since the end of
 * 2024 (Firefox 133, Safari 18.2) or autumn 2025 (Chrome 140): until those are the oldest, there is a portable half.
 */

type Base64Options = { alphabet: "base64url" };

type NativeDecoder = {
  fromBase64(text: string, options: Base64Options): Uint8Array<ArrayBuffer>;
};

const base64url: Base64Options = { alphabet: "base64url" };

const characters64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Six-bit value by character code; -1 for every character outside the alphabet. */
const sixBitTable = makeTable();

function makeTable(): Int8Array {
  const table = new Int8Array(128).fill(-1);
  for (let value = 0; value < characters64.length; value++) table[characters64.charCodeAt(value)] = value;
  return table;
}

function sixBits(text: string, index: number): number {
  return sixBitTable[text.charCodeAt(index)] ?? -1;
}

/** The bits of the last character that carry no data must be zero. */
function hasSpareBits(text: string): boolean {
  const rest = text.length % 4;
  if (rest === 0) return false;
  return (sixBits(text, text.length - 1) & (rest === 2 ? 0b1111 : 0b11)) !== 0;
}

/**
 * Decodes canonical base64url without any help of the runtime.
 *
 * @param text the text, unpadded
 * @returns the bytes, or null when the text is not canonical
 */
export function decodeBase64urlPortably(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 4 === 1 || hasSpareBits(text)) return null;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let bits = 0;
  let written = 0;
  for (let index = 0; index < text.length; index++) {
    const six = sixBits(text, index);
    if (six < 0) return null;
    bits = ((bits << 6) | six) & 0xffffff;
    // Each character but the first of four completes one byte.
    if (index % 4 !== 0) bytes[written++] = bits >> (6 - 2 * (index % 4));
  }
  return bytes;
}

function nativeDecoder(): NativeDecoder | null {
  const candidate: Partial<NativeDecoder> = Uint8Array as Partial<NativeDecoder>;
  return typeof candidate.fromBase64 === "function" ? (candidate as NativeDecoder) : null;
}

const native = nativeDecoder();

/**
 * Decodes canonical base64url.
 *
 * @param text the text, unpadded
 * @returns the bytes, or null when the text has padding, white space, foreign characters, an impossible
 * length or spare bits that are not zero
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  if (native === null) return decodeBase64urlPortably(text);
  if (text.length % 4 === 1 || hasSpareBits(text)) return null;
  try {
    const bytes = native.fromBase64(text, base64url);
    // White space and padding are skipped by the native decoder; both leave fewer bytes than the length says.
    return bytes.length === Math.floor((text.length * 3) / 4) ? bytes : null;
  } catch {
    return null;
  }
}

/**
 * Encodes bytes as canonical base64url, without padding.
 *
 * @param bytes the bytes
 */
export function encodeBase64url(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const group = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    const characters = Math.min(bytes.length - index, 3) + 1;
    for (let place = 0; place < characters; place++) text += characters64[(group >> (18 - 6 * place)) & 63];
  }
  return text;
}

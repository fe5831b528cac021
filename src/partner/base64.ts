/**
 * Canonical base64 (RFC 4648 section 4), which the formats of transparency logs use: padded, and one text for each byte
 * string, like our base64url.
 */

import { decodeBase64url, encodeBase64url } from "./base64url.ts";

const urlCharacters: Readonly<Record<string, string>> = { "+": "-", "/": "_" };
const plainCharacters: Readonly<Record<string, string>> = { "-": "+", _: "/" };

/**
 * Decodes canonical base64.
 *
 * @param text the text, padded to a multiple of four characters
 * @returns the bytes, or null when encoding them again would give another text
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const unpadded = text.replace(/={1,2}$/, "");
  if (text.length % 4 !== 0 || text.length - unpadded.length !== (4 - (unpadded.length % 4)) % 4) return null;
  if (/[-_]/.test(unpadded)) return null;
  return decodeBase64url(unpadded.replace(/[+/]/g, (character) => urlCharacters[character] ?? ""));
}

/**
 * Decodes the canonical base64 of one SHA-256 hash.
 *
 * @param text 44 characters
 * @returns the 32 bytes, or null when it is anything else
 */
export function decodeHash(text: string): Uint8Array<ArrayBuffer> | null {
  return text.length === 44 && text.endsWith("=") && !text.endsWith("==") ? decodeBase64(text) : null;
}

/** Encodes bytes as canonical base64, padded. */
export function encodeBase64(bytes: Uint8Array): string {
  const text = encodeBase64url(bytes).replace(/[-_]/g, (character) => plainCharacters[character] ?? "");
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}

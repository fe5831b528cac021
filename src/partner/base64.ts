/**
 * Reads and writes canonical base64 (RFC 4648 section 4, padded, for transparency logs) and base64url (section 5, without
 * padding, for JWS). The runtimes' decoders skip white space and ignore spare bits, so one signature would have many
 * spellings. Here a text is decoded only if encoding its bytes gives the same text.
 */

function bytesOf(characters: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(characters.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = characters.charCodeAt(index);
  return bytes;
}

/** Encodes bytes as canonical base64, padded. */
export function encodeBase64(bytes: Uint8Array): string {
  let characters = "";
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return btoa(characters);
}

/** Encodes bytes as canonical base64url, without padding. */
export function encodeBase64url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const urlCharacters = /^[\w-]*$/;
/** Matches the 0, 2 or 3 characters of base64url after the last group of four, if their spare bits are zero. */
const urlEnding = /^(?:|.[AQgw]|..[AEIMQUYcgkosw048])$/;

/** Decodes canonical base64url, unpadded; null for any other text. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  const ending = text.slice(text.length - (text.length % 4));
  if (!urlCharacters.test(text) || !urlEnding.test(ending)) return null;
  return bytesOf(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
}

/** Decodes canonical base64, padded to a multiple of four characters; null for any other text. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const unpadded = text.replace(/={1,2}$/, "");
  if (/[-_]/.test(unpadded) || unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, "=") !== text) return null;
  return decodeBase64url(unpadded.replaceAll("+", "-").replaceAll("/", "_"));
}

/** Decodes the canonical base64 (44 characters) of one SHA-256 hash; null for any other text. */
export function decodeBase64Hash(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = decodeBase64(text);
  return bytes?.length === 32 ? bytes : null;
}

/**
 * Canonical base64 (RFC 4648 section 4, padded: the formats of transparency logs) and base64url (section 5, unpadded:
 * RFC 7515 section 2): one text for each byte string.
 *
 * The decoders of the runtimes are lenient: they skip white space, do without padding and ignore spare bits, so one
 * signature would have many spellings and could not serve as an identity. Here a text is decoded only when encoding its
 * bytes again would give it.
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
/** What may be left after the last four characters: the bits that are no part of a byte are zero. */
const urlEnding = /^(?:|.[AQgw]|..[AEIMQUYcgkosw048])$/;

/**
 * Decodes canonical base64url.
 *
 * @param text the text, unpadded
 * @returns the bytes, or null when encoding them again would give another text
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  const ending = text.slice(text.length - (text.length % 4));
  if (!urlCharacters.test(text) || !urlEnding.test(ending)) return null;
  return bytesOf(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
}

/**
 * Decodes canonical base64.
 *
 * @param text the text, padded to a multiple of four characters
 * @returns the bytes, or null when encoding them again would give another text
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const unpadded = text.replace(/={1,2}$/, "");
  if (/[-_]/.test(unpadded) || unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, "=") !== text) return null;
  return decodeBase64url(unpadded.replaceAll("+", "-").replaceAll("/", "_"));
}

/**
 * Decodes the canonical base64 of one SHA-256 hash.
 *
 * @param text 44 characters
 * @returns the 32 bytes, or null when it is anything else
 */
export function decodeHash(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = decodeBase64(text);
  return bytes?.length === 32 ? bytes : null;
}

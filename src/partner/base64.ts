/**
 * Canonical base64 (RFC 4648 section 4, padded: the formats of transparency logs) and base64url (section 5, unpadded:
 * RFC 7515 section 2): one text for each byte string.
 *
 * The decoders of the runtimes are lenient: they skip white space, do without padding and ignore spare bits, so one
 * signature would have many spellings and could not serve as an identity. So what was decoded is encoded again, and must
 * be the text that came.
 */

function decode(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    const characters = atob(base64);
    const bytes = new Uint8Array(characters.length);
    for (let index = 0; index < bytes.length; index++) bytes[index] = characters.charCodeAt(index);
    return bytes;
  } catch {
    return null;
  }
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

/**
 * Decodes canonical base64.
 *
 * @param text the text, padded to a multiple of four characters
 * @returns the bytes, or null when encoding them again would give another text
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = decode(text);
  return bytes !== null && encodeBase64(bytes) === text ? bytes : null;
}

/**
 * Decodes canonical base64url.
 *
 * @param text the text, unpadded
 * @returns the bytes, or null when encoding them again would give another text
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = decode(text.replaceAll("-", "+").replaceAll("_", "/"));
  return bytes !== null && encodeBase64url(bytes) === text ? bytes : null;
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

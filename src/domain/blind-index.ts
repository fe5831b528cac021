import { createHmac } from "node:crypto";

/** Bytes of the HMAC that are kept: 128 bits make an accidental match impossible in practice. */
const indexBytes = 16;

export type BlindIndex = ReturnType<typeof createBlindIndex>;

/**
 * Makes keyed hashes by which a person is found from a NIN, an e-mail address or a phone number, none of which is stored.
 * A plain hash of eleven digits is quickly guessed.
 * @param key 32 bytes, derived for this use alone
 */
export function createBlindIndex(key: Uint8Array) {
  const index = (kind: string, value: string) =>
    new Uint8Array(createHmac("sha256", key).update(`${kind}\0${value}`).digest().subarray(0, indexBytes));
  return {
    nin: (nin: string) => index("nin", nin),
    email: (address: string) => index("email", foldEmail(address)),
    phone: (e164: string) => index("phone", e164),
    /** Of a row of an extract that cannot be imported, to know it again in the next one. */
    row: (text: string) => index("row", text),
  };
}

/** No e-mail address is longer (RFC 5321), and normalizing a text takes the square of its length. */
const maxEmailLength = 320;

function foldEmail(address: string): string {
  if (address.length > maxEmailLength) return address;
  return address.trim().normalize("NFKC").toLowerCase();
}

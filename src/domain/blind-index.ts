import { createHmac } from "node:crypto";

/** A hash keeps this many bytes of the HMAC. 128 bits make an accidental match impossible in practice. */
const indexBytes = 16;

export type BlindIndex = ReturnType<typeof createBlindIndex>;

/**
 * Makes the keyed hashes by which a person is found. NINs, e-mail addresses and phone numbers are not stored. With an
 * unkeyed hash, anybody could find an eleven-digit NIN by hashing all numbers.
 * @param key 32 bytes, derived for this use alone
 */
export function createBlindIndex(key: Uint8Array) {
  const index = (kind: string, value: string) =>
    new Uint8Array(createHmac("sha256", key).update(`${kind}\0${value}`).digest().subarray(0, indexBytes));
  return {
    nin: (nin: string) => index("nin", nin),
    email: (address: string) => index("email", foldEmail(address)),
    phone: (e164: string) => index("phone", e164),
    /** Hashes a rejected row of an extract, to recognise the row in the next extract. */
    row: (text: string) => index("row", text),
  };
}

/** The longest e-mail address (RFC 5321). A longer text is not normalized: the time grows with the length's square. */
const maxEmailLength = 320;

function foldEmail(address: string): string {
  if (address.length > maxEmailLength) return address;
  return address.trim().normalize("NFKC").toLowerCase();
}

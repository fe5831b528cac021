/**
 * A signature on paper: the compact JWS of an envelope, spread over QR codes that a cheap printer and an ordinary
 * phone can cope with. Each code carries one line of text,
 *
 *     TVS1:<number>/<total>:<tag>:<part>
 *
 * where the parts, put together in the order of their numbers from 1, are the JWS, and the tag is the beginning of
 * its SHA-256 in base64url. The tag keeps the codes of two certificates apart; it proves nothing, the signature does.
 */

import { encodeBase64url } from "./base64url.ts";

/** With the line's head 450 bytes at most: QR version 16 at error correction M, 89 modules on a side. */
const maxPartCharacters = 430;
const maxParts = 99;
const tagCharacters = 8;

const codePattern = /^TVS1:([1-9]\d?)\/([1-9]\d?):([A-Za-z0-9_-]{8}):([A-Za-z0-9_.-]+)$/;
/** Long enough that the address of a web site does not pass for one; `eyJ` is how `{"` begins in base64url. */
const bareJwsPattern = /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{100,}$/;

/** What the codes give: the JWS, or why there is none. */
export type CodesReading =
  | { readonly jws: string }
  /** None of the texts is a part of a signature. */
  | { readonly problem: "NONE" }
  /** Parts of so many different signatures. */
  | { readonly problem: "SEVERAL"; readonly count: number }
  /** The numbers that are missing, of so many. */
  | { readonly problem: "MISSING"; readonly missing: readonly number[]; readonly total: number }
  /** The parts contradict each other or their tag: a code was made or changed by something else. */
  | { readonly problem: "DAMAGED" };

type Part = { readonly number: number; readonly total: number; readonly tag: string; readonly text: string };

/** The beginning of the SHA-256 of a JWS, which every one of its codes carries. */
export async function tagOf(jws: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(jws));
  return encodeBase64url(new Uint8Array(digest)).slice(0, tagCharacters);
}

/**
 * Spreads a JWS over the texts of as many codes as it needs, all of about the same length.
 *
 * @param jws a compact JWS
 * @returns the texts in order
 * @throws RangeError when it would need more than 99 codes
 */
export async function splitIntoCodes(jws: string): Promise<string[]> {
  const total = Math.ceil(jws.length / maxPartCharacters);
  if (total > maxParts) throw new RangeError(`a signature of ${jws.length} characters has no room on paper`);
  const length = Math.ceil(jws.length / total);
  const tag = await tagOf(jws);
  return Array.from({ length: total }, (_, index) => {
    const part = jws.slice(index * length, (index + 1) * length);
    return `TVS1:${index + 1}/${total}:${tag}:${part}`;
  });
}

function readPart(text: string): Part | null {
  const match = codePattern.exec(text);
  if (match === null) return null;
  const [, number, total, tag = "", part = ""] = match;
  return { number: Number(number), total: Number(total), tag, text: part };
}

/** Which numbers are missing; null when the parts contradict each other. */
function findMissing(parts: readonly Part[]): { byNumber: Map<number, string>; missing: number[] } | null {
  const total = parts[0]?.total ?? 0;
  const byNumber = new Map<number, string>();
  for (const part of parts) {
    const known = byNumber.get(part.number) ?? part.text;
    if (part.total !== total || part.number > total || known !== part.text) return null;
    byNumber.set(part.number, part.text);
  }
  const numbers = Array.from({ length: total }, (_, index) => index + 1);
  return { byNumber, missing: numbers.filter((number) => !byNumber.has(number)) };
}

/**
 * Puts the texts of codes together, in whatever order and however often they were read. Codes of other things are
 * ignored; a single code that holds a whole JWS is one too.
 *
 * @param texts what the codes say
 */
export async function joinCodes(texts: readonly string[]): Promise<CodesReading> {
  const parts = texts.map(readPart).filter((part) => part !== null);
  const bare = new Set(texts.filter((text) => bareJwsPattern.test(text)));
  const tags = new Set(parts.map(({ tag }) => tag));
  const count = tags.size + bare.size;
  if (count > 1) return { problem: "SEVERAL", count };
  const [jws] = bare;
  if (jws !== undefined) return { jws };
  if (parts.length === 0) return { problem: "NONE" };
  const found = findMissing(parts);
  if (found === null) return { problem: "DAMAGED" };
  const { byNumber, missing } = found;
  if (missing.length > 0) return { problem: "MISSING", missing, total: byNumber.size + missing.length };
  const whole = Array.from({ length: byNumber.size }, (_, index) => byNumber.get(index + 1) ?? "").join("");
  return (await tagOf(whole)) === parts[0]?.tag ? { jws: whole } : { problem: "DAMAGED" };
}

/**
 * A signature on paper: the compact JWS of an envelope, spread over QR codes that a cheap printer and an ordinary
 * phone can cope with; beside them, where there is one, the proof that it is in the evidence log. Each code carries one
 * line of text,
 *
 *     TVS1:<number>/<total>:<tag>:<part>    of the JWS
 *     TVP1:<number>/<total>:<tag>:<part>    of the base64url of the proof file
 *
 * where the parts, put together in the order of their numbers from 1, are the whole, and the tag is the beginning of
 * its SHA-256 in base64url. The tag keeps the codes of two certificates apart; it proves nothing, the signature does.
 * A reader that does not know the proof's codes leaves them alone, and still finds the envelope.
 */

import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import { decodeUtf8 } from "./strict-json.ts";

/** With the line's head 450 bytes at most: QR version 16 at error correction M, 89 modules on a side. */
const maxPartCharacters = 430;
const maxParts = 99;
const tagCharacters = 8;

const heads = { envelope: "TVS1", proof: "TVP1" } as const;
/** What a code can be a part of. */
type Carried = keyof typeof heads;

const codePattern = /^(TVS1|TVP1):([1-9]\d?)\/([1-9]\d?):([A-Za-z0-9_-]{8}):([A-Za-z0-9_.-]+)$/;
/** Long enough that the address of a web site does not pass for one; `eyJ` is how `{"` begins in base64url. */
const bareJwsPattern = /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{100,}$/;

type CodesProblem =
  /** None of the texts is a part of a signature or of a proof. */
  | { readonly problem: "NONE" }
  /** Parts of so many different ones. */
  | { readonly problem: "SEVERAL"; readonly of: Carried; readonly count: number }
  /** The numbers that are missing, of so many. */
  | {
      readonly problem: "MISSING";
      readonly of: Carried;
      readonly missing: readonly number[];
      readonly total: number;
    }
  /** The parts contradict each other or their tag: a code was made or changed by something else. */
  | { readonly problem: "DAMAGED"; readonly of: Carried };

/** What the codes give: the JWS, the proof or both; or why they give nothing. */
export type CodesReading = { readonly jws: string | null; readonly proof: string | null } | CodesProblem;

type Part = { readonly number: number; readonly total: number; readonly tag: string; readonly text: string };
type Whole = { readonly text: string } | CodesProblem;

/** The beginning of the SHA-256 of what is carried, which every one of its codes carries. */
export async function tagOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return encodeBase64url(new Uint8Array(digest)).slice(0, tagCharacters);
}

async function split(text: string, head: string): Promise<string[]> {
  const total = Math.ceil(text.length / maxPartCharacters);
  if (total > maxParts) throw new RangeError(`${text.length} characters have no room on paper`);
  const length = Math.ceil(text.length / total);
  const tag = await tagOf(text);
  return Array.from({ length: total }, (_, index) => {
    const part = text.slice(index * length, (index + 1) * length);
    return `${head}:${index + 1}/${total}:${tag}:${part}`;
  });
}

/**
 * Spreads a JWS over the texts of as many codes as it needs, all of about the same length.
 *
 * @param jws a compact JWS
 * @returns the texts in order
 * @throws RangeError when it would need more than 99 codes
 */
export function splitIntoCodes(jws: string): Promise<string[]> {
  return split(jws, heads.envelope);
}

/**
 * The same for a proof. It has line ends and dashes that not every reader of codes gives back, hence base64url.
 *
 * @param proof the proof file
 * @throws RangeError when it would need more than 99 codes
 */
export function splitProofIntoCodes(proof: string): Promise<string[]> {
  return split(encodeBase64url(new TextEncoder().encode(proof)), heads.proof);
}

function readParts(texts: readonly string[], head: string): Part[] {
  return texts.flatMap((text) => {
    const [, found, number, total, tag = "", part = ""] = codePattern.exec(text) ?? [];
    return found === head ? [{ number: Number(number), total: Number(total), tag, text: part }] : [];
  });
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

/** Puts the parts of one thing together. A code that holds all of it is one as well. */
async function join(of: Carried, texts: readonly string[], whole: ReadonlySet<string>): Promise<Whole> {
  const parts = readParts(texts, heads[of]);
  const count = new Set(parts.map(({ tag }) => tag)).size + whole.size;
  if (count > 1) return { problem: "SEVERAL", of, count };
  const [text] = whole;
  if (text !== undefined) return { text };
  if (parts.length === 0) return { problem: "NONE" };
  const found = findMissing(parts);
  if (found === null) return { problem: "DAMAGED", of };
  const { byNumber, missing } = found;
  if (missing.length > 0) return { problem: "MISSING", of, missing, total: byNumber.size + missing.length };
  const joined = Array.from({ length: byNumber.size }, (_, index) => byNumber.get(index + 1) ?? "").join("");
  return (await tagOf(joined)) === parts[0]?.tag ? { text: joined } : { problem: "DAMAGED", of };
}

function decodeProof(whole: Whole): Whole {
  if ("problem" in whole) return whole;
  const bytes = decodeBase64url(whole.text);
  const text = bytes === null ? null : decodeUtf8(bytes);
  return text === null ? { problem: "DAMAGED", of: "proof" } : { text };
}

/**
 * Puts the texts of codes together, in whatever order and however often they were read. Codes of other things are
 * ignored; a single code that holds a whole JWS is one too.
 *
 * @param texts what the codes say
 * @returns what they carry, at least one of the two; the envelope's problem before the proof's
 */
export async function joinCodes(texts: readonly string[]): Promise<CodesReading> {
  const bare = new Set(texts.filter((text) => bareJwsPattern.test(text)));
  const envelope = await join("envelope", texts, bare);
  const proof = decodeProof(await join("proof", texts, new Set()));
  for (const part of [envelope, proof]) if ("problem" in part && part.problem !== "NONE") return part;
  const [jws, proofText] = [envelope, proof].map((part) => ("text" in part ? part.text : null));
  if (!jws && !proofText) return { problem: "NONE" };
  return { jws: jws ?? null, proof: proofText ?? null };
}

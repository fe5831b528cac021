/**
 * A signature on paper: the compact JWS of an envelope, spread over QR codes that a cheap printer and an ordinary
 * phone can cope with; beside them, where there is one, the proof that it is in the evidence log. Each code carries one
 * line of text,
 *
 *     TVS1:<number>/<total>:<tag>:<part>    of the JWS
 *     TVP1:<number>/<total>:<tag>:<part>    of the base64url of the proof file
 *
 * where the parts, put together in the order of their numbers from 1, are the whole, and the tag is the beginning of
 * its SHA-256 in base64url. The tag keeps the codes of two attestations apart; it proves nothing, the signature does.
 * A reader that does not know the proof's codes leaves them alone, and still finds the envelope.
 *
 * The line may be the fragment of a link, `https://…/verify-envelope#TVS1:…`, which a phone's camera opens and no
 * browser sends (decision D8.8). Readers go by the line, and not by where the link leads.
 */

import { decodeBase64url, encodeBase64url } from "./base64.ts";
import { decodeUtf8 } from "./strict-json.ts";

/**
 * Two codes, as long as that is enough, and it is for an ordinary profile with its place in a status list: a phone opens
 * one at a time, and two have room to be large. With a link of 60 bytes version 23 at error correction L, 109 modules on a
 * side; on 80 mm they are larger than those of three codes on 57 mm.
 */
const maxPartOfTwo = 1000;
/** More codes lie three in a row, and have smaller modules the more they carry: version 17 with the same link. */
const maxPartOfMany = 520;
const maxParts = 99;
const tagCharacters = 8;
/** A longer address would take the room of what the code is for. */
const maxAddressCharacters = 120;
/** No code holds more. */
const maxCodeCharacters = 2953;

const heads = { envelope: "TVS1", proof: "TVP1" } as const;
/** What a code can be a part of. */
type Carried = keyof typeof heads;

const codePattern =
  /^(?:https?:\/\/[^\s#]+#)?((TVS1|TVP1):([1-9]\d?)\/([1-9]\d?):([A-Za-z0-9_-]{8}):([A-Za-z0-9_.-]+))$/;
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

/** One code of several. */
export type CodePart = {
  readonly of: Carried;
  readonly number: number;
  readonly total: number;
  readonly tag: string;
  readonly text: string;
  /** The line alone, without the link that it came in. */
  readonly line: string;
};
type Whole = { readonly text: string } | CodesProblem;

/** The beginning of the SHA-256 of what is carried, which every one of its codes carries. */
export async function tagOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return encodeBase64url(new Uint8Array(digest)).slice(0, tagCharacters);
}

/** @throws RangeError */
async function split(text: string, given: { head: string; page: string | null }): Promise<string[]> {
  const isTwo = text.length <= 2 * maxPartOfTwo;
  const total = Math.ceil(text.length / (isTwo ? maxPartOfTwo : maxPartOfMany));
  if (total > maxParts) throw new RangeError(`${text.length} characters have no room on paper`);
  const length = Math.ceil(text.length / total);
  const tag = await tagOf(text);
  const link = given.page === null ? "" : `${given.page}#`;
  return Array.from({ length: total }, (_, index) => {
    const part = text.slice(index * length, (index + 1) * length);
    return `${link}${given.head}:${index + 1}/${total}:${tag}:${part}`;
  });
}

/** Reading the name of a host takes the square of its length. */
const maxIssuerCharacters = 2_000;

/**
 * The address that an issuer is named by, which may be anybody's.
 *
 * @returns null for what is no plain address of the web: names and passwords before a host deceive who reads it
 */
export function addressOfIssuer(issuer: string): URL | null {
  const url = issuer.length <= maxIssuerCharacters && URL.canParse(issuer) ? new URL(issuer) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.username + url.password + url.search + url.hash === "" ? url : null;
}

/**
 * The address of the page that the codes of an issuer's envelopes lead to.
 *
 * @param issuer by which the envelope names its service; it may be anybody's
 * @returns null for what is no address of the web, or too long for a code
 */
export function pageOfIssuer(issuer: string): string | null {
  const url = addressOfIssuer(issuer);
  if (url === null) return null;
  const page = `${url.href.replace(/\/+$/, "")}/verify-envelope`;
  return page.length <= maxAddressCharacters ? page : null;
}

/**
 * Spreads a JWS over the texts of as many codes as it needs, all of about the same length.
 *
 * @param jws a compact JWS
 * @param page the address of the page that each of them is to open; null for the lines alone
 * @returns the texts in order
 * @throws RangeError when it would need more than 99 codes
 */
export function splitIntoCodes(jws: string, page: string | null = null): Promise<string[]> {
  return split(jws, { head: heads.envelope, page });
}

/**
 * The same for a proof. It has line ends and dashes that not every reader of codes gives back, hence base64url.
 *
 * @param proof the proof file
 * @param page as for {@link splitIntoCodes}
 * @throws RangeError when it would need more than 99 codes
 */
export function splitProofIntoCodes(proof: string, page: string | null = null): Promise<string[]> {
  return split(encodeBase64url(new TextEncoder().encode(proof)), { head: heads.proof, page });
}

/**
 * Reads the text of one code, or the link that it is.
 *
 * @param text from anybody
 * @returns null for what is no part of anything
 */
export function readCode(text: string): CodePart | null {
  if (text.length > maxCodeCharacters) return null;
  const [, line = "", head, number, total, tag = "", part = ""] = codePattern.exec(text) ?? [];
  if (head === undefined) return null;
  const of = head === heads.envelope ? "envelope" : "proof";
  return { of, number: Number(number), total: Number(total), tag, text: part, line };
}

function partsOf(of: Carried, texts: readonly string[]): CodePart[] {
  return texts.flatMap((text) => {
    const part = readCode(text);
    return part?.of === of ? [part] : [];
  });
}

/** Which numbers are missing; null when the parts contradict each other. */
function findMissing(
  parts: readonly CodePart[],
): { byNumber: Map<number, string>; missing: number[] } | null {
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
  const parts = partsOf(of, texts);
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

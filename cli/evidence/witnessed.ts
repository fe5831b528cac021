/** A service's evidence log, as everybody can ask it: the answers as they are, read but not believed. */

import { Buffer } from "node:buffer";
import { TvsError } from "../../src/domain/errors.ts";
import { decodeHash } from "../../src/partner/base64.ts";
import type { InclusionProof } from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "../../src/partner/strict-json.ts";
import { type BoundedAnswer, fetchBounded } from "../verify/bounded-fetch.ts";

type Hashes = readonly Uint8Array<ArrayBuffer>[];

/** What a witness asks. Each throws TvsError INPUT_UNREADABLE for an answer that is none. */
export type WitnessedLog = ReturnType<typeof openWitnessedLog>;

export function undecidable(words: string): TvsError {
  return new TvsError("INPUT_UNREADABLE", words);
}

/** @param service its address, which may have a path of its own. @param timeoutMs for each answer */
export function openWitnessedLog(service: URL, timeoutMs: number) {
  const base = `${service.origin}${service.pathname.replace(/\/+$/, "")}/v1/inter-agency/log`;
  const ask = (path: string) =>
    fetchBounded({ url: new URL(`${base}/${path}`), called: "the log", timeoutMs });

  return {
    /** The newest checkpoint: a note that nobody has verified. */
    async checkpoint(): Promise<Uint8Array> {
      const { status, body } = await ask("checkpoint");
      if (status === 404)
        throw undecidable("the log has no checkpoint yet, or there is no such service at that address");
      if (status !== 200)
        throw undecidable(`the log answered HTTP ${status} when asked for its newest checkpoint`);
      return body;
    },
    /** Whether one tree begins with another; null when the log says that it never signed for so many entries. */
    async consistency(from: number, to: number): Promise<Hashes | null> {
      const asked = `to prove that ${to} entries go on from ${from}`;
      const answer = readAnswer(await ask(`consistency?from=${from}&to=${to}`), asked);
      return answer && readHashes(answer.hashes, "consistency");
    },
    /** Where a leaf stands in the tree of `size` entries; null when the log says that it has no such leaf. */
    async inclusion(leafHash: Uint8Array, size: number): Promise<Omit<InclusionProof, "leafHash"> | null> {
      const hex = Buffer.from(leafHash).toString("hex");
      const answer = readAnswer(await ask(`inclusion/${hex}?size=${size}`), "for its first entry");
      if (answer === null) return null;
      const { leafIndex, treeSize } = answer;
      if (typeof leafIndex !== "number" || typeof treeSize !== "number") throw noProof("inclusion");
      return { index: leafIndex, size: treeSize, hashes: readHashes(answer.hashes, "inclusion") };
    },
  };
}

function noProof(of: string): TvsError {
  return undecidable(`what the log sent as a proof of ${of} is none`);
}

/** @returns null for what the log says is not there; an empty object for what is no proof */
function readAnswer({ status, body }: BoundedAnswer, asked: string): { [name: string]: JsonValue } | null {
  if (status === 404) return null;
  if (status !== 200) throw undecidable(`the log answered HTTP ${status} when asked ${asked}`);
  const json = readStrictJson(body);
  return !(json instanceof Refusal) && isJsonObject(json) ? json : {};
}

function readHashes(texts: JsonValue | undefined, of: string): Hashes {
  if (!Array.isArray(texts)) throw noProof(of);
  return texts.map((one) => {
    const hash = typeof one === "string" ? decodeHash(one) : null;
    if (hash === null) throw noProof(of);
    return hash;
  });
}

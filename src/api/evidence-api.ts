/** The evidence log for everybody (decision D13.5): the newest checkpoint, the keys, and proofs. */

import { Buffer } from "node:buffer";
import { type Context, Hono } from "hono";
import QuickLRU from "quick-lru";
import type { Clock } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import { type EvidenceReader, verifierKeyOf } from "../domain/evidence/log.ts";
import { type AppEnv, pathPart } from "../http/context.ts";
import { check } from "../http/request-body.ts";
import { type ApiContext, type ApiHandler, withinLimit } from "./public-api.ts";
import { asKeys, type PublicDocument, publicDocument, sendDocument } from "./public-document.ts";
import { leafHashSchema, treeSizeSchema } from "./requests.ts";

/** The log gets a new checkpoint every half minute while there are calls. */
const asCheckpoint = "public, max-age=5";
/** The leaf stays where it is, and the checkpoint in the answer says for which tree it holds. */
const forEver = "public, max-age=31536000, immutable";
/** The same two sizes may be asked of a later log's tree; to ask whether the answer is still good costs nothing. */
const whileConfirmed = "public, no-cache";

const evidenceOf = (c: ApiContext) => c.get("parts").evidence;

const checkpoint: ApiHandler = async (c) => sendDocument(c, await evidenceOf(c).checkpoint(), asCheckpoint);

const key: ApiHandler = async (c) => sendDocument(c, await evidenceOf(c).key(), asKeys);

const inclusion: ApiHandler = async (c) => {
  const leafHash = check(leafHashSchema, pathPart(c, "leafHash"), "leafHash");
  const size = c.req.query("size") === undefined ? undefined : treeSize(c, "size");
  return sendDocument(c, await evidenceOf(c).inclusion(leafHash, size), forEver);
};

const consistency: ApiHandler = async (c) => {
  const from = treeSize(c, "from");
  const to = treeSize(c, "to");
  if (from > to) throw new TvsError("REQUEST_INVALID", "from must not be above to");
  return sendDocument(c, await evidenceOf(c).consistency(from, to), whileConfirmed);
};

export const evidenceApi = new Hono<AppEnv>()
  .get("/log/checkpoint", withinLimit(checkpoint))
  .get("/log/key", withinLimit(key))
  .get("/log/inclusion/:leafHash", withinLimit(inclusion))
  .get("/log/consistency", withinLimit(consistency));

/** A size in the query, which has one spelling. @throws TvsError REQUEST_INVALID */
function treeSize(c: Context, name: "size" | "from" | "to"): number {
  const text = c.req.query(name);
  const isDecimal = text !== undefined && /^[1-9]\d*$/.test(text);
  return check(treeSizeSchema, isDecimal ? Number(text) : text, name);
}

/** The public documents of the evidence log (decision D13.5). A missing document throws TvsError NOT_KNOWN. */
export type EvidenceDocuments = ReturnType<typeof createEvidenceDocuments>;

/** How long the newest checkpoint and the keys are kept, in milliseconds. */
const recentMs = 1_000;
/** Proofs that are kept, at most twice as many: a proof over ten million leaves has some 1,700 characters. */
const keptProofs = 1_000;

/**
 * Makes the documents. Proofs are kept because they never change, the newest checkpoint and the keys for a second. A
 * document that is missing is looked for each time, because it may be there soon.
 */
export function createEvidenceDocuments({ evidence, clock }: { evidence: EvidenceReader; clock: Clock }) {
  const newest = createRecent(async () => {
    const found = await evidence.newest();
    return found && { log: found.log, document: textDocument(found.note) };
  }, clock);
  const key = createRecent(async () => {
    const keys = await Promise.all((await evidence.logs()).map(verifierKeyOf).reverse());
    return textDocument(keys.map((line) => `${line}\n`).join(""));
  }, clock);
  const kept = new QuickLRU<string, PublicDocument>({ maxSize: keptProofs });
  const keep = (name: string, document: PublicDocument) => {
    kept.set(name, document);
    return document;
  };

  return {
    async checkpoint(): Promise<PublicDocument> {
      return (await newest())?.document ?? notKnown("there is no checkpoint yet");
    },
    key,
    /**
     * The proof that a leaf is in the log.
     * @param leafHash in lower-case hexadecimal
     * @param size of a checkpoint; the earliest one that covers the leaf when left out
     */
    async inclusion(leafHash: string, size?: number): Promise<PublicDocument> {
      const name = `${leafHash} ${size ?? ""}`;
      return kept.get(name) ?? keep(name, await proveInclusion(evidence, leafHash, size));
    },
    /** The proof that the tree of `to` leaves begins with that of `from`, which is at least 1 and at most `to`. */
    async consistency(from: number, to: number): Promise<PublicDocument> {
      // A later log may have another tree of these sizes.
      const nameIn = (log: number | undefined) => `${log} ${from} ${to}`;
      const known = kept.get(nameIn((await newest())?.log));
      if (known !== undefined) return known;
      const proof = await evidence.consistency(from, to);
      if (proof === null) return notKnown("no checkpoint covers so many leaves");
      return keep(nameIn(proof.log), jsonDocument({ from, to, hashes: proof.hashes.map(base64) }));
    },
  };
}

async function proveInclusion(evidence: EvidenceReader, leafHash: string, size: number | undefined) {
  const found = await evidence.inclusion(Buffer.from(leafHash, "hex"), size);
  if (found === null) return notKnown("no checkpoint covers a leaf with this hash");
  if (found === "no-checkpoint")
    return notKnown("there was never a checkpoint of this size that covers the leaf");
  const { index: leafIndex, size: treeSize, hashes, checkpoint } = found;
  return jsonDocument({ leafIndex, treeSize, hashes: hashes.map(base64), checkpoint });
}

const base64 = (hash: Uint8Array) => hash.toBase64();
const textDocument = (text: string) => publicDocument(text, "text/plain; charset=utf-8");
const jsonDocument = (value: object) => publicDocument(JSON.stringify(value), "application/json");

export function notKnown(message: string): never {
  throw new TvsError("NOT_KNOWN", message);
}

/** Loads on a call, at most once in {@link recentMs}; the call after a failed load loads again. */
export function createRecent<T>(load: () => Promise<T>, clock: Clock): () => Promise<T> {
  let last: { readonly at: number; readonly loaded: Promise<T> } | undefined;
  return () => {
    const now = clock.now();
    if (last === undefined || Math.abs(now - last.at) >= recentMs) {
      const begun = { at: now, loaded: load() };
      begun.loaded.catch(() => {
        if (last === begun) last = undefined;
      });
      last = begun;
    }
    return last.loaded;
  };
}

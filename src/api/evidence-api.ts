/** The public routes of the evidence log (decision D13.5): the newest checkpoint, the keys, and proofs. */

import { Buffer } from "node:buffer";
import { type Context, Hono } from "hono";
import type { Clock } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import { type EvidenceReader, verifierKeyOf } from "../domain/evidence/log.ts";
import { type HonoEnv, readPathParameter } from "../http/context.ts";
import { validateBySchema } from "../http/request-body.ts";
import { type ApiHandler, type HonoContext, limitPerIpAddress } from "./public-api.ts";
import type { PublicDocument } from "./public-document.ts";
import { makeDocument, publicKeyCacheControl, sendDocument } from "./public-document.ts";
import { leafHashSchema, treeSizeSchema } from "./requests.ts";

/** `Cache-Control` of the newest checkpoint. Five seconds are safe: a new checkpoint is signed only every 30 seconds. */
const checkpointCacheControl = "public, max-age=5";
/** `Cache-Control` of inclusion proofs. They stay valid: a leaf keeps its index, and the answer has the checkpoint. */
const immutableCacheControl = "public, max-age=31536000, immutable";
/** `Cache-Control` of consistency proofs. Caches must ask again: a restored register's log may have other trees. */
const revalidateCacheControl = "public, no-cache";

const evidenceOf = (c: HonoContext) => c.get("parts").evidence;

const checkpoint: ApiHandler = async (c) =>
  sendDocument(c, await evidenceOf(c).checkpoint(), checkpointCacheControl);

const key: ApiHandler = async (c) => sendDocument(c, await evidenceOf(c).key(), publicKeyCacheControl);

const inclusion: ApiHandler = async (c) => {
  const leafHash = validateBySchema(leafHashSchema, readPathParameter(c, "leafHash"), "leafHash");
  const size = c.req.query("size") === undefined ? undefined : treeSize(c, "size");
  return sendDocument(c, await evidenceOf(c).inclusion(leafHash, size), immutableCacheControl);
};

const consistency: ApiHandler = async (c) => {
  const from = treeSize(c, "from");
  const to = treeSize(c, "to");
  if (from > to) throw new TvsError("REQUEST_INVALID", "from must not be above to");
  return sendDocument(c, await evidenceOf(c).consistency(from, to), revalidateCacheControl);
};

export const evidenceLogApi = new Hono<HonoEnv>()
  .get("/log/checkpoint", limitPerIpAddress(checkpoint))
  .get("/log/key", limitPerIpAddress(key))
  .get("/log/inclusion/:leafHash", limitPerIpAddress(inclusion))
  .get("/log/consistency", limitPerIpAddress(consistency));

/** Reads a tree size from the query: decimal, without leading zeros. @throws TvsError REQUEST_INVALID */
function treeSize(c: Context, name: "size" | "from" | "to"): number {
  const text = c.req.query(name);
  const isDecimal = text !== undefined && /^[1-9]\d*$/.test(text);
  return validateBySchema(treeSizeSchema, isDecimal ? Number(text) : text, name);
}

export type EvidenceLogDocuments = ReturnType<typeof createEvidenceLogDocuments>;

/** How long {@link createOneSecondCache} returns a loaded value before it calls `load` again. */
const recentMs = 1_000;

/** Makes the evidence log's public documents. @throws TvsError NOT_KNOWN if no signed checkpoint covers what was requested */
export function createEvidenceLogDocuments({ evidence, clock }: { evidence: EvidenceReader; clock: Clock }) {
  const newest = createOneSecondCache(async () => {
    const found = await evidence.newest();
    return found && textDocument(found.note);
  }, clock);
  const key = createOneSecondCache(async () => {
    const keys = await Promise.all((await evidence.logs()).map(verifierKeyOf).reverse());
    return textDocument(keys.map((line) => `${line}\n`).join(""));
  }, clock);

  return {
    /** Returns the newest checkpoint, or null if none is signed yet. */
    newest,
    async checkpoint(): Promise<PublicDocument> {
      return (await newest()) ?? throwNotKnown("there is no checkpoint yet");
    },
    key,
    /**
     * Proves that a leaf is in the log.
     * @param leafHash in lower-case hexadecimal
     * @param size the tree size of a stored checkpoint; by default the size of the earliest checkpoint that covers the leaf
     */
    async inclusion(leafHash: string, size?: number): Promise<PublicDocument> {
      const found = await evidence.inclusion(Buffer.from(leafHash, "hex"), size);
      if (found === null) return throwNotKnown("no checkpoint covers a leaf with this hash");
      const { index: leafIndex, size: treeSize, hashes, checkpoint } = found;
      return jsonDocument({ leafIndex, treeSize, hashes: hashes.map(base64), checkpoint });
    },
    /** Proves that the tree of `to` leaves begins with the tree of `from` leaves, 1 ≤ from ≤ to. */
    async consistency(from: number, to: number): Promise<PublicDocument> {
      const hashes = await evidence.consistency(from, to);
      if (hashes === null) return throwNotKnown("no checkpoint covers so many leaves");
      return jsonDocument({ from, to, hashes: hashes.map(base64) });
    },
  };
}

const base64 = (hash: Uint8Array) => hash.toBase64();
const textDocument = (text: string) => makeDocument(text, "text/plain; charset=utf-8");
const jsonDocument = (value: object) => makeDocument(JSON.stringify(value), "application/json");

export function throwNotKnown(message: string): never {
  throw new TvsError("NOT_KNOWN", message);
}

/** Makes a function that keeps the result of `load` for {@link recentMs}. After a failed load, the next call loads again. */
export function createOneSecondCache<T>(load: () => Promise<T>, clock: Clock): () => Promise<T> {
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

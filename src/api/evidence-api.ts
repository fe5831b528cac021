/** The evidence log for everybody (decision D13.5): the newest checkpoint, the keys, and proofs. */

import { Buffer } from "node:buffer";
import { type Context, Hono } from "hono";
import type { Clock } from "../domain/clock.ts";
import { TvsError } from "../domain/errors.ts";
import { type EvidenceReader, verifierKeyOf } from "../domain/evidence/log.ts";
import { type AppEnv, pathPart } from "../http/context.ts";
import { check } from "../http/request-body.ts";
import { type ApiHandler, withinLimit } from "./public-api.ts";
import { asKeys, type PublicDocument, publicDocument, sendDocument } from "./public-document.ts";
import { leafHashSchema, treeSizeSchema } from "./requests.ts";

/** A new one comes every half minute while there are calls. */
const asCheckpoint = "public, max-age=5";
/** The leaf stays where it is, and the checkpoint in the answer says for which tree it holds. */
const forEver = "public, max-age=31536000, immutable";
/** The same two sizes may be asked of a later log's tree; to ask whether the answer is still good costs nothing. */
const whileConfirmed = "public, no-cache";

const checkpoint: ApiHandler = async (c) =>
  sendDocument(c, await c.get("parts").evidence.checkpoint(), asCheckpoint);

const key: ApiHandler = async (c) => sendDocument(c, await c.get("parts").evidence.key(), asKeys);

const inclusion: ApiHandler = async (c) => {
  const leafHash = check(leafHashSchema, pathPart(c, "leafHash"), "leafHash");
  const size = c.req.query("size") === undefined ? undefined : treeSize(c, "size");
  return sendDocument(c, await c.get("parts").evidence.inclusion(leafHash, size), forEver);
};

const consistency: ApiHandler = async (c) => {
  const from = treeSize(c, "from");
  const to = treeSize(c, "to");
  if (from > to) throw new TvsError("REQUEST_INVALID", "from must not be above to");
  return sendDocument(c, await c.get("parts").evidence.consistency(from, to), whileConfirmed);
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

/** What everybody may read of the evidence log (decision D13.5). What is not there throws TvsError NOT_KNOWN. */
export type EvidenceDocuments = ReturnType<typeof createEvidenceDocuments>;

/** How long a thread goes by what it has read of the newest checkpoint and of the keys. */
const recentMs = 1_000;
/** What a thread keeps of proofs, in characters: of ten million leaves one has some 1,700. */
const maxKept = 4 * 1024 * 1024;
/** What keeping one costs besides its text. */
const costOfOne = 500;

/**
 * Makes the documents, and keeps them for who asks next: proofs because they never change, the newest checkpoint and
 * the keys for a second. What is not there is looked for each time, because it may be there soon.
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
  const kept = createKept();

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
      return kept.get(name) ?? kept.add(name, await proveInclusion(evidence, leafHash, size));
    },
    /** The proof that the tree of `to` leaves begins with that of `from`, which is at least 1 and at most `to`. */
    async consistency(from: number, to: number): Promise<PublicDocument> {
      // A later log may have another tree of these sizes.
      const nameIn = (log: number | undefined) => `${log} ${from} ${to}`;
      const known = kept.get(nameIn((await newest())?.log));
      if (known !== undefined) return known;
      const proof = await evidence.consistency(from, to);
      if (proof === null) return notKnown("no checkpoint covers so many leaves");
      return kept.add(nameIn(proof.log), jsonDocument({ from, to, hashes: proof.hashes.map(base64) }));
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

function textDocument(text: string): PublicDocument {
  return publicDocument(text, "text/plain; charset=utf-8");
}

function jsonDocument(value: object): PublicDocument {
  return publicDocument(JSON.stringify(value), "application/json");
}

export function notKnown(message: string): never {
  throw new TvsError("NOT_KNOWN", message);
}

/** Loads when somebody asks, and at most once in {@link recentMs}; a failed load is tried again at the next call. */
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

/** Documents by their names. Beyond {@link maxKept} they are begun anew, as what a thread remembers of addresses is. */
function createKept() {
  const kept = new Map<string, PublicDocument>();
  let characters = 0;
  return {
    get: (name: string) => kept.get(name),
    add(name: string, document: PublicDocument): PublicDocument {
      const cost = document.body.length + costOfOne;
      if (characters + cost > maxKept) {
        kept.clear();
        characters = 0;
      }
      kept.set(name, document);
      characters += cost;
      return document;
    },
  };
}

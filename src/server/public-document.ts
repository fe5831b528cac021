import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context } from "hono";
import type { HttpCall, Reply } from "./http/http-call.ts";

/** A public document that is the same for everybody, ready to be sent. */
export type PublicDocument = {
  readonly body: string;
  /** Its media type. */
  readonly type: string;
  readonly etag: string;
  /** The same in gzip, of documents for which that saves more than it costs. */
  readonly gzipped?: Uint8Array<ArrayBuffer>;
};

export function publicDocument(body: string, type: string): PublicDocument {
  const digest = createHash("sha256").update(body).digest("base64url").slice(0, 27);
  return { body, type, etag: `"${digest}"` };
}

/** A large document that stays the same: compressed once, beside the event loop. */
export async function compressedDocument(body: string, type: string): Promise<PublicDocument> {
  const gzipped = new Uint8Array(await promisify(gzip)(body));
  return { ...publicDocument(body, type), gzipped };
}

/** Loads at the first call; a failed load is tried again at the next one. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

/** How long caches may go by a document with keys: a rotated key has been public for a day before it signs. */
export const asKeys = "public, max-age=300, must-revalidate";

/** Answers a call with a document, or with 304 when the caller has it (RFC 9110, 13.1.2). */
export function documentReply(call: HttpCall, document: PublicDocument, cacheControl: string): Reply {
  const { body, type, etag } = document;
  const headers: Record<string, string> = { "Cache-Control": cacheControl, ETag: etag };
  if (isKnown(call.header("if-none-match"), etag)) return { status: 304, headers, body: "" };
  headers["Content-Type"] = type;
  return { status: 200, headers, body };
}

/** Sends a document, or 304 when the caller has it. */
export function sendDocument(c: Context, document: PublicDocument, cacheControl = asKeys): Response {
  const { gzipped } = document;
  const compress = gzipped !== undefined && acceptsGzip(c.req.header("Accept-Encoding"));
  // Two representations of one document must not share a strong tag (RFC 9110, 8.8.3.3).
  const etag = compress ? document.etag.replace(/"$/, '-gzip"') : document.etag;
  c.header("Cache-Control", cacheControl);
  c.header("ETag", etag);
  if (gzipped !== undefined) c.header("Vary", "Accept-Encoding", { append: true });
  if (isKnown(c.req.header("If-None-Match"), etag)) return c.body(null, 304);
  c.header("Content-Type", document.type);
  if (!compress) return c.body(document.body);
  c.header("Content-Encoding", "gzip");
  return c.body(gzipped);
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const known = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return known.includes(etag) || known.includes("*");
}

function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const codings = (acceptEncoding ?? "").split(",").map((coding) => coding.trim().toLowerCase());
  return codings.some((coding) => /^gzip\s*(;|$)/.test(coding) && !/;\s*q=0(\.0*)?$/.test(coding));
}

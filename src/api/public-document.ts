import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Configuration } from "../domain/configuration.ts";
import type { Settings } from "../domain/settings.ts";

/** A response body that is the same for every caller, with its media type and entity tag. */
export type PublicDocument<Body extends string | Blob = string> = {
  readonly body: Body;
  /** The body compressed with gzip; null if the document is small, or is a compressed file already. */
  readonly gzipped: Blob | null;
  readonly type: string;
  readonly etag: string;
};

/** A large document. Its bytes are Blobs, because Bun copies any other body once for each client that reads slowly. */
export type CompressedDocument = PublicDocument<Blob>;

export function makeDocument(body: string, type: string): PublicDocument {
  return { body, gzipped: null, type, etag: etagOf(body) };
}

/** Makes the document of a file that is compressed already, such as a .tgz file. */
export function makeCompressedDocument(bytes: Uint8Array<ArrayBuffer>, type: string): CompressedDocument {
  return { body: new Blob([bytes]), gzipped: null, type, etag: etagOf(bytes) };
}

/** Compresses on a thread of the runtime, so that the event loop is not blocked. */
const compress = promisify(gzip);

/** Makes a document with gzip's highest level, because the document is compressed once and sent many times. */
export async function compressDocument(body: string, type: string): Promise<CompressedDocument> {
  const gzipped = new Blob([new Uint8Array(await compress(body, { level: 9 }))]);
  return { body: new Blob([body]), gzipped, type, etag: etagOf(body) };
}

function etagOf(body: string | Uint8Array): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
}

/** Makes a function that calls `load` once and keeps the result. After a failed load, the next call loads again. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

/**
 * Caches documents that depend on the settings `issuer` and `site`, by name. A document is made at its first request, and again
 * at the first request after one of the two settings has changed. The cache has no size limit, so callers use few names.
 */
export function createDocumentCache({ current }: Pick<Configuration, "current">) {
  const kept = new Map<string, () => Promise<CompressedDocument>>();
  let madeFor: Settings | undefined;
  return (name: string, make: (settings: Settings) => Promise<CompressedDocument>) => {
    const { settings } = current();
    if (madeFor?.issuer !== settings.issuer || madeFor.site !== settings.site) kept.clear();
    madeFor = settings;
    const document = kept.get(name) ?? loadOnce(() => make(settings));
    kept.set(name, document);
    return document();
  };
}

/** `Cache-Control` of documents with public keys. Five minutes are safe, because a key is published a day before it signs. */
export const publicKeyCacheControl = "public, max-age=300, must-revalidate";

/** Sends a document, or 304 if `If-None-Match` has the document's entity tag. */
export function sendDocument(
  c: Context,
  { body, gzipped, type, etag: plainEtag }: PublicDocument<string | Blob>,
  cacheControl = publicKeyCacheControl,
): Response {
  const compress = gzipped !== null && acceptsGzip(c.req.header("Accept-Encoding"));
  // Two representations of one document must not share a strong tag (RFC 9110, 8.8.3.3).
  const etag = compress ? plainEtag.replace(/"$/, '-gzip"') : plainEtag;
  c.header("Cache-Control", cacheControl);
  c.header("ETag", etag);
  if (gzipped !== null) c.header("Vary", "Accept-Encoding", { append: true });
  if (hasKnownTag(c.req.header("If-None-Match"), etag)) return c.body(null, 304);
  c.header("Content-Type", type);
  if (compress) c.header("Content-Encoding", "gzip");
  const sent = compress ? gzipped : body;
  // Hono answers HEAD with an empty body. Without this header, Bun would send the length of that empty body.
  c.header("Content-Length", String(typeof sent === "string" ? Buffer.byteLength(sent) : sent.size));
  // Hono passes the body to `new Response`, which accepts a Blob; Hono's types do not have Blob.
  return c.body(sent as string);
}

/** Sends a text without an entity tag, compressed if the client accepts gzip. */
export async function sendText(
  c: Context,
  text: string,
  { type, status = 200 }: { type: string; status?: ContentfulStatusCode },
): Promise<Response> {
  c.header("Content-Type", type);
  c.header("Vary", "Accept-Encoding", { append: true });
  if (!acceptsGzip(c.req.header("Accept-Encoding"))) return c.body(text, status);
  c.header("Content-Encoding", "gzip");
  return c.body(new Uint8Array(await compress(text)), status);
}

/**
 * Makes the handler that sends a file of the program. The file is loaded and compressed at its first request.
 * @param type the media type; `charset=utf-8` is added
 */
export function serveFile(type: string, load: () => Promise<{ readonly default: string }>) {
  const file = loadOnce(async () => compressDocument((await load()).default, `${type}; charset=utf-8`));
  return async (c: Context) => sendDocument(c, await file());
}

function hasKnownTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const known = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return known.includes(etag) || known.includes("*");
}

function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const codings = (acceptEncoding ?? "").split(",").map((coding) => coding.trim().toLowerCase());
  return codings.some((coding) => /^gzip\s*(;|$)/.test(coding) && !/;\s*q=0(\.0*)?$/.test(coding));
}

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Context } from "hono";
import type { Configuration } from "../domain/configuration.ts";
import type { Settings } from "../domain/settings.ts";
import type { HttpCall, Reply } from "./http-call.ts";

/** A public document that is the same for everybody, ready to be sent. */
export type PublicDocument = {
  readonly body: string;
  /** Its media type. */
  readonly type: string;
  readonly etag: string;
};

/** A large document that stays the same: every answer with it is sent from the same two buffers. */
export type CompressedDocument = Omit<PublicDocument, "body"> & {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
};

export function publicDocument(body: string, type: string): PublicDocument {
  return { body, type, etag: etagOf(body) };
}

/** Compresses once, beside the event loop. */
export async function compressedDocument(body: string, type: string): Promise<CompressedDocument> {
  const gzipped = new Uint8Array(await promisify(gzip)(body, { level: 9 }));
  return { bytes: new TextEncoder().encode(body), gzipped, type, etag: etagOf(body) };
}

function etagOf(body: string): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
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

/**
 * Documents that say something of the service, by names of which there are few: each is made when it is first asked
 * for, and anew when the issuer or the site has changed.
 */
export function keptDocuments({ current }: Pick<Configuration, "current">) {
  const kept = new Map<string, () => Promise<CompressedDocument>>();
  let madeFor: Settings | undefined;
  return (name: string, make: (settings: Settings) => Promise<CompressedDocument>) => {
    const { settings } = current();
    if (madeFor?.issuer !== settings.issuer || madeFor.site !== settings.site) kept.clear();
    madeFor = settings;
    const document = kept.get(name) ?? once(() => make(settings));
    kept.set(name, document);
    return document();
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
export function sendDocument(
  c: Context,
  document: PublicDocument | CompressedDocument,
  cacheControl = asKeys,
): Response {
  const compress = "gzipped" in document && acceptsGzip(c.req.header("Accept-Encoding"));
  // Two representations of one document must not share a strong tag (RFC 9110, 8.8.3.3).
  const etag = compress ? document.etag.replace(/"$/, '-gzip"') : document.etag;
  c.header("Cache-Control", cacheControl);
  c.header("ETag", etag);
  if ("gzipped" in document) c.header("Vary", "Accept-Encoding", { append: true });
  if (isKnown(c.req.header("If-None-Match"), etag)) return c.body(null, 304);
  c.header("Content-Type", document.type);
  if ("body" in document) return c.body(document.body);
  if (compress) c.header("Content-Encoding", "gzip");
  return sendBytes(c, compress ? document.gzipped : document.bytes);
}

/**
 * Answers with a file that is in the program, read and compressed when it is first asked for.
 * @param type its media type
 */
export function programFile(
  type: string,
  load: () => Promise<{ readonly default: string }>,
): (c: Context) => Promise<Response> {
  const file = once(async () => compressedDocument((await load()).default, `${type}; charset=utf-8`));
  return async (c) => sendDocument(c, await file());
}

/** What is sent at a time of a document: so much waits for a client that does not read. */
const pieceBytes = 64 * 1024;

/**
 * Sends bytes that stay as they are. A Response copies the bytes that it is given, and they would wait all at once for
 * a client that does not read; a stream hands on pieces of the one buffer, the next when the one before was taken.
 */
function sendBytes(c: Context, bytes: Uint8Array<ArrayBuffer>): Response {
  if (bytes.length <= pieceBytes) return c.body(bytes);
  c.header("Content-Length", String(bytes.length));
  let sent = 0;
  const pieces = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(bytes.subarray(sent, sent + pieceBytes));
        sent += pieceBytes;
        if (sent >= bytes.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return c.body(pieces);
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

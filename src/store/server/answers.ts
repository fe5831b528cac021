import { Buffer } from "node:buffer";
import { TvsError } from "../../domain/errors.ts";

/** The longest response that is read, in bytes. By default sqld, the libSQL server, sends at most 10 MB. */
const maxAnswerBytes = 16 * 1024 ** 2;
/** The most values in a response, counted by `[` and `{`. A parsed value takes up to 100 times its bytes in memory. */
const maxAnswerValues = 1_000_000;
const [bracket, brace] = [0x5b, 0x7b];

/**
 * Sends a request of the libSQL client to `url` only. A redirect, or a `base_url` in a response, could lead statements
 * and token to another server (decision D12.11).
 * @returns the whole response; a redirect is not followed
 * @throws TvsError STORE_UNAVAILABLE for a response that is too large or compressed; the errors of `fetch`
 */
export async function sendToServer(request: Request, url: URL, waitMs: number): Promise<Response> {
  const { method, headers } = request;
  headers.set("Accept-Encoding", "identity");
  const refusing = new AbortController();
  const signal = AbortSignal.any([refusing.signal, AbortSignal.timeout(Math.max(1, waitMs))]);
  const body = await request.arrayBuffer();
  const response = await fetch(url, { method, headers, body, redirect: "manual", signal });
  if (isCompressed(response)) {
    refusing.abort();
    throw new TvsError("STORE_UNAVAILABLE", `the database's server packed its answer unasked${advice}`);
  }
  const bytes = await readAnswer(response);
  const { status } = response;
  return new Response(bytes.length === 0 ? null : bytes, { status, headers: response.headers });
}

/** Returns true if a response is compressed. Bun may decompress even a huge response that nobody reads. */
export function isCompressed({ headers }: Response): boolean {
  return (headers.get("Content-Encoding") ?? "identity") !== "identity";
}

async function readAnswer({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let [bytes, values] = [0, 0];
  // An exception in this loop also cancels the download.
  for await (const part of body ?? []) {
    bytes += part.length;
    for (const byte of part) if (byte === bracket || byte === brace) values++;
    if (bytes > maxAnswerBytes || values > maxAnswerValues) throw new TvsError("STORE_UNAVAILABLE", tooMuch);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const advice = ", which is not read; find out what answers at its address";
const tooMuch = `the database's server sent more than 16 MiB or a million values at once${advice}`;

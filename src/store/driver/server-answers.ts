import { Buffer } from "node:buffer";
import { TvsError } from "../../domain/errors.ts";

/** The longest answer that is read, unpacked; sqld sends 10 MB at most, unless it is told otherwise. */
const maxAnswerBytes = 64 * 1024 ** 2;

/** Where a request goes, and for how long its answer is waited for. */
type Asked = { readonly url: URL; readonly waitMs: number };

/**
 * Sends a request of the Hrana client to the server that the operator has named, and to no other. A server is believed
 * in its rows (decision D12.11): not in where they are asked for, because statements and token would go where a redirect
 * or the `base_url` of an answer leads, and not in how much of them there is.
 * @returns the whole answer, a redirect as it came
 * @throws TvsError STORE_UNAVAILABLE when it is too long; besides that what `fetch` throws
 */
export async function askServer(request: Request, { url, waitMs }: Asked): Promise<Response> {
  const { method, headers } = request;
  // A server that packs its answer all the same is counted by what comes out of it.
  headers.set("Accept-Encoding", "identity");
  const signal = AbortSignal.timeout(Math.max(1, waitMs));
  const body = await request.arrayBuffer();
  const response = await fetch(url, { method, headers, body, redirect: "manual", signal });
  const bytes = await readAnswer(response);
  const { status } = response;
  return new Response(bytes.length === 0 ? null : bytes, { status, headers: response.headers });
}

async function readAnswer({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early gives the rest up.
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > maxAnswerBytes) throw new TvsError("STORE_UNAVAILABLE", tooLong);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const tooLong =
  "the database's server sent more than 64 MiB at once, which is not read; find out what answers at its address";

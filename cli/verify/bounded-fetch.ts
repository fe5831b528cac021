/** Fetches from a log's server with limits, because the server may be slow, send endlessly or redirect. */

import { TvsError } from "../../src/domain/errors.ts";
import { readBoundedStream } from "../../src/partner/bytes.ts";
import { isCompressed } from "../../src/store/server/answers.ts";
import { option } from "../command.ts";
import { parseDuration } from "../terminal/output.ts";

export const defaultFetchTimeoutMs = 15_000;
const maxBytes = 1024 * 1024;

const timeoutWords = `How long an answer may take (default ${defaultFetchTimeoutMs / 1000}s)`;
export const timeoutArg = { timeout: option("DURATION", timeoutWords, parseDuration) } as const;

type BoundedAnswer = { readonly status: number; readonly body: Uint8Array };

/** Reads a URL from the command line. @throws TvsError USAGE if it is not http(s), or has a user or password */
export function parseHttpUrl(text: string, flag: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw new TvsError("USAGE", `${flag} must be an http or https address without a user or password`);
  return url;
}

/** Fetches a URL of a log. @throws TvsError INPUT_UNREADABLE if the answer is late, above 1 MiB, compressed or a redirect */
export async function fetchBounded(url: URL, timeoutMs: number): Promise<BoundedAnswer> {
  const none = (problem: string, cause?: unknown) =>
    new TvsError("INPUT_UNREADABLE", `the log at ${url.origin}${url.pathname} ${problem}`, { cause });
  const refusing = new AbortController();
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.any([refusing.signal, limit]),
      headers: { "Accept-Encoding": "identity" },
    });
    if (isCompressed(response)) {
      refusing.abort();
      throw none("packed its answer unasked, which is not read");
    }
    if (response.status >= 300 && response.status < 400)
      throw none("sends elsewhere, which is not followed; give the address itself");
    const body = response.body === null ? new Uint8Array() : await readBoundedStream(response.body, maxBytes);
    if (body === null) throw none("sent more than 1 MiB, which no answer of it needs");
    return { status: response.status, body };
  } catch (cause) {
    if (cause instanceof TvsError) throw cause;
    if (limit.aborted) throw none(`gave no whole answer within ${timeoutMs / 1000} s`, cause);
    throw none("cannot be reached; check the address and the network", cause);
  }
}

import type { IncomingMessage } from "node:http";

/** The headers that say for whom a request is and where it ends. */
const decisive = ["host", "content-length", "transfer-encoding"];

/**
 * Whether a request's head can be read in one way only. Two readers that take different ones of two lines, one of
 * them a proxy, disagree about whose request it is or where the next one begins; and the runtimes' own parsers, which
 * are four here, do not refuse the same ones.
 *
 * - HTTP/1.0 or 1.1;
 * - one `Host`, which 1.0 may leave out, as health probes do (RFC 9112, 3.2);
 * - one `Content-Length` at most: equal ones may be refused too (RFC 9112, 6.3);
 * - no transfer coding but `chunked`, and none in HTTP/1.0, where whoever passed it on may not know it (RFC 9112, 6.1).
 */
export function isWellFramed({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return false;
  if (headers.host === undefined && httpVersion === "1.1") return false;
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (httpVersion === "1.0" || coding.trim().toLowerCase() !== "chunked"))
    return false;
  return !hasTwice(rawHeaders, decisive);
}

/**
 * Whether one of some headers stands there on two lines; of most, node:http shows the first alone or joins them.
 * @param names in lower case, 31 at most
 */
export function hasTwice(rawHeaders: readonly string[], names: readonly string[]): boolean {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // Every request pays for this: a name is only looked at closely where its length fits.
    const place = names.findIndex((one) => one.length === name.length && one === name.toLowerCase());
    if (place < 0) continue;
    if ((seen & (1 << place)) !== 0) return true;
    seen |= 1 << place;
  }
  return false;
}

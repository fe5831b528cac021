/** What comes over a socket: requests one behind the other, whole or with bytes that belong elsewhere. */

import { Buffer } from "node:buffer";
import fc from "fast-check";
import { type Asked, request } from "./http-requests.ts";
import { allowedBy, oddText } from "./http-values.ts";

/** `/s/own/` stands for the path of the session. */
const paths =
  "/s/own/ /s/own/teachers /s/own/teachers.csv /s/own/attestations /s/own/attestations.csv /s/own/calls /s/own/calls.csv /s/own/deliveries /s/own/deliveries.csv /s/own/changes /s/own/changes.csv /s/own/teacher /s/own/imports /s/own/import /s/own/live.json / /metrics /open /s/x/ /x";
const fields =
  "license certificate expires changed state partner teacher since by of status from ref id token";
const asked =
  "VALID 2026-02-30 9999-12-31 0000-00-00 401 4xx partner:asker key:x pending 1 99999999999999999999";

/** Requests to the operator's console, by its forms. */
const look: fc.Arbitrary<Asked> = fc
  .record({
    path: fc.constantFrom(...paths.split(" ")),
    query: fc.dictionary(
      fc.constantFrom(...fields.split(" ")),
      fc.oneof(
        fc.constantFrom(...asked.split(" ")),
        allowedBy({ $ref: "#/components/schemas/SearchTerm" }),
        oddText,
      ),
      { maxKeys: 3, noNullPrototype: true },
    ),
    method: fc.oneof({ weight: 9, arbitrary: fc.constant("GET") }, fc.constantFrom("HEAD", "POST", "DELETE")),
    term: oddText,
  })
  .map(({ path, query, method, term }) => {
    const encoded = (text: unknown) => encodeURIComponent(String(text).toWellFormed());
    const url = `${path}?${Object.entries(query)
      .map(([name, value]) => `${name}=${encoded(value)}`)
      .join("&")}`;
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const body = method === "POST" ? Buffer.from(`term=${encoded(term)}`) : null;
    return { method, url, caller: "none", headers: body === null ? {} : form, body };
  });

const pieces = [
  ...[
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    "\0",
    " ",
    "\t",
    ":",
    "\xff",
    "HTTP/9.9",
    "x".repeat(20_000),
    "\r\nHost: y\r\n",
  ],
  ...[
    "\r\nContent-Length: 5\r\n",
    "\r\nContent-Length: -1\r\n",
    "\r\nContent-Length: 99999999999999999999\r\n",
  ],
  ...["\r\nTransfer-Encoding: chunked\r\n", "\r\n5\r\nhello\r\n0\r\n\r\n", "\r\nfffffffffffffffff\r\n"],
  ...[
    "\r\nExpect: 100-continue\r\n",
    "\r\nConnection: upgrade\r\nUpgrade: websocket\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  ],
];
/** An edit of the bytes at a place: a piece put in, so many taken out, or a bit turned over. */
const edit = fc.record({
  at: fc.nat(),
  piece: fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: "binary", maxLength: 9 }), fc.constant("")),
  without: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(40)),
  bit: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.constantFrom(1, 2, 4, 8, 16, 32, 64, 128)),
});

/** What one connection brings. */
export type Stream = {
  readonly console: boolean;
  readonly requests: readonly Asked[];
  readonly edits: readonly { at: number; piece: string; without: number; bit: number }[];
};

const streamOf = (console: boolean) =>
  fc.record({
    console: fc.constant(console),
    requests: fc.array(console ? look : request, { minLength: 1, maxLength: 4, size: "max" }),
    edits: fc.array(edit, { maxLength: 2, size: "max" }),
  });
export const stream: fc.Arbitrary<Stream> = fc.oneof(
  { weight: 3, arbitrary: streamOf(false) },
  { weight: 1, arbitrary: streamOf(true) },
);

/** The bytes of a request. */
export function bytesOf(host: string, { method, url, headers, body }: Omit<Asked, "caller">): Buffer {
  const sent = { Host: host, ...headers, ...(body === null ? {} : { "Content-Length": body.length }) };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${url} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"),
    body ?? Buffer.of(),
  ]);
}

export function editedBytes(bytes: Buffer, edits: Stream["edits"]): Buffer {
  let all = bytes;
  for (const { at, piece, without, bit } of edits) {
    const place = at % all.length;
    const rest = Buffer.from(all.subarray(place + without));
    if (rest.length > 0) rest[0] = (rest[0] as number) ^ bit;
    all = Buffer.concat([all.subarray(0, place), Buffer.from(piece, "latin1"), rest]);
  }
  return all.length === 0 ? bytes : all;
}

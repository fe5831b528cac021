import * as examples from "./examples.ts";

/** A part of the document: OpenAPI 3.1 objects are plain JSON. */
export type Json = { readonly [member: string]: unknown };

const integer = (minimum: number, example: number) => ({ type: "integer", minimum, examples: [example] });
/** A text, and what it may be. */
export const text = (...shown: string[]) => ({ type: "string", examples: shown });

/** Every response header, by the name that is sent. */
export const headers = {
  "X-Request-Id": {
    description:
      "Id of this response, by which the operator finds the call and what it attested: name it when asking about one.",
    schema: { type: "string", format: "uuid", examples: ["019ca8bb-b5c2-7d10-a3fb-6c1e0b9a8f44"] },
  },
  "X-Verification-Id": {
    description: "The envelope's `verificationId`.",
    schema: text(examples.foundEnvelope.verificationId),
  },
  "X-Signature-Kid": { description: "The envelope's `signatureKid`.", schema: text(examples.kid) },
  "X-RateLimit-Limit": {
    description: "The quota per minute: the partner's, or that of a source IP address at the public lookup.",
    schema: integer(0, 600),
  },
  "X-RateLimit-Remaining": {
    description:
      "Calls left now: the lesser of what minute and day have left. For partners it is what the database said of this " +
      "very call, a refused one too, so it is the same whichever server answers. A 429 says 0 where the minute is " +
      "already known to be spent. A 5xx has none of the three headers where the database could not be asked.",
    schema: integer(0, 599),
  },
  "X-RateLimit-Reset": {
    description:
      "When the window ends, in Unix epoch seconds: the minute, or the UTC day on a 429 by the day.",
    schema: integer(0, 1772357460),
  },
  "Retry-After": { description: "Seconds to wait before trying again.", schema: integer(1, 23) },
  "Idempotent-Replayed": {
    description: "Present, and `true`, when this is the stored answer to an earlier call with the same key.",
    schema: { type: "string", const: "true", examples: ["true"] },
  },
  ETag: {
    description: "Version of the document, for `If-None-Match`.",
    schema: text('"gvIYSZwWV5TBkV2dJb5C1uGm2lI"'),
  },
  Allow: { description: "The methods that this path has.", schema: text("GET, HEAD") },
  "Cache-Control": {
    description: "How long the answer may be kept, and by whom.",
    schema: text("no-store", "public, max-age=300, must-revalidate"),
  },
  "WWW-Authenticate": { description: "How to present a key.", schema: text('Bearer realm="tvs"') },
} as const satisfies Record<string, Json>;

export type HeaderName = keyof typeof headers;

export const rateLimit = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"] as const;

export function headerRefs(names: readonly HeaderName[]): Json {
  const sorted = [...names, "X-Request-Id" as const];
  return Object.fromEntries(sorted.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

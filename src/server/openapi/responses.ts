import * as examples from "./examples.ts";
import { type HeaderName, headerRefs, type Json, rateLimit, text } from "./headers.ts";
import type { ExampleName } from "./named-examples.ts";
import { type SchemaName, schemaRef } from "./schemas.ts";

/** A response whose body is JSON. */
type JsonResponse = {
  description: string;
  schema: SchemaName;
  headers: readonly HeaderName[];
  examples?: Readonly<Record<string, ExampleName>>;
};

function jsonResponse({ description, schema, headers: names, examples: shown = {} }: JsonResponse): Json {
  const refs = Object.entries(shown).map(([name, of]) => [name, { $ref: `#/components/examples/${of}` }]);
  return {
    description,
    headers: headerRefs(names),
    content: {
      "application/json": {
        schema: schemaRef(schema),
        ...(refs.length === 0 ? {} : { examples: Object.fromEntries(refs) }),
      },
    },
  };
}

/** A response to a call that failed, in the shape of every error. */
type Failure = {
  readonly statusCode: number;
  readonly description: string;
  readonly message: string;
  readonly headers: readonly HeaderName[];
};

function failure({ statusCode, description, message, headers: names }: Failure): Json {
  return {
    description,
    headers: headerRefs(["Cache-Control", ...names]),
    content: { "application/json": { schema: schemaRef("Error"), example: { statusCode, message } } },
  };
}

function internalError(names: readonly HeaderName[]): Json {
  return failure({
    statusCode: 500,
    description:
      "A fault of the service. Nothing was signed or stored; try again, and name the `X-Request-Id` to the operator if " +
      "it goes on.",
    message: "internal error",
    headers: names,
  });
}

function unavailable(names: readonly HeaderName[]): Json {
  return failure({
    statusCode: 503,
    description:
      "A passing failure: nobody was looked up, or nothing could be signed. Nothing was stored; it is safe to try " +
      "again, starting after 1 second and at most 3 times.",
    message: "the service cannot answer at the moment; try again",
    headers: [...names, "Retry-After"],
  });
}

/** Every response, by the name under which operations refer to it. */
export const responses = {
  PublicLookup: jsonResponse({
    description: "The lookup was made. Nobody matched when `found` is false.",
    schema: "PublicLookup",
    headers: ["Cache-Control"],
    examples: { found: "PublicFound", notFound: "PublicNotFound" },
  }),
  Envelope: jsonResponse({
    description: "The check was made and its result signed. Nobody matched when `result.found` is false.",
    schema: "SignedEnvelope",
    headers: ["X-Verification-Id", "X-Signature-Kid", ...rateLimit, "Cache-Control"],
    examples: { found: "EnvelopeFound", notFound: "EnvelopeNotFound" },
  }),
  IdempotentEnvelope: jsonResponse({
    description: "The check was made and its result signed. Nobody matched when `result.found` is false.",
    schema: "SignedEnvelope",
    headers: ["X-Verification-Id", "X-Signature-Kid", ...rateLimit, "Idempotent-Replayed", "Cache-Control"],
    examples: { found: "EnvelopeFound", notFound: "EnvelopeNotFound" },
  }),
  Batch: jsonResponse({
    description: "Every item was answered and signed, in the order of the items.",
    schema: "BatchResponse",
    headers: [...rateLimit, "Idempotent-Replayed", "Cache-Control"],
  }),
  Jwks: jsonResponse({ description: "The key set.", schema: "Jwks", headers: ["ETag", "Cache-Control"] }),
  KeyHistory: {
    description:
      "The signed key history. It is signed with a key out of itself: take it from here, and check that its signer is in the key set.",
    headers: headerRefs(["ETag", "Cache-Control"]),
    content: { "application/jose": { schema: schemaRef("KeyHistory") } },
  },
  OpenApi: {
    description: "This document.",
    headers: headerRefs(["ETag", "Cache-Control"]),
    content: { "application/json": { schema: { type: "object", description: "An OpenAPI 3.1 document." } } },
  },
  PartnerModule: {
    description: "The module: ECMAScript without an import, as text.",
    headers: headerRefs(["ETag", "Cache-Control"]),
    content: { "text/javascript": { schema: { type: "string", description: "An ECMAScript module." } } },
  },
  PartnerTypes: {
    description: "The declarations of the module.",
    headers: headerRefs(["ETag", "Cache-Control"]),
    content: { "application/typescript": { schema: { type: "string", description: "A TypeScript file." } } },
  },
  NotModified: {
    description: "The document is still the one that `If-None-Match` names. No body.",
    headers: headerRefs(["ETag", "Cache-Control"]),
  },
  LogCheckpoint: {
    description:
      "The newest checkpoint: origin, size and root, with a plain and a timestamped signature of the log's key " +
      "(c2sp.org/signed-note, tlog-checkpoint, tlog-cosignature).",
    headers: headerRefs(["ETag", "Cache-Control"]),
    content: { "text/plain": { schema: text(examples.inclusion.checkpoint) } },
  },
  LogKey: {
    description: "The verifier keys of the log, one line each (c2sp.org/signed-note).",
    headers: headerRefs(["ETag", "Cache-Control"]),
    content: { "text/plain": { schema: text(examples.logKey) } },
  },
  LogInclusion: jsonResponse({
    description: "The leaf is in the log. This answer never changes.",
    schema: "LogInclusion",
    headers: ["ETag", "Cache-Control"],
  }),
  LogConsistency: jsonResponse({
    description: "The log of the larger size begins with that of the smaller one.",
    schema: "LogConsistency",
    headers: ["ETag", "Cache-Control"],
  }),
  LogInvalid: failure({
    statusCode: 400,
    description: "A parameter is missing or malformed, which the message names, or `from` is above `to`.",
    message: "leafHash must be 64 hexadecimal digits in lower case",
    headers: [],
  }),
  NoCheckpoint: failure({
    statusCode: 404,
    description: "Nothing was attested yet: an empty log has no checkpoint.",
    message: "there is no checkpoint yet",
    headers: [],
  }),
  LeafUnknown: failure({
    statusCode: 404,
    description:
      "No leaf has this hash, or no checkpoint covers it yet: try again after half a minute. Or `size` is not that of a " +
      "checkpoint that covers it; the message says which.",
    message: "no checkpoint covers a leaf with this hash",
    headers: [],
  }),
  SizeUnknown: failure({
    statusCode: 404,
    description: "The newest checkpoint has fewer leaves than `to`.",
    message: "no checkpoint covers so many leaves",
    headers: [],
  }),
  Healthy: jsonResponse({
    description: "Database and signer answer.",
    schema: "Health",
    headers: ["Cache-Control"],
    examples: { ok: "HealthOk" },
  }),
  Unhealthy: jsonResponse({
    description:
      "Database or signer does not answer, or the disk refuses attestations; `status` is `unavailable`.",
    schema: "Health",
    headers: ["Retry-After", "Cache-Control"],
    examples: { unavailable: "HealthUnavailable" },
  }),
  PublicInvalid: failure({
    statusCode: 400,
    description: "`searchTerm` is missing or empty. Ask with one.",
    message: "searchTerm is required",
    headers: [],
  }),
  Invalid: failure({
    statusCode: 400,
    description:
      "Malformed: a member is missing or wrong. The message names the first such member, never its value. The same " +
      "call fails again: correct it.",
    message: examples.errors.badRequest.message,
    headers: rateLimit,
  }),
  Unauthorized: jsonResponse({
    description:
      "No valid credential. The message says what can be seen without looking the credential up. Unknown, revoked " +
      "and expired keys, unknown certificates and disabled partners are not told apart.",
    schema: "Error",
    headers: ["Cache-Control", "WWW-Authenticate"],
    examples: {
      none: "NoCredential",
      notBearer: "NotBearer",
      mistyped: "MistypedKey",
      sandboxKey: "SandboxKey",
      liveKey: "LiveKey",
      unknown: "UnknownCredential",
    },
  }),
  ScopeMissing: failure({
    statusCode: 403,
    description: "The partner lacks the scope of this endpoint. The operator can grant it.",
    message: "this credential lacks the scope lookup_by_nin",
    headers: rateLimit,
  }),
  Forbidden: failure({
    statusCode: 403,
    description:
      "The partner lacks the scope of this endpoint, or a purpose is not among those it is allowed. One such item " +
      "refuses a whole batch. The operator can grant both.",
    message: "the purpose EMPLOYER_BACKGROUND_CHECK is not allowed for this partner",
    headers: rateLimit,
  }),
  NotFound: failure({
    statusCode: 404,
    description: "No page or call has this path. A teacher who is not found is never a 404.",
    message: "there is no such path",
    headers: [],
  }),
  MethodNotAllowed: failure({
    statusCode: 405,
    description: "The path has other methods.",
    message: "DELETE is not allowed here",
    headers: ["Allow"],
  }),
  KeyInUse: failure({
    statusCode: 409,
    description:
      "The first call with this `Idempotency-Key` is still running after 2 seconds. Try again with the same key.",
    message: "a call with this Idempotency-Key is still running; try again",
    headers: [...rateLimit, "Retry-After"],
  }),
  TooLarge: failure({
    statusCode: 413,
    description: "The body is above 256 KiB. Split the batch.",
    message: "the body must be at most 262144 bytes",
    headers: rateLimit,
  }),
  KeyReused: failure({
    statusCode: 422,
    description: "The `Idempotency-Key` was used with a different body. A new question needs a new key.",
    message: "this Idempotency-Key was used with a different body",
    headers: rateLimit,
  }),
  QuotaExceeded: jsonResponse({
    description: "The minute or the day is spent; the message says which. Wait `retryAfterSeconds`.",
    schema: "RateLimitError",
    headers: [...rateLimit, "Retry-After", "Cache-Control"],
    examples: { minute: "MinuteSpent", day: "DaySpent", address: "AddressSpent", personal: "PersonalSpent" },
  }),
  InternalError: internalError([]),
  PartnerInternalError: internalError(rateLimit),
  Unavailable: unavailable([]),
  PartnerUnavailable: unavailable(rateLimit),
} as const satisfies Record<string, Json>;

export type ResponseName = keyof typeof responses;

export function responseRef(name: ResponseName): Json {
  return { $ref: `#/components/responses/${name}` };
}

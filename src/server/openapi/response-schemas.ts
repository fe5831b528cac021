import * as v from "valibot";
import { type PublicAnswer, publicLicenseStatuses, summaryStatuses } from "../../domain/public-lookup.ts";
import {
  certificateStatuses,
  eventTypes,
  licenseStatuses,
  type SignedEnvelope,
  type WebhookEvent,
} from "../../partner/contract.ts";
import type { describeConsistency, describeInclusion } from "../log-documents.ts";
import * as examples from "./examples.ts";
import {
  certificateSchema,
  certificateStatusSchema,
  count,
  countOrNull,
  documented,
  eligibilityResultSchema,
  fixed,
  licenseSchema,
  licenseStatusSchema,
  part,
  text,
  textOrNull,
  time,
} from "./result-schemas.ts";

/**
 * What the service sends, as the contract describes it. Nothing is checked with these schemas while serving: the
 * OpenAPI document is made from them, the compiler holds them against the types of the answers, and the tests hold
 * real answers against them.
 */

export const signedEnvelopeSchema = documented(
  v.object({
    verificationId: text("Id of this verification: the claim `sub`."),
    verifiedAt: time("When it was answered: the claim `iat`, in whole seconds."),
    issuer: text("The service's issuer URL: the claim `iss`."),
    audience: text("The caller's partner id: the claim `aud`."),
    result: part(
      eligibilityResultSchema,
      "An unsigned copy. When it differs from the signed claim, trust the signed one.",
    ),
    signature: v.pipe(
      v.string(),
      v.jwsCompact(),
      v.description("Compact RS256 JWS (JWT) with the claims `iss`, `aud`, `sub`, `iat` and `result`."),
    ),
    signatureKid: text("Key id of the signing key, to be found in the JWKS."),
  }),
  "A result with the proof that the service attested it. Verify the signature with the JWKS key whose `kid` is in the " +
    "JOSE header, then check `iss` and `aud`.",
  examples.foundEnvelope,
  examples.notFoundEnvelope,
) satisfies v.GenericSchema<unknown, SignedEnvelope>;

export const batchResponseSchema = documented(
  v.object({
    count: count("Number of results, which is the number of items asked."),
    results: v.pipe(
      v.array(signedEnvelopeSchema),
      v.description("One envelope per item, in the order of the items."),
    ),
  }),
  "The answers to a batch: all of them, or an error for the whole call.",
  examples.batchResponse,
);

export const publicLicenseSchema = documented(
  v.object({
    ...licenseSchema.entries,
    status: v.pipe(
      v.picklist(publicLicenseStatuses),
      v.description("The public is told of these three states."),
    ),
  }),
  "A license as the public sees it: a revoked one, or that of a deactivated teacher, is `NOT_FOUND` with nulls.",
  examples.license,
);

export const publicTeacherSchema = documented(
  v.object({
    name: text("Full name as registered."),
    tId: textOrNull("Teacher id: text here, a number in the partner API."),
    state: textOrNull("State of registration."),
    category: textOrNull("Category of registration."),
    photoUrl: v.exactOptional(
      text("Address of a photo. Not reliable for confirming an identity; absent when there is none."),
    ),
  }),
  "The teacher that matched.",
  { ...examples.teacher, tId: String(examples.tId) },
);

/** What the public is told of a teacher in a word or two. */
export const summaryMeanings: Readonly<Record<(typeof summaryStatuses)[number], string>> = {
  Licensed: "The teacher holds a license that is valid today.",
  Expired: "The last day of the license has passed.",
  "Not licensed": "No license is in force. The public is not told why.",
};

export const summaryStatusSchema = documented(
  v.picklist(summaryStatuses),
  "A summary of the license in a word or two, for people.",
  "Licensed",
);

export const publicFoundSchema = documented(
  v.object({
    found: fixed(true, "boolean", "A teacher matched."),
    name: text("Full name as registered."),
    tId: textOrNull("Teacher id, as text."),
    status: summaryStatusSchema,
    state: textOrNull("State of registration."),
    teacher: publicTeacherSchema,
    certificate: certificateSchema,
    license: publicLicenseSchema,
    verifiedAt: time("Server time of the lookup. Keep it with a cached answer."),
  }),
  "Public answer when a teacher matched.",
  examples.publicFound,
);

export const publicNotFoundSchema = documented(
  v.object({
    found: fixed(false, "boolean", "Nobody matched."),
    verifiedAt: time("Server time of the lookup."),
  }),
  "Public answer when no teacher matched.",
  examples.publicNotFound,
);

export const publicLookupSchema = documented(
  v.variant("found", [publicFoundSchema, publicNotFoundSchema]),
  "Public answer. `found` says which of the two it is.",
  examples.publicFound,
  examples.publicNotFound,
) satisfies v.GenericSchema<unknown, PublicAnswer>;

export const jwkSchema = documented(
  v.object({
    kty: fixed("RSA", "string", "Key type."),
    use: fixed("sig", "string", "For signatures only."),
    alg: fixed("RS256", "string", "The one algorithm in use."),
    kid: text("Key id: the RFC 7638 thumbprint."),
    n: text("Modulus, base64url."),
    e: text("Public exponent, base64url."),
  }),
  "The public half of a signing key (RFC 7517).",
  ...examples.jwks.keys,
);

export const jwksSchema = documented(
  v.object({ keys: v.pipe(v.array(jwkSchema), v.description("Active, pending and retired keys.")) }),
  "The key set. The next key is published before it signs, and retired keys stay, so that envelopes remain verifiable.",
  examples.jwks,
);

export const keyHistorySchema = documented(
  v.pipe(v.string(), v.jwsCompact()),
  "Every key that was ever published, as a compact JWS signed by the active key, `typ` `key-history+jwt`. Claims: `iss`, " +
    "`iat` and `keys`, each with `kid`, `state` (`pending`, `active`, `retired`, `compromised`), `createdAt`, " +
    "`publishedAt`, `activatedAt`, `retiredAt`, `compromisedSince` and `jwk`. Keep a copy with your envelopes: it verifies " +
    "them offline, years later.",
  examples.keyHistory,
);

const logHashes = v.pipe(
  v.array(v.pipe(v.string(), v.regex(/^[A-Za-z0-9+/]{43}=$/))),
  v.description("Hashes in base64, in the order in which they are used."),
);

export const logInclusionSchema = documented(
  v.object({
    leafIndex: count("Place of the leaf, from 0."),
    treeSize: count("Leaves of the tree that the proof leads to."),
    hashes: logHashes,
    checkpoint: text("The checkpoint of that size, a signed note."),
  }),
  "The proof that a leaf is in the log: hash your way up (RFC 9162, 2.1.3.2), and compare with the root in the checkpoint, " +
    "whose signatures are to be verified with the log's key.",
  examples.inclusion,
) satisfies v.GenericSchema<unknown, ReturnType<typeof describeInclusion>>;

export const logConsistencySchema = documented(
  v.object({
    from: count("Leaves of the smaller tree."),
    to: count("Leaves of the larger tree."),
    hashes: logHashes,
  }),
  "The proof that the larger tree begins with the smaller one (RFC 9162, 2.1.4.2): nothing was changed or removed.",
  examples.consistency,
) satisfies v.GenericSchema<unknown, ReturnType<typeof describeConsistency>>;

export const healthSchema = documented(
  v.object({
    status: v.pipe(v.picklist(["ok", "unavailable"]), v.description("`unavailable` comes with status 503.")),
    service: text("Name of the service."),
    issuer: text("The service's issuer URL."),
    activeKid: text("Key id of the key that signs now."),
  }),
  "Whether database and signer answer.",
  examples.health,
  examples.unavailable,
);

export const errorSchema = documented(
  v.object({
    statusCode: v.pipe(
      v.number(),
      v.integer(),
      v.minValue(400),
      v.maxValue(599),
      v.description("The HTTP status."),
    ),
    message: text("What is wrong and what to do, for people. It names a member, never its value."),
  }),
  "Body of every error.",
  examples.errors.badRequest,
);

export const rateLimitErrorSchema = documented(
  v.object({
    statusCode: fixed(429, "integer", "The HTTP status."),
    message: text("Which window is spent."),
    retryAfterSeconds: v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Seconds to wait.")),
  }),
  "Body of a 429.",
  examples.errors.minuteSpent,
  examples.errors.daySpent,
  examples.errors.addressSpent,
);

export const eventTypeSchema = documented(
  v.picklist(eventTypes),
  "What happened. A deactivation is announced alone, whatever else it changes.",
  "license.revoked",
);

export const webhookEventSchema = documented(
  v.object({
    eventId: text("The same through every attempt to deliver: use it to ignore repeats."),
    eventType: eventTypeSchema,
    occurredAt: time("When the status changed."),
    data: v.pipe(
      v.object({
        tId: countOrNull("Numeric teacher id."),
        regNo: textOrNull("Canonical registration number."),
        licenseStatus: licenseStatusSchema,
        certificateStatus: certificateStatusSchema,
        previousStatus: v.pipe(
          v.picklist([...new Set([...licenseStatuses, ...certificateStatuses])]),
          v.description(
            "The status before, of the license or of the certificate, whichever the event is about.",
          ),
        ),
      }),
      v.description(
        "Public identifiers and status words only. Both identifiers are null in a test delivery.",
      ),
    ),
  }),
  "The body of a webhook delivery.",
  examples.webhookEvent,
) satisfies v.GenericSchema<unknown, WebhookEvent>;

/**
 * The requests of callers: what the contract says that they hold. The routes check with these schemas and the OpenAPI
 * document is made from them, so that the two cannot differ. Messages say what a member must be and never repeat what it
 * was.
 */

import * as v from "valibot";
import { maxIdempotencyKeyLength } from "../domain/idempotency.ts";
import { ninPattern } from "../domain/search-term.ts";
import { canonicalRegNo, maxTId } from "../domain/teachers.ts";
import { purposes } from "../partner/contract.ts";
import * as examples from "./openapi/examples.ts";

/** An array is an object too, in JavaScript; no member of the contract is one where an object belongs. */
function jsonObject<Entries extends v.ObjectEntries>(entries: Entries, message: string) {
  return v.pipe(
    v.unknown(),
    v.check((value) => !Array.isArray(value), message),
    v.object(entries, message),
  );
}

const ninSchema = v.pipe(
  v.string("must be 11 digits"),
  v.regex(ninPattern, "must be 11 digits"),
  v.metadata({
    description:
      "National identification number: exactly 11 digits. It travels in a body only, never in a URL.",
    examples: [examples.nin],
  }),
);

export const regNoSchema = v.pipe(
  v.string("must be text"),
  v.check((text) => canonicalRegNo(text) !== null, "must have four segments separated by /"),
  v.metadata({
    description:
      "Registration number: four segments separated by `/`. White space and the case of letters make no difference; " +
      "answers carry it in upper case without spaces.",
    pattern: "^[^/]+/[^/]+/[^/]+/[^/]+$",
    examples: [examples.regNo],
  }),
);

export const tIdSchema = v.pipe(
  v.number("must be a whole number"),
  v.integer("must be a whole number"),
  v.minValue(0, "must be a whole number"),
  v.maxValue(maxTId, "must be a whole number below 2^53"),
  v.metadata({ description: "Numeric teacher id.", examples: [examples.tId] }),
);

const identifierMembers = ["regNo", "tId", "nin"] as const;

const exactlyOne = "must have exactly one of regNo, tId, nin";

/** Which of them an identifier has, whatever they hold; of what is no object another check speaks. */
function membersIn(identifier: unknown): readonly string[] | null {
  if (typeof identifier !== "object" || identifier === null || Array.isArray(identifier)) return null;
  return identifierMembers.filter((name) => Object.hasOwn(identifier, name));
}

/** A member in another spelling is a slip that is worth a word: `regno`, `reg_no`, `NIN`. */
function exactlyOneOf(identifier: unknown): string {
  const fold = (name: string) => name.replace(/[-_]/g, "").toLowerCase();
  const given = new Set(Object.keys(identifier as object).map(fold));
  const meant = identifierMembers.find((name) => given.has(fold(name)));
  const isMissing = membersIn(identifier)?.length === 0;
  return isMissing && meant !== undefined ? `${exactlyOne}; did you mean ${meant}?` : exactlyOne;
}

const identifierSchema = v.pipe(
  v.unknown(),
  v.check(
    (identifier) => (membersIn(identifier)?.length ?? 1) === 1,
    ({ input }) => exactlyOneOf(input),
  ),
  jsonObject(
    {
      regNo: v.optional(regNoSchema),
      tId: v.optional(tIdSchema),
      nin: v.optional(ninSchema),
    },
    "must be an object",
  ),
  v.metadata({
    description: "Names a teacher by exactly one of its members.",
    oneOf: identifierMembers.map((name) => ({ required: [name] })),
    examples: [{ regNo: examples.regNo }, { tId: examples.tId }, { nin: examples.nin }],
  }),
);

const purposeSchema = v.pipe(
  v.picklist(purposes, `must be one of ${purposes.join(", ")}`),
  v.metadata({
    description:
      "What the check is for. It must be among the purposes that the operator allowed the partner, else 403; " +
      "a value that is no member of this list is 400.",
    examples: ["BODYA_INVIGILATOR_ELIGIBILITY"],
  }),
);

const contextText = (description: string) =>
  v.optional(v.pipe(v.string("must be text"), v.description(description)));

const requestContextSchema = v.pipe(
  jsonObject(
    {
      examBatch: contextText("The examination or batch that the check belongs to."),
      employerName: contextText("The employer on whose behalf the partner asks."),
      correlationId: contextText("The partner's own reference for this call."),
    },
    "must be an object",
  ),
  v.metadata({
    description:
      "Kept with the attestation, so that the partner and the operator can find the call again. It has no influence " +
      "on the verdict. Do not put personal data here; what looks like a number or an address of a person is left out.",
    examples: [examples.context],
  }),
);

export const eligibilityCheckSchema = v.pipe(
  jsonObject(
    {
      identifier: identifierSchema,
      purpose: purposeSchema,
      context: v.optional(requestContextSchema),
    },
    "must be an object",
  ),
  v.metadata({
    description: "One question: may this teacher be relied on for this purpose? Unknown members are ignored.",
    examples: [examples.eligibilityCheck],
  }),
);

const maxBatchItems = 100;

export const batchCheckSchema = v.pipe(
  jsonObject(
    {
      items: v.pipe(
        v.array(eligibilityCheckSchema, "must be an array"),
        v.minLength(1, `must have 1 to ${maxBatchItems} elements`),
        v.maxLength(maxBatchItems, `must have 1 to ${maxBatchItems} elements`),
        v.description("The questions. They are all checked before the first is answered."),
      ),
    },
    "must be an object",
  ),
  v.metadata({
    description: `1 to ${maxBatchItems} questions in one call. Unknown members are ignored.`,
    examples: [examples.batchCheck],
  }),
);

export const ninLookupSchema = v.pipe(
  jsonObject({ nin: ninSchema }, "must be an object"),
  v.metadata({
    description: "A lookup by national identification number. Unknown members are ignored.",
    examples: [{ nin: examples.nin }],
  }),
);

/** The public lookup's term; what it may mean is decided in domain/search-term.ts. */
export const searchTermSchema = v.pipe(
  v.string("is required"),
  v.regex(/\S/, "is required"),
  v.trim(),
  v.metadata({
    description:
      "Registration number, teacher id, 11-digit NIN, e-mail address or Nigerian phone number. " +
      "White space around it is ignored; dashes for the slashes of a registration number, a full stop at the end and " +
      "the digits of any script are read as meant.",
    examples: [examples.regNo],
  }),
);

export const idempotencyKeySchema = v.pipe(
  v.string("must be text"),
  v.minLength(1, `must be 1 to ${maxIdempotencyKeyLength} characters`),
  v.maxLength(maxIdempotencyKeyLength, `must be 1 to ${maxIdempotencyKeyLength} characters`),
  v.metadata({
    description:
      "Unique per logical request. A retry with the same key and the same body gets the first answer again, byte " +
      "for byte, with `Idempotent-Replayed: true`, and is not charged to the day quota. The key with another body is " +
      "422; while the first call is still running, 409. Keys are remembered for 72 hours.",
    examples: ["7d3f6c1e-b4a2-4e0f-9a51-2f6b8f0f7c11"],
  }),
);

export type EligibilityCheck = v.InferOutput<typeof eligibilityCheckSchema>;

const leafHashForm = "must be 64 hexadecimal digits in lower case";

export const leafHashSchema = v.pipe(
  v.string(leafHashForm),
  v.regex(/^[0-9a-f]{64}$/, leafHashForm),
  v.metadata({
    description:
      "Hash of a leaf: SHA-256 over a zero byte, the text `tvs/v1/attestation`, a line feed, and the 32 bytes of " +
      "SHA-256 over the envelope's `signature` (RFC 6962, 2.1).",
    examples: [examples.leafHash],
  }),
);

const treeSizeForm = "must be a whole number from 1 to 2^53 - 1, without leading zeros";

export const treeSizeSchema = v.pipe(
  v.number(treeSizeForm),
  v.integer(treeSizeForm),
  v.minValue(1, treeSizeForm),
  v.maxValue(Number.MAX_SAFE_INTEGER, treeSizeForm),
  v.metadata({ description: "How many leaves the log has.", examples: [examples.inclusion.treeSize] }),
);

/** The schemas of what callers send, by their published names. */
export const requestSchemas = {
  Identifier: identifierSchema,
  RegNo: regNoSchema,
  TId: tIdSchema,
  Nin: ninSchema,
  VerificationPurpose: purposeSchema,
  RequestContext: requestContextSchema,
  EligibilityCheckRequest: eligibilityCheckSchema,
  BatchCheckRequest: batchCheckSchema,
  NinLookupRequest: ninLookupSchema,
  SearchTerm: searchTermSchema,
  IdempotencyKey: idempotencyKeySchema,
  LeafHash: leafHashSchema,
  TreeSize: treeSizeSchema,
} as const satisfies Record<string, v.GenericSchema>;

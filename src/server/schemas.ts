import * as v from "valibot";
import { ninPattern } from "../domain/search-term.ts";
import { canonicalRegNo, maxTId } from "../domain/teachers.ts";
import { purposes } from "../partner/contract.ts";

/**
 * What partners send, as the contract describes it. The routes check with these schemas and the OpenAPI
 * document is made from them, so that the two cannot differ. Messages say what a member must be and never
 * repeat what it was.
 */

export const ninSchema = v.pipe(v.string("must be 11 digits"), v.regex(ninPattern, "must be 11 digits"));

export const regNoSchema = v.pipe(
  v.string("must be text"),
  v.check((text) => canonicalRegNo(text) !== null, "must have four segments separated by /"),
);

export const tIdSchema = v.pipe(
  v.number("must be a whole number"),
  v.integer("must be a whole number"),
  v.minValue(0, "must be a whole number"),
  v.maxValue(maxTId, "must be a whole number below 2^53"),
);

const identifierMembers = ["regNo", "tId", "nin"] as const;

const identifierEntries = v.object(
  {
    regNo: v.optional(regNoSchema),
    tId: v.optional(tIdSchema),
    nin: v.optional(ninSchema),
  },
  "must be an object",
);

export const identifierSchema = v.pipe(
  identifierEntries,
  v.check(
    (identifier) => identifierMembers.filter((name) => identifier[name] !== undefined).length === 1,
    "must have exactly one of regNo, tId and nin",
  ),
);

const contextText = v.optional(v.string("must be text"));

export const eligibilityCheckSchema = v.object(
  {
    identifier: identifierSchema,
    purpose: v.picklist(purposes, `must be one of ${purposes.join(", ")}`),
    context: v.optional(
      v.object(
        { examBatch: contextText, employerName: contextText, correlationId: contextText },
        "must be an object",
      ),
    ),
  },
  "must be an object",
);

export const maxBatchItems = 100;

export const batchCheckSchema = v.object(
  {
    items: v.pipe(
      v.array(eligibilityCheckSchema, "must be an array"),
      v.minLength(1, `must have 1 to ${maxBatchItems} elements`),
      v.maxLength(maxBatchItems, `must have 1 to ${maxBatchItems} elements`),
    ),
  },
  "must be a JSON object",
);

export const ninLookupSchema = v.object({ nin: ninSchema }, "must be an object");

export type EligibilityCheck = v.InferOutput<typeof eligibilityCheckSchema>;

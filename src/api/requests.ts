/**
 * The requests of callers: what the routes check. What it means is told in data/openapi.yaml, and a test holds that both
 * ask for the same. Messages say what a member must be and never repeat what it was.
 */

import * as v from "valibot";
import { holdsPersonalData } from "../domain/personal-data.ts";
import { hasHiddenCharacter } from "../domain/plain-text.ts";
import { cleanTerm, ninPattern } from "../domain/teachers/search-term.ts";
import { canonicalRegNo, maxTId } from "../domain/teachers/teachers.ts";
import { coded } from "../http/request-body.ts";
import { purposes } from "../partner/contract.ts";
import { maxRegNoLength } from "../partner/reg-no.ts";

/** An array is an object too, in JavaScript; no member of the contract is one where an object belongs. */
function jsonObject<Entries extends v.ObjectEntries>(entries: Entries, message: string) {
  return v.pipe(
    v.unknown(),
    v.check((value) => !Array.isArray(value), message),
    v.object(entries, message),
  );
}

const ninSchema = v.pipe(v.string("must be 11 digits"), v.regex(ninPattern, "must be 11 digits"));

const regNoText = v.pipe(
  v.string("must be text"),
  // Before the number is worked on.
  v.maxLength(maxRegNoLength, `must have at most ${maxRegNoLength} characters`),
);

export const regNoSchema = v.pipe(
  regNoText,
  v.check((text) => canonicalRegNo(text) !== null, "must have four segments separated by /"),
);

export const tIdSchema = v.pipe(
  v.number("must be a whole number"),
  v.integer("must be a whole number"),
  v.minValue(0, "must be a whole number"),
  v.maxValue(maxTId, "must be a whole number below 2^53"),
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

/** What names a teacher, with other members beside. */
function identifying<Entries extends v.ObjectEntries>(others: Entries) {
  return v.pipe(
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
        ...others,
      },
      "must be an object",
    ),
  );
}

const identifierSchema = identifying({});

const purposeSchema = v.picklist(purposes, coded("PURPOSE_UNKNOWN", `must be one of ${purposes.join(", ")}`));

const maxContextText = 500;
const contextText = v.optional(
  v.pipe(
    v.string("must be text"),
    v.maxLength(maxContextText, `must be text of at most ${maxContextText} characters`),
  ),
);

const requestContextSchema = jsonObject(
  {
    examBatch: contextText,
    employerName: contextText,
    correlationId: contextText,
  },
  "must be an object",
);

export const eligibilityCheckSchema = jsonObject(
  {
    identifier: identifierSchema,
    purpose: purposeSchema,
    context: v.optional(requestContextSchema),
  },
  "must be an object",
);

const maxBatchItems = 100;
const batchForm = coded("BATCH_SIZE", `must have 1 to ${maxBatchItems} elements`);

export const batchCheckSchema = jsonObject(
  {
    items: v.pipe(
      v.array(eligibilityCheckSchema, "must be an array"),
      v.minLength(1, batchForm),
      v.maxLength(maxBatchItems, batchForm),
    ),
  },
  "must be an object",
);

const maxLabel = 200;
const labelForm = `must be 1 to ${maxLabel} printable characters, in one line`;

/** What a list is called is signed and kept, so it must be nobody's number. */
const listLabelSchema = v.pipe(
  v.string("must be text"),
  v.minLength(1, labelForm),
  v.maxLength(maxLabel, labelForm),
  v.check((text) => text.trim() !== "" && !hasHiddenCharacter(text), labelForm),
  v.check((text) => !holdsPersonalData(text), "must not hold a NIN, a phone number or an e-mail address"),
);

const maxListed = 2_000;
const listedForm = coded("BATCH_SIZE", `must have 1 to ${maxListed} elements`);

export const rosterSchema = jsonObject(
  {
    purpose: purposeSchema,
    list: jsonObject({ name: listLabelSchema, reference: v.optional(listLabelSchema) }, "must be an object"),
    teachers: v.pipe(
      v.array(
        identifying({
          name: v.optional(
            v.pipe(
              v.string("must be text"),
              v.maxLength(maxLabel, `must be text of at most ${maxLabel} characters`),
            ),
          ),
        }),
        "must be an array",
      ),
      v.minLength(1, listedForm),
      v.maxLength(maxListed, listedForm),
    ),
  },
  "must be an object",
);

export const ninLookupSchema = jsonObject({ nin: ninSchema }, "must be an object");

/** The public lookup's term; what it may mean is decided in domain/teachers/search-term.ts. */
export const searchTermSchema = v.pipe(
  v.string("is required"),
  v.regex(/\S/, "is required"),
  v.transform(cleanTerm),
);

export type EligibilityCheck = v.InferOutput<typeof eligibilityCheckSchema>;

const leafHashForm = "must be 64 hexadecimal digits in lower case";

export const leafHashSchema = v.pipe(v.string(leafHashForm), v.regex(/^[0-9a-f]{64}$/, leafHashForm));

const treeSizeForm = "must be a whole number from 1 to 2^53 - 1, without leading zeros";

export const treeSizeSchema = v.pipe(
  v.number(treeSizeForm),
  v.integer(treeSizeForm),
  v.minValue(1, treeSizeForm),
  v.maxValue(Number.MAX_SAFE_INTEGER, treeSizeForm),
);

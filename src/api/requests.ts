/**
 * The schemas by which the routes check requests. A test compares them with data/openapi.yaml. A message says what a member
 * must be and never repeats the member's value, which may be a personal number.
 */

import * as v from "valibot";
import { holdsPersonalData } from "../domain/personal-data.ts";
import { hasHiddenCharacter } from "../domain/plain-text.ts";
import { cleanTerm, maxTermLength, ninPattern } from "../domain/teachers/search-term.ts";
import { canonicalizeRegNo, maxTeacherId } from "../domain/teachers/teachers.ts";
import { registerErrorCode } from "../http/request-body.ts";
import { purposes } from "../partner/contract.ts";
import { maxRegNoCharacters } from "../partner/reg-no.ts";

/** Makes a schema that refuses arrays, because valibot's `object` accepts them. */
function jsonObject<Entries extends v.ObjectEntries>(entries: Entries) {
  const message = "must be an object";
  return v.pipe(
    v.unknown(),
    v.check((value) => !Array.isArray(value), message),
    v.object(entries, message),
  );
}

const wholeNumber = (min: number, max: number, form: string, tooLarge = form) =>
  v.pipe(v.number(form), v.integer(form), v.minValue(min, form), v.maxValue(max, tooLarge));

const textOf = (max: number) =>
  v.pipe(v.string("must be text"), v.maxLength(max, `must be text of at most ${max} characters`));

function listOf<Item extends v.GenericSchema>(item: Item, max: number) {
  const form = registerErrorCode("BATCH_SIZE", `must have 1 to ${max} elements`);
  return v.pipe(v.array(item, "must be an array"), v.minLength(1, form), v.maxLength(max, form));
}

const ninSchema = v.pipe(v.string("must be 11 digits"), v.regex(ninPattern, "must be 11 digits"));

/** A registration number. The length is checked first, so that no long text reaches `canonicalizeRegNo`. */
export const regNoSchema = v.pipe(
  v.string("must be text"),
  v.maxLength(maxRegNoCharacters, `must have at most ${maxRegNoCharacters} characters`),
  v.check((text) => canonicalizeRegNo(text) !== null, "must have four segments separated by /"),
);

export const tIdSchema = wholeNumber(
  0,
  maxTeacherId,
  "must be a whole number",
  "must be a whole number below 2^53",
);

const identifierMembers = ["regNo", "tId", "nin"] as const;
const exactlyOne = "must have exactly one of regNo, tId, nin";

/** Finds which of regNo, tId and nin an identifier has. @returns null if the value is not an object */
function membersIn(identifier: unknown): readonly string[] | null {
  if (typeof identifier !== "object" || identifier === null || Array.isArray(identifier)) return null;
  return identifierMembers.filter((name) => Object.hasOwn(identifier, name));
}

/** Makes the message for an identifier with none or several of regNo, tId and nin. For `reg_no` it suggests `regNo`. */
function exactlyOneOf(identifier: unknown): string {
  const fold = (name: string) => name.replace(/[-_]/g, "").toLowerCase();
  const given = new Set(Object.keys(identifier as object).map(fold));
  const meant = identifierMembers.find((name) => given.has(fold(name)));
  const isMissing = membersIn(identifier)?.length === 0;
  return isMissing && meant !== undefined ? `${exactlyOne}; did you mean ${meant}?` : exactlyOne;
}

/** Makes the schema of an object that has exactly one of regNo, tId and nin, and the members of `others`. */
function identifying<Entries extends v.ObjectEntries>(others: Entries) {
  const members = { regNo: v.optional(regNoSchema), tId: v.optional(tIdSchema), nin: v.optional(ninSchema) };
  return v.pipe(
    v.unknown(),
    v.check(
      (identifier) => (membersIn(identifier)?.length ?? 1) === 1,
      ({ input }) => exactlyOneOf(input),
    ),
    jsonObject({ ...members, ...others }),
  );
}

const purposeSchema = v.picklist(
  purposes,
  registerErrorCode("PURPOSE_UNKNOWN", `must be one of ${purposes.join(", ")}`),
);

const contextText = v.optional(textOf(500));
const context = { examBatch: contextText, employerName: contextText, correlationId: contextText };

export const eligibilityCheckSchema = jsonObject({
  identifier: identifying({}),
  purpose: purposeSchema,
  context: v.optional(jsonObject(context)),
});

export const batchCheckSchema = jsonObject({ items: listOf(eligibilityCheckSchema, 100) });

const maxLabel = 200;
const labelForm = `must be 1 to ${maxLabel} printable characters, in one line`;

/** The name or reference of a list. The service signs and stores the text, so the text must not identify a person. */
const listLabelSchema = v.pipe(
  v.string("must be text"),
  v.minLength(1, labelForm),
  v.maxLength(maxLabel, labelForm),
  v.check((text) => text.trim() !== "" && !hasHiddenCharacter(text), labelForm),
  v.check((text) => !holdsPersonalData(text), "must not hold a NIN, a phone number or an e-mail address"),
);

export const rosterSchema = jsonObject({
  purpose: purposeSchema,
  list: jsonObject({ name: listLabelSchema, reference: v.optional(listLabelSchema) }),
  teachers: listOf(identifying({ name: v.optional(textOf(maxLabel)) }), 2_000),
});

export const ninLookupSchema = jsonObject({ nin: ninSchema });

/** The public lookup's term. domain/teachers/search-term.ts decides which identifier or contact the term is. */
export const searchTermSchema = v.pipe(
  v.string("is required"),
  v.regex(/\S/, "is required"),
  v.maxLength(maxTermLength, `must have at most ${maxTermLength} characters`),
  v.transform(cleanTerm),
);

export type EligibilityCheck = v.InferOutput<typeof eligibilityCheckSchema>;

const leafHashForm = "must be 64 hexadecimal digits in lower case";
export const leafHashSchema = v.pipe(v.string(leafHashForm), v.regex(/^[0-9a-f]{64}$/, leafHashForm));

export const treeSizeSchema = wholeNumber(
  1,
  Number.MAX_SAFE_INTEGER,
  "must be a whole number from 1 to 2^53 - 1, without leading zeros",
);

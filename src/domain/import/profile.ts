import * as v from "valibot";
import { isCalendarDate } from "../clock.ts";
import type { Teacher } from "../teachers.ts";
import { type Read, readText } from "./values.ts";

const maxEntries = 100;
const maxTextLength = 200;

/** Text of the profile obeys the rules of every other text: one line, undamaged, nothing personal. */
const line = v.pipe(
  v.string(),
  v.trim(),
  v.nonEmpty(),
  v.check((text) => "value" in readText(text, maxTextLength)),
);
const optionalLine = v.optional(v.nullable(line), null);
/** A year, a month or a day: that is how precisely people remember where they worked. */
const moment = v.pipe(
  v.string(),
  v.check(
    (text) =>
      /^\d{4}$/.test(text) ||
      (/^\d{4}-\d{2}$/.test(text) && isCalendarDate(`${text}-01`)) ||
      isCalendarDate(text),
  ),
);
const optionalMoment = v.optional(v.nullable(moment), null);
const year = v.pipe(v.number(), v.integer(), v.minValue(1900), v.maxValue(2100));

const schema = v.object({
  qualifications: v.optional(
    v.pipe(
      v.array(v.object({ title: line, institution: optionalLine, year: v.optional(v.nullable(year), null) })),
      v.maxLength(maxEntries),
    ),
    [],
  ),
  employment: v.optional(
    v.pipe(
      v.array(v.object({ employer: line, role: optionalLine, from: optionalMoment, to: optionalMoment })),
      v.maxLength(maxEntries),
    ),
    [],
  ),
});

/**
 * Reads a profile: `{qualifications: [{title, institution, year}], employment: [{employer, role, from, to}]}`.
 * Unknown members are dropped; null clears the profile.
 */
export function readProfile(value: unknown): Read<Teacher["profile"]> {
  if (value === null) return { value: null };
  const parsed = v.safeParse(schema, value);
  return parsed.success ? { value: parsed.output } : { code: "PROFILE_INVALID" };
}

import * as v from "valibot";
import {
  certificateStatuses,
  type EligibilityResult,
  licenseStatuses,
  notFoundResult,
  reasons,
  sources,
} from "../../partner/contract.ts";
import * as examples from "./examples.ts";

/**
 * The parts of a result, as the contract describes them, and how a schema is documented. The compiler holds them
 * against the types of the answers; see response-schemas.ts for the answers themselves.
 */

type Documented<Schema extends v.GenericSchema> = v.SchemaWithPipe<
  readonly [Schema, v.MetadataAction<v.InferOutput<Schema>, { description: string; examples: unknown[] }>]
>;

export function documented<Schema extends v.GenericSchema>(
  schema: Schema,
  description: string,
  ...shown: unknown[]
): Documented<Schema> {
  return v.pipe(schema, v.metadata({ description, examples: shown }));
}

export function text(description: string) {
  return v.pipe(v.string(), v.description(description));
}

export function textOrNull(description: string) {
  return v.pipe(v.nullable(v.string()), v.description(description));
}

function dateOrNull(description: string) {
  return v.pipe(v.nullable(v.pipe(v.string(), v.isoDate())), v.description(description));
}

export function time(description: string) {
  return v.pipe(v.string(), v.isoTimestamp(), v.description(description));
}

export function count(description: string) {
  return v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));
}

export function countOrNull(description: string) {
  return v.pipe(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))), v.description(description));
}

/** A value that never differs. Its type is said too: not every generator of clients reads it from the value. */
export function fixed<const Value extends string | number | boolean>(
  value: Value,
  type: string,
  description: string,
) {
  return v.pipe(v.literal(value), v.metadata({ type, description }));
}

/** A schema of its own, with what it means in this place: `lazy` becomes a `$ref`, which may have neighbours. */
export function part<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(
    v.lazy(() => schema),
    v.description(description),
  );
}

function partOrNull<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(v.nullable(schema), v.description(description));
}

export const licenseStatusSchema = documented(
  v.picklist(licenseStatuses),
  "State of a license on the day of the answer, in the service's time zone. Anything but `VALID` means not currently " +
    "licensed. A license is valid through its expiry day.",
  "VALID",
);

export const certificateStatusSchema = documented(
  v.picklist(certificateStatuses),
  "State of a certificate: `VERIFIED` by the registry, `CLAIMED` by the teacher only, known from a `LEGACY_RECORD`, or " +
    "`NOT_FOUND`.",
  "VERIFIED",
);

export const sourceSchema = documented(
  v.picklist(sources),
  "Where the record comes from: `new_system` (certified) or `legacy`.",
  "new_system",
);

export const reasonSchema = documented(
  v.picklist(reasons),
  "Why `eligible` is false. Stable words, always in this order, never reused for another meaning.",
  "LICENSE_EXPIRED",
);

export const teacherSchema = documented(
  v.object({
    name: text("Full name as registered."),
    tId: countOrNull("Numeric teacher id."),
    state: textOrNull("State of registration."),
    category: textOrNull("Category of registration."),
  }),
  "The teacher that matched.",
  examples.teacher,
);

export const licenseSchema = documented(
  v.object({
    status: licenseStatusSchema,
    issueDate: dateOrNull("First day of the license."),
    expiryDate: dateOrNull("Last day of the license."),
    daysRemaining: countOrNull(
      "Calendar days to the expiry day, 0 on that day and after it; null unless the status is `VALID` or `EXPIRED`.",
    ),
  }),
  "A license. Whoever never had one, or is deactivated, has `NOT_FOUND` and nulls; one that starts later has " +
    "`NOT_FOUND` and its dates.",
  examples.license,
);

export const certificateSchema = documented(
  v.object({
    status: certificateStatusSchema,
    regNo: textOrNull("Canonical registration number: the stable identifier of a teacher."),
    issueDate: dateOrNull("Day of issue."),
  }),
  "A certificate.",
  examples.certificate,
);

export const qualificationSchema = documented(
  v.object({
    title: text("Title of the qualification."),
    institution: textOrNull("Who awarded it."),
    year: v.pipe(v.nullable(v.pipe(v.number(), v.integer())), v.description("Year of the award.")),
  }),
  "A qualification.",
  examples.qualification,
);

export const employmentSchema = documented(
  v.object({
    employer: text("Name of the employer."),
    role: textOrNull("What the teacher did there."),
    from: textOrNull("Begin, as registered."),
    to: textOrNull("End, as registered; null while it lasts or when unknown."),
  }),
  "An employment.",
  examples.employment,
);

export const profileSchema = documented(
  v.object({
    ninVerified: v.pipe(
      v.boolean(),
      v.description(
        "Whether the national identification number was verified. The number itself is never present.",
      ),
    ),
    qualifications: v.pipe(v.array(qualificationSchema), v.description("Empty when none is known.")),
    employment: v.pipe(v.array(employmentSchema), v.description("Empty when none is known.")),
  }),
  "What else the registry knows, for records of the new system only.",
  examples.profile,
);

export const eligibilityResultSchema = documented(
  v.object({
    found: v.pipe(
      v.boolean(),
      v.description("Whether a teacher matched. When false, the nullable members are null."),
    ),
    source: partOrNull(sourceSchema, "Where the record comes from."),
    status: part(licenseStatusSchema, "Status of the license; `NOT_FOUND` when nobody matched."),
    eligible: v.pipe(
      v.boolean(),
      v.description(
        "The verdict for the stated purpose. Lookups are judged by `GENERAL_PUBLIC_VERIFICATION`.",
      ),
    ),
    reasons: v.pipe(
      v.array(reasonSchema),
      v.description("Every reason for a false `eligible`; empty when true."),
    ),
    teacher: partOrNull(teacherSchema, "Null when nobody matched."),
    license: partOrNull(licenseSchema, "Null when nobody matched."),
    certificate: partOrNull(certificateSchema, "Null when nobody matched."),
    profile: partOrNull(profileSchema, "Null for legacy records and when nobody matched."),
  }),
  "The result of one check or lookup. A lookup that matches nobody is a successful call with `found` false.",
  examples.eligibleResult,
  examples.expiredResult,
  notFoundResult,
) satisfies v.GenericSchema<unknown, EligibilityResult>;

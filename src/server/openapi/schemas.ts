import { type JsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import type * as v from "valibot";
import * as meanings from "../../partner/meanings.ts";
import { requestSchemas } from "../requests.ts";
import * as responses from "./response-schemas.ts";
import * as results from "./result-schemas.ts";

/** The reusable schemas of the document by their published names. */
export const publishedSchemas = {
  ...requestSchemas,
  SignedEnvelope: responses.signedEnvelopeSchema,
  BatchResponse: responses.batchResponseSchema,
  EligibilityResult: results.eligibilityResultSchema,
  Reason: results.reasonSchema,
  Source: results.sourceSchema,
  LicenseStatus: results.licenseStatusSchema,
  CertificateStatus: results.certificateStatusSchema,
  Teacher: results.teacherSchema,
  License: results.licenseSchema,
  Certificate: results.certificateSchema,
  Profile: results.profileSchema,
  Qualification: results.qualificationSchema,
  Employment: results.employmentSchema,
  PublicLookup: responses.publicLookupSchema,
  PublicLookupFound: responses.publicFoundSchema,
  PublicLookupNotFound: responses.publicNotFoundSchema,
  PublicTeacher: responses.publicTeacherSchema,
  PublicLicense: responses.publicLicenseSchema,
  SummaryStatus: responses.summaryStatusSchema,
  Jwks: responses.jwksSchema,
  Jwk: responses.jwkSchema,
  KeyHistory: responses.keyHistorySchema,
  LogInclusion: responses.logInclusionSchema,
  LogConsistency: responses.logConsistencySchema,
  Health: responses.healthSchema,
  Error: responses.errorSchema,
  RateLimitError: responses.rateLimitErrorSchema,
  WebhookEvent: responses.webhookEventSchema,
  EventType: responses.eventTypeSchema,
} as const satisfies Record<string, v.GenericSchema>;

export type SchemaName = keyof typeof publishedSchemas;

/** The sentence of each word, of the schemas that are lists of words. */
const wordMeanings: Readonly<Partial<Record<SchemaName, Readonly<Record<string, string>>>>> = {
  VerificationPurpose: meanings.purposeMeanings,
  Reason: meanings.reasonMeanings,
  Source: meanings.sourceMeanings,
  LicenseStatus: meanings.licenseStatusMeanings,
  CertificateStatus: meanings.certificateStatusMeanings,
  SummaryStatus: responses.summaryMeanings,
  EventType: meanings.eventMeanings,
};

/** A reference to one of the published schemas. */
export function schemaRef(name: SchemaName): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The published schemas as JSON Schema 2020-12, which is what OpenAPI 3.1 takes.
 *
 * @throws Error for a valibot action that JSON Schema cannot say, so that none is lost unnoticed; those that are
 *   ignored on purpose are said by a `metadata` action beside them
 */
export function jsonSchemas(): Record<string, JsonSchema & { "x-enumDescriptions"?: object }> {
  const schemas = toJsonSchemaDefs(publishedSchemas, {
    target: "draft-2020-12",
    // An object is checked not to be an array before it is read as one; the schema is the part after that.
    typeMode: "output",
    ignoreActions: ["check", "trim"],
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      valibotSchema.type === "nullable" ? nullable(jsonSchema) : null,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const words = wordMeanings[name as SchemaName];
      // The name under which Redoc and others look for it; JSON Schema has none.
      return [name, words === undefined ? schema : { ...schema, "x-enumDescriptions": words }];
    }),
  );
}

/** Writes "text or null" as two types of one schema, which generators of clients understand best. */
function nullable(jsonSchema: JsonSchema): JsonSchema {
  const [inner] = jsonSchema.anyOf ?? [];
  if (typeof inner !== "object" || typeof inner.type !== "string" || inner.enum !== undefined)
    return jsonSchema;
  return { ...inner, type: [inner.type, "null"] };
}

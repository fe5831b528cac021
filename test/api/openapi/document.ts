import { Ajv2020 } from "ajv/dist/2020.js";
import { buildOpenApiDocument } from "../../../src/api/openapi.ts";

/** The published document. Ajv, which the program does not use, validates values by its schemas. */
export const document = buildOpenApiDocument("https://verify.example.gov");

const options = {
  strict: false,
  allErrors: true,
  formats: {
    date: /^\d{4}-\d{2}-\d{2}$/,
    "date-time": (text: string) =>
      /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text) && !Number.isNaN(Date.parse(text)),
    uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  },
};
const ajv = new Ajv2020(options);
ajv.addSchema(document, "openapi", false, false);

/** A stricter validator, which refuses members that the document does not name. */
const closed = new Ajv2020(options);
closed.addSchema(
  JSON.parse(JSON.stringify(document), (_name, part) =>
    typeof part?.properties === "object" ? { ...part, additionalProperties: false } : part,
  ),
  "openapi",
  false,
  false,
);

/** Returns the part of the document to which a JSON pointer such as `#/components/schemas/Error` leads. */
export function resolve(pointer: string): unknown {
  const steps = pointer.split("/").slice(1);
  return steps.reduce<unknown>(
    (value, step) => (value as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/")],
    document,
  );
}

export const schemaNames: readonly string[] = Object.keys(resolve("#/components/schemas") as object);

/** Returns the errors of a value by a published schema; empty if the value is valid. */
export function validationErrors(name: string, value: unknown): string[] {
  return errorsBy(ajv, name, value);
}

/** Returns the errors of an answer by a published schema. A member that the schema does not name is an error. */
export function answerErrors(name: string, value: unknown): string[] {
  return errorsBy(closed, name, value);
}

function errorsBy(validator: Ajv2020, name: string, value: unknown): string[] {
  const id = `openapi#/components/schemas/${name}`;
  // Ajv compiles a schema at its first use and caches the result.
  const validate = validator.getSchema(id);
  if (validate === undefined) throw new Error(`the document has no schema ${name}`);
  return validate(value)
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

export function isValid(name: string, value: unknown): boolean {
  return validationErrors(name, value).length === 0;
}

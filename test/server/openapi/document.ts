import { Ajv2020 } from "ajv/dist/2020.js";
import { openApiDocument } from "../../../src/server/openapi/document.ts";

/** The document as it is published, and a JSON Schema validator over it that shares no code with ours. */
export const document = JSON.parse(
  JSON.stringify(openApiDocument("https://verify.example.gov")),
) as ReturnType<typeof openApiDocument>;

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  formats: {
    date: /^\d{4}-\d{2}-\d{2}$/,
    "date-time": (text: string) =>
      /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(text) && !Number.isNaN(Date.parse(text)),
    uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  },
});
ajv.addSchema(document, "openapi", false, false);

/** What a JSON pointer names, such as `#/components/schemas/Error`. */
export function resolve(pointer: string): unknown {
  const steps = pointer.split("/").slice(1);
  return steps.reduce<unknown>(
    (value, step) => (value as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/")],
    document,
  );
}

export const schemaNames: readonly string[] = Object.keys(resolve("#/components/schemas") as object);

/** Compiling a schema takes longer than any check by it. */
const validators = new Map<string, ReturnType<typeof ajv.compile>>();

/** What is wrong with a value by a published schema; nothing when it is valid. */
export function validationErrors(name: string, value: unknown): string[] {
  const validate = validators.get(name) ?? ajv.compile({ $ref: `openapi#/components/schemas/${name}` });
  validators.set(name, validate);
  return validate(value)
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

export function isValid(name: string, value: unknown): boolean {
  return validationErrors(name, value).length === 0;
}

/**
 * Makes the OpenAPI document as JSON, and TypeScript types of its schemas for `src/partner`. The generator
 * openapi-typescript needs another compiler, and cannot express "exactly one of these members".
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { projectFolder } from "./build.ts";

type Schema = {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: string | number | boolean;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
};

type Schemas = Readonly<Record<string, object>>;

const scalars: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

const prefix = "#/components/schemas/";
const partner = join(projectFolder, "src/partner");

/** The schemas of enumerations, with the names of their types in `contract.ts`, which also has their values. */
const enumerations: Readonly<Record<string, string>> = {
  CertificateStatus: "CertificateStatus",
  EventType: "EventType",
  LicenseStatus: "LicenseStatus",
  Reason: "Reason",
  Source: "TeacherSource",
  VerificationPurpose: "Purpose",
};

export const typesFile = join(partner, "api-types.ts");

type Json = { readonly [member: string]: unknown };
type Answer = {
  readonly "x-error-codes"?: readonly string[];
  readonly description: string;
  readonly headers?: Json;
  readonly content?: Json;
};
type OpenApiDocument = Json & {
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>;
    readonly responses: Readonly<Record<string, Answer>>;
  };
};

/** Reads data/openapi.yaml. Its examples use more aliases than the parser allows by default. */
function readDocument(): OpenApiDocument {
  return parse(readFileSync(join(projectFolder, "data/openapi.yaml"), "utf8"), { maxAliasCount: -1 });
}

/**
 * Makes the document as JSON. Adds what the YAML file does not repeat: the meanings of the codes, the headers and the
 * problem details of every error, and the standard rate-limit headers.
 */
export function openApiJson(): string {
  const document = readDocument();
  const { components } = document;
  const errorCodes: Readonly<Record<string, { meaning: string; remedy: string }>> = JSON.parse(
    readFileSync(join(partner, "error-codes.json"), "utf8"),
  );
  const names = Object.keys(errorCodes);
  const meanings = Object.entries(errorCodes).map(([code, { meaning, remedy }]) => [
    code,
    `${meaning} ${remedy}`,
  ]);
  const list = {
    enum: names,
    examples: names.slice(0, 1),
    "x-enumDescriptions": Object.fromEntries(meanings),
  };
  const answers = Object.entries(components.responses).map(([name, answer]) => [name, completed(answer)]);
  const schemas = { ...components.schemas, ErrorCode: { ...components.schemas.ErrorCode, ...list } };
  const all = { ...components, schemas, responses: Object.fromEntries(answers) };
  return JSON.stringify({ ...document, components: all });
}

function completed(answer: Answer): Answer {
  const { "x-error-codes": codes = [], headers = {}, content, description } = answer;
  const added = [
    ...("X-RateLimit-Limit" in headers ? ["RateLimit", "RateLimit-Policy"] : []),
    ...(codes.length > 0 ? ["X-Error-Code", "Link"] : []),
  ].map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  const all = { ...answer, headers: { ...headers, ...Object.fromEntries(added) } };
  if (codes.length === 0 || content === undefined) return all;
  const problem = { schema: { $ref: "#/components/schemas/Problem" } };
  return {
    ...all,
    description: `${description} ${codes.map((code) => `\`${code}\``).join(", ")}.`,
    content: { ...content, "application/problem+json": problem },
  };
}

/** Writes the types that `partner.ts` and `contract.ts` take from the document. */
export function apiTypes(): string {
  const { components } = readDocument();
  const names = ["partner.ts", "contract.ts"].flatMap((file) => {
    const text = readFileSync(join(partner, file), "utf8");
    const [, list = ""] = /export type \{([^}]*)\} from "\.\/api-types\.ts"/.exec(text) ?? [];
    return list.match(/(?<=^\s*)\w+/gm) ?? [];
  });
  const types = schemaTypes(components.schemas, names, enumerations);
  return `/** Types of requests and answers, made from data/openapi.yaml. */

import type { ${Object.values(enumerations).join(", ")} } from "./contract.ts";

${types}`;
}

/**
 * Writes the types of some schemas and of all schemas that they refer to.
 * @param known types that another file has, by the name of the schema
 */
export function schemaTypes(
  schemas: Schemas,
  roots: readonly string[],
  known: Readonly<Record<string, string>> = {},
): string {
  const written = new Map<string, string>();
  const open = [...roots];
  const refer = (name: string): string => {
    if (known[name] !== undefined) return known[name];
    open.push(name);
    return name;
  };
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    if (written.has(name)) continue;
    const schema = schemas[name] as Schema | undefined;
    if (schema === undefined) throw new Error(`the OpenAPI document has no schema ${name}`);
    written.set(name, "");
    written.set(name, `${remark(schema)}export type ${name} = ${typeOf(schema, refer)};\n`);
  }
  return [...written.values()].join("\n");
}

function remark({ description }: Schema): string {
  return description === undefined ? "" : `/** ${description.trim().replace(/\s+/g, " ")} */\n`;
}

type Refer = (name: string) => string;

/** Writes a type. @throws Error if the schema is not supported: a type must not allow more than its schema */
function typeOf(schema: Schema, refer: Refer): string {
  const { $ref, type, properties, items, anyOf, oneOf } = schema;
  if ($ref?.startsWith(prefix)) return refer($ref.slice(prefix.length));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (properties !== undefined) return objectType(schema, refer);
  const union = anyOf ?? oneOf;
  if (union !== undefined) return union.map((one) => typeOf(one, refer)).join(" | ");
  if (type === "array" && items !== undefined)
    return `(${typeOf(items, refer)})[]`.replace(/^\((\w+)\)/, "$1");
  const types = [type ?? []].flat().map((one) => scalars[one]);
  if (types.length === 0 || types.includes(undefined))
    throw new Error(`no type is known for the schema ${JSON.stringify(schema)}`);
  return types.join(" | ");
}

/** Writes the type of an object: a union of types if exactly one of some members is required. */
function objectType({ properties = {}, required = [], oneOf }: Schema, refer: Refer): string {
  const names = Object.keys(properties);
  const write = (one: (name: string) => string) =>
    `{\n${names.map((name) => `${one(name)};\n`).join("")}}`.replace(/\n(?=.)(?!\}$)/g, "\n  ");
  const member = (name: string, isRequired: boolean) => {
    const schema = properties[name] ?? {};
    return `${remark(schema).replace("\n", " ")}${name}${isRequired ? "" : "?"}: ${typeOf(schema, refer)}`;
  };
  if (oneOf === undefined) return write((name) => member(name, required.includes(name)));
  const choices = oneOf.map((choice) => choice.required?.[0]);
  return choices
    .map((chosen) =>
      write((name) =>
        name === chosen || !choices.includes(name)
          ? member(name, name === chosen || required.includes(name))
          : `${name}?: never`,
      ),
    )
    .join(" | ");
}

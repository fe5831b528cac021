/**
 * The types of what the partner's client sends and gets, from the OpenAPI document (decision D14.1): so that what a
 * partner's compiler holds to is what the service answers by. No generator of good standing fits: openapi-typescript
 * needs a compiler that this project does not use, and knows no "exactly one of these members".
 */

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: string | number | boolean;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly description?: string;
};

export type Schemas = Readonly<Record<string, object>>;

/** Names of schemas, and what `src/partner/contract.ts` calls them. */
export const ofContract: Readonly<Record<string, string>> = {
  Certificate: "Certificate",
  EligibilityResult: "EligibilityResult",
  SignedEnvelope: "SignedEnvelope",
  VerificationPurpose: "Purpose",
};

const scalars: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

const prefix = "#/components/schemas/";

/** The types of some schemas and of all that they refer to, but for those that have a name already. */
export function apiTypes(
  schemas: Schemas,
  roots: readonly string[],
  known: Readonly<Record<string, string>>,
): string {
  const used = new Set<string>();
  const written = new Map<string, string>();
  const open = [...roots];
  const refer = (name: string): string => {
    const other = Object.hasOwn(known, name) ? known[name] : undefined;
    if (other !== undefined) used.add(other);
    else if (!written.has(name)) open.push(name);
    return other ?? name;
  };
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    if (written.has(name)) continue;
    const schema = schemas[name] as Schema | undefined;
    if (schema === undefined) throw new Error(`the OpenAPI document has no schema ${name}`);
    written.set(name, "");
    written.set(name, `${comment(schema)}export type ${name} = ${typeOf(schema, refer)};\n`);
  }
  const names = [...used].sort().join(", ");
  const imports = names === "" ? "" : `import type { ${names} } from "./contract.ts";\n\n`;
  return imports + [...written.values()].join("\n");
}

function comment({ description }: Schema, indent = ""): string {
  return description === undefined ? "" : `${indent}/** ${description.replaceAll("*/", "*\\/")} */\n`;
}

type Refer = (name: string) => string;

/** @throws Error for what no type is known for: a schema must not turn into a type that says less than it does */
function typeOf(schema: Schema, refer: Refer): string {
  const { $ref, type, properties, items, anyOf, oneOf } = schema;
  if ($ref?.startsWith(prefix)) return refer($ref.slice(prefix.length));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (properties !== undefined) return objectType(schema, refer);
  const union = anyOf ?? oneOf;
  if (union !== undefined) return union.map((one) => typeOf(one, refer)).join(" | ");
  if (type === "array" && items !== undefined) return `(${typeOf(items, refer)})[]`;
  const types = [type ?? []].flat().map((one) => scalars[one]);
  if (types.length === 0 || types.includes(undefined))
    throw new Error(`no type is known for the schema ${JSON.stringify(schema)}`);
  return types.join(" | ");
}

/** An object; where exactly one of its members must be there, one type for each of them. */
function objectType({ properties = {}, required = [], oneOf }: Schema, refer: Refer): string {
  const names = Object.keys(properties);
  const write = (one: (name: string) => string) => `{\n${names.map(one).join("")}}`;
  const member = (name: string, isRequired: boolean) => {
    const schema = properties[name] ?? {};
    return `${comment(schema, "  ")}  ${name}${isRequired ? "" : "?"}: ${typeOf(schema, refer)};\n`;
  };
  if (oneOf === undefined) return write((name) => member(name, required.includes(name)));
  const choices = oneOf.map((choice) => choice.required?.[0]);
  return choices
    .map((chosen) => write((name) => (name === chosen ? member(name, true) : `  ${name}?: never;\n`)))
    .join(" | ");
}

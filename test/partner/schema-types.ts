/**
 * TypeScript of the OpenAPI document's schemas, so that a compiler can hold the partner's types to them. No generator of
 * good standing fits: openapi-typescript needs a compiler that this project does not use, and knows no "exactly one of
 * these members".
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
};

export type Schemas = Readonly<Record<string, object>>;

const scalars: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

const prefix = "#/components/schemas/";

/** The types of some schemas and of all that they refer to. */
export function schemaTypes(schemas: Schemas, roots: readonly string[]): string {
  const written = new Map<string, string>();
  const open = [...roots];
  const refer = (name: string): string => {
    open.push(name);
    return name;
  };
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    if (written.has(name)) continue;
    const schema = schemas[name] as Schema | undefined;
    if (schema === undefined) throw new Error(`the OpenAPI document has no schema ${name}`);
    written.set(name, "");
    written.set(name, `export type ${name} = ${typeOf(schema, refer)};\n`);
  }
  return [...written.values()].join("\n");
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
  const write = (one: (name: string) => string) => `{ ${names.map(one).join("; ")} }`;
  const member = (name: string, isRequired: boolean) =>
    `${name}${isRequired ? "" : "?"}: ${typeOf(properties[name] ?? {}, refer)}`;
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

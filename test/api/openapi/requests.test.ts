import { expect, test } from "bun:test";
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import * as requests from "../../../src/api/requests.ts";
import { resolve } from "./document.ts";

/** The routes' schemas by their names in the document. The schemas of their members are compared with them. */
const schemas: [name: string, schema: v.GenericSchema][] = [
  ["EligibilityCheckRequest", requests.eligibilityCheckSchema],
  ["BatchCheckRequest", requests.batchCheckSchema],
  ["RosterRequest", requests.rosterSchema],
  ["NinLookupRequest", requests.ninLookupSchema],
  ["RegNo", requests.regNoSchema],
  ["TId", requests.tIdSchema],
  ["SearchTerm", requests.searchTermSchema],
  ["LeafHash", requests.leafHashSchema],
  ["TreeSize", requests.treeSizeSchema],
];

/** Rules of the document that the routes check in code. Other tests send requests that break these rules. */
const exactlyOne = { oneOf: [{ required: ["regNo"] }, { required: ["tId"] }, { required: ["nin"] }] };
const filterInWords = {
  RegNo: { pattern: "^[^/]+/[^/]+/[^/]+/[^/]+$" },
  Identifier: exactlyOne,
  ListedTeacher: exactlyOne,
};

type Json = { readonly [member: string]: unknown };

/** Resolves a schema's references, and removes its descriptions and examples. */
function rulesOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rulesOf);
  if (typeof schema !== "object" || schema === null) return schema;
  const { $ref, description: _, examples: _shown, "x-enumDescriptions": _words, ...rules } = schema as Json;
  if (typeof $ref === "string") return rulesOf(withoutWords($ref));
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, rulesOf(rule)]));
}

function withoutWords($ref: string): Json {
  const schema = resolve($ref) as Json;
  const words: Json = filterInWords[/\w+$/.exec($ref)?.[0] as keyof typeof filterInWords] ?? {};
  for (const [name, value] of Object.entries(words)) expect(schema[name]).toEqual(value);
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !(name in words)));
}

test.each(schemas)("the OpenAPI schema %s equals the schema that the routes use", (name, schema) => {
  const { $schema: _, ...checked } = toJsonSchema(schema, {
    target: "draft-2020-12",
    // The first step of an object's schema only refuses arrays. This mode converts the last step.
    typeMode: "output",
    ignoreActions: ["check", "trim", "transform"],
  });
  expect(rulesOf({ $ref: `#/components/schemas/${name}` })).toEqual(checked as Json);
});

test("every request schema of the routes is compared with the OpenAPI document", () => {
  const listed = schemas.map(([, schema]) => schema);
  const isMissing = ([, schema]: [string, v.GenericSchema]) => !listed.includes(schema);
  expect(Object.entries(requests).filter(isMissing)).toEqual([]);
});

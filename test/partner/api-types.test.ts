import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiTypes, contractTypes, type Schemas, schemaTypes, typesFile } from "../../.ci/schema-types.ts";
import { buildOpenApiDocument } from "../../src/api/openapi.ts";
import { withTempDir } from "../harness/folder.ts";

const root = join(import.meta.dir, "../..");
const partner = join(root, "src/partner");

/** What the compiler has to say about a file; nothing when all is well. */
function complaints(file: string): string {
  const strictness = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--allowImportingTsExtensions"];
  const kind = ["--ignoreConfig", "--types", "", "--lib", "ES2022,DOM", "--module", "nodenext"];
  try {
    return execFileSync(
      "node",
      [join(root, "node_modules/typescript/bin/tsc"), ...kind, ...strictness, file],
      { encoding: "utf8" },
    );
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

test("the committed types of the client equal those generated from the OpenAPI document", () => {
  expect(readFileSync(typesFile, "utf8")).toBe(apiTypes());
});

test("the types of the contract equal those of the OpenAPI document", async () => {
  const { schemas } = buildOpenApiDocument("https://teachers.example").components as { schemas: Schemas };
  const pairs = Object.entries(contractTypes).map(([name, own]) => [name, `Contract.${own}`]);
  const imports = [
    'import type * as Of from "./document.ts";',
    `import type * as Contract from ${JSON.stringify(join(partner, "contract.ts"))};`,
  ];
  const lines = pairs.map(
    ([name, own]) =>
      `export const ${name}: [(one: Of.${name}) => ${own}, (one: ${own}) => Of.${name}] = [(one) => one, (one) => one];`,
  );
  await withTempDir(async (folder) => {
    const names = pairs.map(([name = ""]) => name);
    writeFileSync(join(folder, "document.ts"), schemaTypes(schemas, names));
    writeFileSync(join(folder, "same.ts"), [...imports, ...lines].join("\n"));
    expect(complaints(join(folder, "same.ts"))).toBe("");
  });
});

test("the type generator refuses a schema without a known type", () => {
  expect(() => schemaTypes({ One: { title: "?" } }, ["One"])).toThrow("no type is known");
  expect(() => schemaTypes({}, ["One"])).toThrow("no schema One");
});

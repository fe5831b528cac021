import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiTypes, ofContract, type Schemas } from "../../../cli/build/api-types.ts";
import {
  declarationsFile,
  moduleFile,
  partnerDeclarations,
  partnerModule,
  partnerTypes,
  typesFile,
} from "../../../cli/build/partner-module.ts";
import { openApiDocument } from "../../../src/api/openapi.ts";
import { withTempDir } from "../../harness/folder.ts";

const compiler = join(import.meta.dir, "../../../node_modules/typescript/bin/tsc");

/** What the compiler has to say about files; nothing when all is well. */
function complaints(files: readonly string[], options: readonly string[] = []): string {
  const base = ["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--types", ""];
  const words = [compiler, ...base, "--lib", "ES2022,DOM", "--module", "nodenext", ...options, ...files];
  try {
    return execFileSync("node", words, { encoding: "utf8" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** What partners fetch would say other things than the source. To mend it: npm run bundle */
test("the module, its declarations and its types are made from the source as it is", async () => {
  const stale = [
    [typesFile, partnerTypes()],
    [moduleFile, await partnerModule()],
    [declarationsFile, await partnerDeclarations()],
  ].filter(([file = "", fresh]) => readFileSync(file, "utf8") !== fresh);
  expect(stale.map(([file]) => `${file} is stale: npm run bundle`)).toEqual([]);
});

test("the contract's own types are those of the OpenAPI document", async () => {
  const { schemas } = openApiDocument("https://teachers.example").components as { schemas: Schemas };
  const names = [...Object.keys(ofContract), "WebhookEvent"];
  await withTempDir(async (folder) => {
    writeFileSync(join(folder, "document.ts"), apiTypes(schemas, names, {}));
    const contract = join(import.meta.dir, "../../../src/partner/contract.ts");
    const lines = names.map((name) => {
      const own = ofContract[name] ?? name;
      return `const ${name}: [(one: Of.${name}) => Our.${own}, (one: Our.${own}) => Of.${name}] = [(one) => one, (one) => one];`;
    });
    writeFileSync(
      join(folder, "same.ts"),
      `import type * as Of from "./document.ts";\nimport type * as Our from ${JSON.stringify(contract)};\n${lines.join("\n")}\nconsole.log(${names.join(", ")});\n`,
    );
    expect(complaints([join(folder, "same.ts")], ["--allowImportingTsExtensions"])).toBe("");
  });
});

test("a schema that no type is known for is not passed over", () => {
  expect(() => apiTypes({ One: { description: "?" } }, ["One"], {})).toThrow("no type is known");
  expect(() => apiTypes({}, ["One"], {})).toThrow("no schema One");
});

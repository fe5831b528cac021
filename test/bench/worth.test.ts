import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "../../.ci/build.ts";
import { mechanisms, without } from "./worth.ts";

test.each(mechanisms)("the program can be built without $name", (mechanism) => {
  const text = readFileSync(join(projectFolder, mechanism.file), "utf8");
  expect(without(mechanism, text)).toContain(mechanism.to);
  expect(() => without(mechanism, without(mechanism, text))).toThrow("as worth.ts knows it");
});

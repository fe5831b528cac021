import { beforeAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as examples from "../../api/openapi/examples.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { run, settings } from "./verify-run.ts";

const folder = sharedFolder();
const file = join(folder, "statement.json");
const { statement } = examples;

beforeAll(() => writeFile(file, JSON.stringify(statement)));

test("tvs verify says of a statement how many it speaks of, and what of each row", async () => {
  const { code, stdout } = await run([file, ...settings]);
  expect(code).toBe(0);
  const people = "of the 2 named by the list, 2 different people; 1 of them eligible (50 %)";
  expect(stdout).toContain(`Statement on 1 March 2026: ${people}`);
  expect(stdout).toContain("Government College, Ikorodu, CENTRE-4711");
  expect(stdout).toMatch(/row 2 +999999, NOT_FOUND, not eligible, TEACHER_NOT_FOUND/);
  const { objects } = await run([file, "--json", ...settings]);
  const { rows, summary } = statement;
  expect(objects).toMatchObject([
    { valid: true, verificationId: statement.statementId, statement: { rows, summary } },
  ]);
});

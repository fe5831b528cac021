import { beforeAll, describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as examples from "../../api/openapi/examples.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { input, run, settings } from "./verify-run.ts";

const folder = sharedFolder();
const file = join(folder, "statement.json");
const { statement } = examples;

beforeAll(() => writeFile(file, JSON.stringify(statement)));

describe("tvs verify", () => {
  test("says of a statement how many it speaks of, and what of each row", async () => {
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

  test("writes one row alone, and judges that without the others", async () => {
    const out = join(folder, "row.json");
    expect(await run([file, "--row", "1", "--out", out, ...settings])).toMatchObject({ code: 0 });
    expect(await readFile(out, "utf8")).not.toContain("999999");
    const { code, stdout } = await run([out, ...settings]);
    expect(code).toBe(0);
    expect(stdout).toContain("Row 1 of the 2 on a list, on 1 March 2026: VALID, eligible");
    const changed = (await readFile(out, "utf8")).replace("TR/2019/LA/000001", "TR/2019/LA/000002");
    const { code: refused, objects } = await run(["-", "--json", ...settings], { stdin: changed });
    expect([refused, objects[0]?.reason]).toEqual([1, "ROWS_DIFFER"]);
  });

  test("writes no row of what is not valid, not there or no statement", async () => {
    const out = join(folder, "none.json");
    const row = (n: string, ...paths: string[]) => run([...paths, "--row", n, "--out", out, ...settings]);
    expect(await row("3", file)).toMatchObject({ code: 2, stderr: expect.stringContaining("no such row") });
    expect(await row("1", input("valid.json"))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no valid statement"),
    });
    expect(await run([file, "--row", "1", ...settings])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--out"),
    });
    const forged = join(folder, "forged.json");
    await writeFile(forged, JSON.stringify({ ...statement, rows: statement.rows.slice(1) }));
    expect((await row("1", forged)).code).toBe(1);
    expect(await Bun.file(out).exists()).toBe(false);
  });
});

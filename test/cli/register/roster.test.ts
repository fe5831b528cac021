import { beforeAll, expect, test } from "bun:test";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SignedStatement } from "../../../src/partner/contract.ts";
import { createKeySet } from "../../../src/partner/key-set.ts";
import { verifyStatement } from "../../../src/partner/verify-statement.ts";
import { runJson, runTvs, runWell } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { aTeacherWrite } from "../../harness/samples.ts";
import { withTestContext } from "../../harness/service.ts";

const nin = "31415926535";
const outDir = sharedFolder();
const dataDir = join(outDir, "data");

beforeAll(() =>
  withTestContext(dataDir, async ({ stores: { teachers }, blindIndex }) => {
    await teachers.apply([
      aTeacherWrite("A/B/C/1", { tId: 11, name: "=Ada, the First" }),
      aTeacherWrite("A/B/C/2", { tId: 12, ninIndex: blindIndex.nin(nin), certificateStatus: "CLAIMED" }),
      aTeacherWrite("A/B/C/3", { tId: 13, licenseExpiryDate: "2021-01-01" }),
      aTeacherWrite("A/B/D/1", { tId: 7, name: "Ngozi Bello", ninIndex: blindIndex.nin("12345678901") }),
    ]);
  }),
);

const purpose = ["--purpose", "SCHOOL_EMPLOYMENT_VERIFICATION"];

async function roster(csv: string | Uint8Array, ...flags: string[]) {
  return runTvs(["roster", "-", ...purpose, ...flags], { dataDir, stdin: csv });
}

async function rows(csv: string | Uint8Array) {
  const { code, stdout } = await roster(csv, "--json");
  return { code, ...JSON.parse(stdout) };
}

test("tvs roster finds each teacher by the first filled column: registration number, teacher id or NIN", async () => {
  const csv = `name,NIN,t_id,reg_no\n,,,a/b/c/1\n,,11,\n,${nin},,\n,31415926536,11,A/B/C/1\n,,13,\n,,99,\n`;
  const answer = await rows(csv);
  const counts = { rows: 6, eligible: 3, percentage: 50 };
  expect(answer).toMatchObject({ code: 1, file: "-", purpose: purpose[1], ...counts });
  const ada = { regNo: "A/B/C/1", tId: 11, found: true, status: "VALID", eligible: true };
  expect(answer.results).toMatchObject([
    { line: 2, ...ada, name: "=Ada, the First", reasons: [], error: null },
    { line: 3, ...ada },
    { line: 4, regNo: "A/B/C/2", tId: 12, eligible: false, reasons: ["CERTIFICATE_CLAIMED"] },
    { line: 5, ...ada },
    { line: 6, status: "EXPIRED", eligible: false, reasons: ["LICENSE_EXPIRED"] },
    { line: 7, regNo: null, tId: 99, status: "NOT_FOUND", reasons: ["TEACHER_NOT_FOUND"], name: null },
  ]);
});

test("tvs roster prints a table and a summary, and exits with 0 if every listed teacher is eligible", async () => {
  const { code, stdout } = await roster("\uFEFFreg_no\r\nA/B/C/1\r\n\r\nA/B/C/1\r\n");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^2 +A\/B\/C\/1 +11 +=Ada, the First +VALID +yes +-$/m);
  expect(stdout).toContain("2 of 2 eligible for SCHOOL_EMPLOYMENT_VERIFICATION (100 %)");
});

test("tvs roster reports IDENTIFIERS_DISAGREE for a row whose identifiers belong to different teachers", async () => {
  const csv = `reg_no,t_id,nin\nA/B/C/1,13,\nA/B/C/1,,${nin}\nX/Y/Z/1,11,\nA/B/C/2,12,${nin}\n`;
  const { results, eligible } = await rows(csv);
  const refused = { eligible: false, found: false, name: null, regNo: null, error: "IDENTIFIERS_DISAGREE" };
  expect(eligible).toBe(0);
  expect(results).toMatchObject([refused, refused, refused, { regNo: "A/B/C/2", error: null }]);
});

test("tvs roster reports a teacher who is listed under another name as not eligible (NAME_DIFFERS)", async () => {
  const csv = "reg_no,name\nA/B/C/1,Ada the First\nA/B/C/1,Chidi Okeke\nA/B/C/1,\n";
  const { results, eligible } = await rows(csv);
  expect(eligible).toBe(2);
  expect(results).toMatchObject([
    { eligible: true, status: "VALID", reasons: [] },
    { eligible: false, status: "VALID", reasons: ["NAME_DIFFERS"] },
    { eligible: true, nameMatches: null },
  ]);
  const out = join(outDir, "names.csv");
  expect((await roster(csv)).stdout).toMatch(/^3 +A\/B\/C\/1 .* DIFFERS +VALID +no/m);
  await roster(csv, "--out", out);
  const columns = (await readFile(out, "utf8")).split("\n").map((line) => line.split(",").at(-1));
  expect(columns).toEqual(["name_matches", "true", "false", "", ""]);
  expect(await runJson<object[]>(["attestations", "list"], { dataDir })).toEqual([]);
});

test("tvs roster reports a row without a usable identifier by an error code, and no output has a NIN", async () => {
  const csv = [
    "reg_no,t_id,nin",
    ",,2.3E+10",
    ",,1234567890",
    ",1.1E+05,",
    ",eleven,",
    "A/B/C,,",
    ",,",
    `A/B/C/1,,,${nin}`,
    `,${nin},`,
    `A/B/${nin}/1,,`,
    `,,${nin}`,
    '"A/\n\nB/C/1",,',
    "A/B",
  ].join("\n");
  const out = join(outDir, "no-nin.csv");
  const { code, stdout, stderr } = await roster(csv, "--json", "--out", out);
  expect(code).toBe(1);
  const { results } = JSON.parse(stdout);
  expect(results.map(({ line, error }: { line: number; error: string }) => [line, error])).toEqual([
    [2, "SPREADSHEET_DAMAGE"],
    [3, "NIN_INVALID"],
    [4, "SPREADSHEET_DAMAGE"],
    [5, "T_ID_INVALID"],
    [6, "REG_NO_INVALID"],
    [7, "IDENTIFIER_MISSING"],
    [8, "COLUMN_COUNT"],
    [9, null],
    [10, null],
    [11, null],
    [12, null],
    [15, "REG_NO_INVALID"],
  ]);
  for (const text of [stdout, stderr, await readFile(out, "utf8"), (await roster(csv)).stdout]) {
    expect(text).not.toContain(nin);
    expect(text).not.toContain("1234567890");
  }
});

test("tvs roster --out writes a file that only its owner can read, without formulas, and prints only the summary", async () => {
  const out = join(outDir, "result.csv");
  const { code, stdout } = await roster("reg_no\nA/B/C/1\nA/B/C/3\n", "--out", out);
  expect(code).toBe(1);
  expect(stdout).toBe("1 of 2 eligible for SCHOOL_EMPLOYMENT_VERIFICATION (50 %)\n");
  expect((await stat(out)).mode & 0o777).toBe(0o600);
  expect((await readFile(out, "utf8")).split("\n")).toEqual([
    "line,reg_no,t_id,name,found,status,eligible,reasons,error",
    `2,A/B/C/1,11,"'=Ada, the First",true,VALID,true,,`,
    "3,A/B/C/3,13,Ada Obi,true,EXPIRED,false,LICENSE_EXPIRED,",
    "",
  ]);
});

test("tvs roster exits with 2 for an unreadable list, and prints one line without any value of the list", async () => {
  for (const csv of [
    "",
    "name,phone\nx,y\n",
    "reg_no\n",
    "reg_no,REG_NO\na,b\n",
    `nin\n"${nin}"x\n`,
    `nin\n"${nin}\n`,
  ]) {
    const { code, stdout, stderr } = await roster(csv);
    expect({ csv, code, stdout }).toEqual({ csv, code: 2, stdout: "" });
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).not.toContain(nin);
  }
  await expectRefusal(runTvs(["roster", join(dataDir, "absent.csv"), ...purpose], { dataDir }), 2);
});

test("tvs roster refuses a missing or unknown purpose", async () => {
  for (const words of [[], ["--purpose", "TEACHING"]])
    await expectRefusal(runTvs(["roster", "list.csv", ...words], { dataDir }), 2, "--purpose");
});

const name = "Government College, Ikorodu";
const asked = [...purpose, "--statement", "--list-name", name];

const staff = "reg_no,nin,name\nA/B/D/1,,Bello N.\nA/B/C/3,,\n,12345678901,Ada Obi\nX/1/Y/2,,\n";
const fileWith = async (name: string, content: string) => {
  await writeFile(join(outDir, name), content);
  return join(outDir, name);
};

test("tvs roster --statement refuses a list with a faulty row, a missing --out and a missing --list-name", async () => {
  const out = join(outDir, "refused.json");
  const [csv, bad] = [
    await fileWith("staff.csv", staff),
    await fileWith("bad.csv", "nin\n12345678901\n123\n"),
  ];
  const refusals: [string[], RegExp][] = [
    [[bad, ...asked, "--out", out], /line 3: NIN_/],
    [[csv, ...asked], /--out/],
    [[csv, ...purpose, "--statement", "--out", out], /--list-name/],
    [[csv, ...purpose, "--list-name", "x"], /--statement/],
    [[csv, ...asked.slice(0, -1), "08031234567", "--out", out], /--list-name must not hold/],
  ];
  for (const [args, words] of refusals)
    await expectRefusal(runTvs(["roster", ...args], { dataDir }), 2, words);
  const unsaid = runTvs(["roster", csv, ...asked, "--out", out], { dataDir });
  await expectRefusal(unsaid, 1, /no issuer is set/);
  expect(await Bun.file(out).exists()).toBe(false);
  expect(await runJson<object[]>(["attestations", "list"], { dataDir })).toEqual([]);
});

test("tvs roster --statement writes a statement that verifies, and stores its attestation", async () => {
  await withTestContext(dataDir, ({ settings }) =>
    settings.write({ issuer: "https://teachers.example", issuer_set: "true" }),
  );
  const [out, csv] = [join(outDir, "statement.json"), await fileWith("staff.csv", staff)];
  const args = ["roster", csv, ...asked, "--reference", "CENTRE-4711", "--out", out];
  const { code, stdout } = await runTvs(args, { dataDir });
  expect([code, stdout]).toEqual([
    1,
    expect.stringContaining("of the 4 named by the list, 3 different people"),
  ]);
  const text = await readFile(out, "utf8");
  const statement: SignedStatement = JSON.parse(text);
  expect(statement).toMatchObject({
    ...{ audience: "https://teachers.example", list: { name, reference: "CENTRE-4711" } },
    summary: { listed: 4, distinct: 3, found: 2, eligible: 1, percentEligible: 33.3 },
  });
  expect(statement.rows.map(({ nameMatches }) => nameMatches)).toEqual([true, null, false, null]);
  expect(text).not.toContain("12345678901");
  const { stdout: keyHistory } = await runTvs(["keys", "history"], { dataDir });
  const keys = await createKeySet({ keyHistory, issuer: statement.issuer });
  const options = { keys, issuer: statement.issuer, audience: statement.issuer };
  expect(await verifyStatement(text, options)).toMatchObject({ valid: true });
  const shown = await runJson<object>(["attestations", "show", statement.statementId], { dataDir });
  expect(shown).toMatchObject({ operation: "roster", status: "STATEMENT", claims: { list: { name } } });
  await runWell(["attestations", "check", out], { dataDir });
  await runWell(["log", "audit", "--signatures"], { dataDir });
  await runWell(["attestations", "prove", statement.statementId], { dataDir });
  const altered = text.replace('"A/B/C/3"', '"A/B/C/2"');
  const checked = await runTvs(["attestations", "check", "-", "--json"], { dataDir, stdin: altered });
  expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([1, [{ reason: "ROWS_DIFFER" }]]);
});

test("tvs roster --statement refuses a Windows-1252 list without --encoding", async () => {
  const out = join(outDir, "windows-1252.json");
  const list = Buffer.from("reg_no,name\nA/B/C/1,Zoë Adébáyo\n", "latin1");
  const statement = ["--statement", "--list-name", "School", "--out", out];
  await expectRefusal(
    roster(list, ...statement),
    2,
    "line 2: this is not UTF-8; if a program on Windows wrote it",
  );
  await expect(stat(out)).rejects.toThrow();
});

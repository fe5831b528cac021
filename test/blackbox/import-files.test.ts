import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withinOneSecond } from "../harness/eventually.ts";
import { patienceMs } from "../harness/program.ts";
import type { Envelope, ImportReport, PublicAnswer } from "./contract.ts";
import { createImporter, type Importer, isFound, numbersOf } from "./importer.ts";
import { type Column, columns, csv, day, type Row } from "./registry.ts";
import { createWorld, readJson } from "./world.ts";

setDefaultTimeout(patienceMs);

const sample = fileURLToPath(new URL("../../data/sample-registry.csv", import.meta.url));
let importer: Importer;

beforeAll(async () => {
  importer = await createImporter();
});

afterAll(() => importer?.world.end());

describe("rejected rows", () => {
  const secret = "SECRET7";

  const faults: [string, Partial<Row>, Column][] = [
    ["a number of three segments", { reg_no: `${secret}/PT/2024` }, "reg_no"],
    ["no number", { reg_no: "" }, "reg_no"],
    ["no name", { name: "" }, "name"],
    ["a teacher id that is none", { t_id: secret }, "t_id"],
    ["a NIN of ten digits", { nin: "6123456789" }, "nin"],
    ["a NIN that is no number", { nin: secret }, "nin"],
    ["a NIN that a spreadsheet has damaged", { nin: "7.01E+10" }, "nin"],
    ["a source that is none", { source: secret }, "source"],
    ["no source", { source: "" }, "source"],
    ["a certificate status that is none", { certificate_status: secret }, "certificate_status"],
    ["a date of another kind", { license_expiry_date: "31/12/2030" }, "license_expiry_date"],
    ["a date that does not exist", { license_expiry_date: "2030-02-30" }, "license_expiry_date"],
    [
      "an expiry before the issue",
      { license_issue_date: "2029-01-02", license_expiry_date: "2029-01-01" },
      "license_expiry_date",
    ],
    ["an answer that is neither yes nor no", { active: secret }, "active"],
  ];

  test("each has its line, field and code in the report, never its value; the others are taken", async () => {
    const good = faults.map(() => importer.fresh());
    const bad = faults.map(([, changes]): Row => ({ ...importer.fresh(), ...changes }));
    const result = await importer.importRows(bad.flatMap((row, index) => [row, good[index] as Row]));
    expect(result.code).toBe(1);
    const expected = { rows: 2 * faults.length, inserted: faults.length, rejected: faults.length };
    expect(numbersOf(result)).toMatchObject(expected);
    // Each fault stands on its own line, the header being 1, with a good row behind it.
    const places = faults.map(([name, , field], index) => ({ name, line: 2 + 2 * index, field }));
    expect(
      result.rejects.map(({ line, field }, index) => ({ name: faults[index]?.[0] ?? "", line, field })),
    ).toEqual(places);
    for (const { code } of result.rejects) expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    const everything = (result.stdout + result.stderr + result.text).replaceAll(result.report.file, "");
    for (const [, changes] of faults) {
      for (const value of Object.values(changes)) if (value !== "") expect(everything).not.toContain(value);
    }
    for (const row of good) expect((await importer.find(row.reg_no, isFound)).found).toBe(true);
  });

  test("a NIN that a spreadsheet has damaged has a code of its own", async () => {
    const result = await importer.importRows([importer.fresh({ nin: "2.3E+10" })]);
    expect(result.rejects).toMatchObject([{ line: 2, field: "nin", code: "SPREADSHEET_DAMAGE" }]);
  });

  test("lines are counted as an editor shows them", async () => {
    const long = importer.fresh({ name: "Two\nLines" });
    const result = await importer.importRows([long, importer.fresh(), importer.fresh({ nin: "1" })]);
    expect(result.rejects.filter(({ field }) => field === "nin")).toMatchObject([{ line: 5 }]);
  });

  test.each<[Column, () => Partial<Row>]>([
    ["t_id", () => ({ t_id: String(7_000_000 + importer.next()) })],
    ["nin", () => ({ nin: importer.freshNin() })],
  ])("the same %s twice in a file, or of another teacher in the store", async (field, unique) => {
    const value = unique();
    const owner = importer.fresh(value);
    await importer.importRows([owner], "--allow-change");
    const taken = [importer.fresh(value), importer.fresh()];
    const stored = await importer.importRows(taken, "--allow-change");
    expect(numbersOf(stored)).toMatchObject({ inserted: 1, rejected: 1 });
    expect(stored.rejects).toMatchObject([{ line: 2, field }]);
    expect(stored.text).not.toContain(Object.values(value)[0] as string);

    const twice = unique();
    const rows = [importer.fresh(twice), importer.fresh(twice), importer.fresh()];
    const inFile = await importer.importRows(rows, "--allow-change");
    expect(inFile.code).toBe(1);
    expect(inFile.report.rejected).toBeGreaterThanOrEqual(1);
    expect(inFile.report.inserted + inFile.report.rejected).toBe(3);
  });

  test("the same number twice in a file", async () => {
    const row = importer.fresh();
    const result = await importer.importRows([
      row,
      { ...row, reg_no: row.reg_no.toLowerCase() },
      importer.fresh(),
    ]);
    expect(result.code).toBe(1);
    expect(result.report.rejected).toBeGreaterThanOrEqual(1);
    expect(result.rejects.at(-1)).toMatchObject({ line: 3, field: "reg_no" });
  });

  test("with --strict one stops them all", async () => {
    const good = importer.fresh();
    const result = await importer.importRows([good, importer.fresh({ nin: "1" })], "--strict");
    expect(result.code).toBe(1);
    expect(result.report).toMatchObject({ inserted: 0, rejected: 1 });
    expect((await importer.find(good.reg_no)).found).toBe(false);
  });
});

describe("files", () => {
  test("a BOM, Windows line ends, other column order and quoted cells", async () => {
    const row = importer.fresh({ name: 'Ade "Bayo", Jr.' });
    const reversed = [...columns].reverse();
    const text = `\uFEFF${csv([row], reversed).replaceAll("\n", "\r\n")}`;
    const result = await importer.importText(text, "--allow-change");
    expect(result.code).toBe(0);
    expect(result.report).toMatchObject({ inserted: 1, rejected: 0 });
    expect((await importer.find(row.reg_no, isFound)).name).toBe('Ade "Bayo", Jr.');
  });

  test("NDJSON, with a profile", async () => {
    const regNo = importer.freshRegNo();
    const profile = {
      qualifications: [{ title: "B.Ed.", institution: "University of Lagos", year: 2010 }],
      employment: [{ employer: "Model College", role: "Teacher", from: "2011-09-01", to: null }],
    };
    const line = {
      regNo,
      name: "Profile Teacher",
      source: "new_system",
      ninVerified: true,
      certificateStatus: "VERIFIED",
      licenseIssueDate: day(-10),
      licenseExpiryDate: day(10),
      profile,
    };
    const path = await importer.world.file("extract.ndjson", `${JSON.stringify(line)}\n`);
    const result = await importer.importFile(path, "--allow-change");
    expect({ code: result.code, rejects: result.rejects }).toEqual({ code: 0, rejects: [] });
    const { result: checked } = await readJson<Envelope>(await importer.partner.check({ regNo }));
    expect(checked.profile).toStrictEqual({ ninVerified: true, ...profile });
  });

  test.each<[string, string]>([
    ["an empty file", ""],
    ["no required column", "name,source\nA,legacy\n"],
    ["a column twice", "reg_no,reg_no,name,source,certificate_status\nA/B/C/D,A/B/C/D,N,legacy,CLAIMED\n"],
  ])("%s could not be read: exit code 2", async (_name, text) => {
    const path = await importer.world.file("unreadable.csv", text);
    const finished = await importer.world.tvs("teachers", "import", path);
    expect(finished.code).toBe(2);
    expect(finished.stderr.trim().split("\n")).toHaveLength(1);
  });

  test("nor could one that is not there, a folder, or what is no UTF-8", async () => {
    const latin = join(importer.world.dataDir, "..", "latin.csv");
    const text = csv([importer.fresh({ name: "Ren@" })]).replace("@", "\u00e9");
    await writeFile(latin, Buffer.from(text, "latin1"));
    for (const path of ["/no/such/extract.csv", importer.world.dataDir, latin]) {
      const finished = await importer.world.tvs("teachers", "import", path);
      expect(finished.code).toBe(2);
      expect(finished.stderr).not.toMatch(/^\s+at /m);
    }
  });
});

describe("brake and sample, each on a store of its own", () => {
  const lost = { license_issue_date: "", license_expiry_date: "" };

  test("more than 2 % of the valid licences are not lost without --allow-change", async () => {
    const rows = Array.from({ length: 100 }, () => importer.fresh());
    const store = await createWorld({ rows });
    try {
      const lose = async (count: number, ...words: string[]) => {
        const changed = rows.map((row, index) => (index < count ? { ...row, ...lost } : row));
        const path = await store.file(`lose-${count}.csv`, csv(changed));
        const finished = await store.tvs("teachers", "import", path, "--json", ...words);
        return { code: finished.code, stderr: finished.stderr, ...finished.json<ImportReport>() };
      };
      const braked = await lose(3);
      expect(braked.code).toBe(1);
      expect(braked.stderr).toContain("--allow-change");
      const { license } = await readJson<PublicAnswer>(
        await store.get(`/teacher/verify-license?searchTerm=${encodeURIComponent(rows[0]?.reg_no ?? "")}`),
      );
      expect(license?.status).toBe("VALID");
      expect(await lose(2)).toMatchObject({ code: 0, updated: 2, unchanged: 98 });
      expect((await lose(5)).code).toBe(1);
      expect(await lose(5, "--allow-change")).toMatchObject({ code: 0, updated: 3, unchanged: 97 });
    } finally {
      await store.end();
    }
  });

  test("the sample extract is taken as it is, and answers", async () => {
    const store = await createWorld({ rows: [] });
    try {
      const lines = (await readFile(sample, "utf8")).trim().split("\n");
      const report = await store.tvsJson<ImportReport>("teachers", "import", sample);
      expect(report.rows).toBeGreaterThan(0);
      expect(report).toMatchObject({ inserted: report.rows, updated: 0, unchanged: 0, rejected: 0 });
      expect(report.rows).toBeLessThanOrEqual(lines.length - 1);
      const again = await store.tvsJson<ImportReport>("teachers", "import", sample);
      expect(again).toMatchObject({ inserted: 0, unchanged: report.rows, events: 0, sha256: report.sha256 });
      const header = (lines[0] ?? "").replace("\uFEFF", "").split(",");
      const regNo = (lines[1] ?? "").split(",")[header.indexOf("reg_no")] ?? "";
      const path = `/teacher/verify-license?searchTerm=${encodeURIComponent(regNo)}`;
      const answer = async () => readJson<PublicAnswer>(await store.get(path));
      expect(await withinOneSecond(async () => isFound(await answer()))).toBe(true);
    } finally {
      await store.end();
    }
  });
});

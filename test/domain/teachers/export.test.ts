import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { escapeFormula, unescapeFormula } from "../../../src/domain/import/csv.ts";
import type { ImportFormat } from "../../../src/domain/import/fields.ts";
import { changeTeacher, checkChangeReason } from "../../../src/domain/teachers/changes.ts";
import { exportTeachers } from "../../../src/domain/teachers/export.ts";
import { lagos } from "../../harness/clock.ts";
import { type Cells, csv, row, type TestImports, withImports } from "../../harness/imports.ts";

const wholeSample = readFileSync(new URL("../../../data/sample-registry.csv", import.meta.url), "utf8");
/** The first 200 lines of the sample have teachers of every status. */
const sample = wholeSample.split("\n").slice(0, 200).join("\n");

/** Values that a spreadsheet or the import may misread. */
const odd: readonly Cells[] = [
  { name: '=HYPERLINK("https://example.org","x")', state: "+Lagos", category: "-", t_id: "1" },
  { name: "'=already guarded", state: "''=twice", category: "'quoted'" },
  { name: 'Ọlá "Comma", Ṣàngó', state: "Akwa Ibom, South", license_revoked_reason: "a\tb" },
  { name: "ＡＤＡ ＝x", category: "＝1", state: "Ada’s" },
  { name: "عبد\u200cالله", state: "\u{1f600}", license_issue_date: "", license_expiry_date: "" },
  { name: "A".repeat(200), license_issue_date: "2024-02-29", license_expiry_date: "" },
  { name: "null", state: "undefined", category: "NaN", source: "legacy" },
  { name: "true", active: "false", nin_verified: "true", nin: "12345678901", email: "ada@example.org" },
  { name: "Revoked", license_revoked_on: "2090-01-01", license_revoked_reason: "NTC/2026/14/00012" },
  { name: "Hidden", hidden: "yes" },
  { name: "Photo", photo_url: "https://example.org/ä b?x=1,2&y=\"'" },
];

const profile = {
  employment: [{ employer: '=School, "A"', role: null, from: "2019", to: "2020-02-29" }],
  qualifications: [{ title: "B.Ed.", year: 2001, institution: "Ọ̀ṣun" }],
};

async function fill({ add, clock, teachers, find }: TestImports): Promise<void> {
  await add(sample, { baseline: true, pieceBytes: 65_536 });
  const { report } = await add(csv(odd.map((cells, n) => row(`odd ${n}`, cells))), { allowChange: true });
  expect(report.rejected).toEqual([]);
  const line = JSON.stringify({ ...memberOf(row("profile")), profile });
  expect(await add(line, { name: "x.ndjson", allowChange: true })).toMatchObject({ inserted: 1 });
  const reason = checkChangeReason("  =cmd  Decision\u00a02026/14 e\u0301 ");
  const key = { by: "regNo", value: "TR/2019/LA/PROFILE" } as const;
  await changeTeacher({ teachers, clock, calendar: lagos, actor: "test" }, key, { action: "revoke", reason });
  expect((await find(key.value))?.licenseRevokedBy).toBe("operator");
}

const memberOf = ({ reg_no, name, source, certificate_status, license_expiry_date }: Cells) => ({
  regNo: reg_no,
  name,
  source,
  certificateStatus: certificate_status,
  licenseExpiryDate: license_expiry_date,
});

async function exported({ teachers, clock }: TestImports, format: ImportFormat) {
  let [text, count, profilesLeftOut] = ["", 0, 0];
  for await (const piece of exportTeachers({ teachers, clock, calendar: lagos }, { format })) {
    text += piece.text;
    count += piece.teachers;
    profilesLeftOut += piece.profilesLeftOut;
  }
  return { text, count, profilesLeftOut };
}

const everything = ({ rows }: TestImports) =>
  Promise.all(["teachers", "history", "events"].map((name) => rows(`SELECT * FROM ${name} ORDER BY id`)));

test.each(["csv", "ndjson"] as const)("importing an export in the format %s changes nothing", (format) =>
  withImports(async (world) => {
    await fill(world);
    const before = await everything(world);
    const count = before[0]?.length ?? 0;
    const extract = await exported(world, format);
    const profilesLeftOut = format === "csv" ? 1 : 0;
    expect({ ...extract, text: "" }).toEqual({ text: "", count, profilesLeftOut });
    // Excel reads CSV without a byte order mark as Windows-1252.
    expect(extract.text.startsWith("\ufeff")).toBe(format === "csv");
    world.clock.add(86_400_000);
    // The export lacks the contacts that this import has. The brake accepts the import of the export all the same.
    const full = await world.add(sample, { pieceBytes: 65_536, allowChange: true });
    expect(full).toMatchObject({ updated: 0, rejected: 0, events: 0 });
    const options = { name: `register.${format}`, pieceBytes: 65_536 };
    const again = await world.add(extract.text, options);
    expect(again).toMatchObject({
      rows: count,
      unchanged: count,
      inserted: 0,
      updated: 0,
      rejected: 0,
      events: 0,
    });
    expect(again.codes.map(({ code, rows }) => [code, rows])).toEqual([
      ["TEXT_SUSPECT", 2],
      ["LICENSE_WITHOUT_EXPIRY", 1],
      ["REVOKED_IN_FUTURE", 1],
    ]);
    expect(await everything(world)).toEqual(before);
    expect(await exported(world, format)).toEqual(extract);
  }),
);

test("an export has no NIN, e-mail address, phone number or blind index", () =>
  withImports(async (world) => {
    await fill(world);
    for (const format of ["csv", "ndjson"] as const) {
      const { text } = await exported(world, format);
      expect(text).not.toMatch(/999000000\d\d|@example\.org|\+234\d|12345678901/);
      const [index] = await world.rows(
        "SELECT lower(hex(nin_index)) AS hex FROM teachers WHERE nin_index NOT NULL",
      );
      expect(text.toLowerCase()).not.toContain(String(index?.hex));
    }
  }));

test.each(["=1+1", "'=1", "''+x", "@a", "-", "'Ada", "Ada", "", "'", "＝1", "O'Brien"])(
  "a spreadsheet does not read the exported cell of %p as a formula",
  (value) => {
    expect(escapeFormula(value)).not.toMatch(/^[=+\-@＝＋－＠]/);
    expect(unescapeFormula(escapeFormula(value))).toBe(value);
  },
);

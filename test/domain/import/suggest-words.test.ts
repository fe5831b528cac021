import { expect, test } from "bun:test";
import { classifyColumnName } from "../../../src/domain/import/column-names.ts";
import { columnOfField } from "../../../src/domain/import/fields.ts";
import { questionsAbout, repeatCells, suggestForFile, suggestForTable } from "./suggestions.ts";

test("a status column is proposed for license_status, and the question lists its values and their counts", async () => {
  const cells = repeatCells({
    Active: 5,
    "STRUCK OFF": 3,
    Lapsed: 2,
    "Never Issued": 1,
    Suspended: 2,
    "On hold": 1,
  });
  const found = await suggestForTable(["Licence Standing"], cells);
  expect(found.mapping.columns["Licence Standing"]).toBe("license_status");
  expect(found.mapping.values.license_status).toEqual({
    Active: "VALID",
    "STRUCK OFF": "REVOKED",
    Lapsed: "EXPIRED",
    "Never Issued": "NONE",
    Suspended: "REVOKED",
  });
  const question = questionsAbout(found, "license_status");
  for (const part of ["3 rows say STRUCK OFF", "5 rows say Active", "1 row says On hold"])
    expect(question).toContain(part);
  expect(question).toContain("give On hold (1) one of REVOKED, EXPIRED, NONE, VALID");
  expect(question).toContain("revoked as of the day of the import");
  expect(found.mapping.open).toEqual(["license_status"]);
});

const both = [
  ["REVOKED", "Struck off"],
  ["Valid", "Good"],
];
const dated = [
  ["REVOKED", "2025-01-02"],
  ["Valid", ""],
];
// biome-ignore format: a table reads better in rows
test.each<[what: string, header: string[], cells: string[][], open: string[], said: Record<string, string>]>([
  ["the word STRUCK OFF", ["Remarks"], repeatCells({ "": 4, "STRUCK OFF": 2 }), ["license_status"],
    { license_status: "2 rows say STRUCK OFF" }],
  ["the word Deregistered", ["Remarks"], repeatCells({ "": 4, Deregistered: 2 }), ["license_status"],
    { license_status: "2 rows say Deregistered" }],
  ["the name Licence Status", ["Licence Status"], repeatCells({ G: 3, H: 2 }), ["license_status"],
    { license_status: "3 rows say G" }],
  ["the name Standing", ["Standing"], repeatCells({ G: 3, H: 2 }), ["license_status"],
    { license_status: "3 rows say G" }],
  ["two column names", ["Licence Status", "Standing"], both, ["license_status", "Standing"],
    { license_status: "1 row says REVOKED", Standing: "1 row says Struck off" }],
  ["a name beside a date of revocation", ["Status", "Date of revocation"], dated,
    ["license_status"], {}],
  ["a name that means a withdrawal", ["Struck off"], repeatCells({ No: 4, Yes: 1 }), ["license_status"], {}],
  ["the name license_status and its words", ["license_status"], repeatCells({ VALID: 4, REVOKED: 1, NONE: 1 }), [], {}],
])("the proposed mapping recognises a status column by %s", async (_what, header, cells, open, said) => {
  const found = await suggestForTable(header, cells);
  expect(found.mapping.open).toEqual(open);
  for (const [about, words] of Object.entries(said)) expect(questionsAbout(found, about)).toContain(words);
  expect(Object.values(found.mapping.columns)).toContain("license_status");
  if (header.includes("Struck off"))
    expect(found.mapping.values.license_status).toEqual({ No: "", Yes: "REVOKED" });
  if (cells !== dated) return;
  expect(found.mapping.columns).toMatchObject({ "Date of revocation": "license_revoked_on" });
  expect(questionsAbout(found, "license_status")).not.toContain("day of the import");
});

test("the proposed mapping asks about a column if a few of its many values look like a withdrawn licence", async () => {
  const texts = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`Remark ${index}`, 1]));
  const found = await suggestForTable(["Remarks"], repeatCells({ ...texts, "Struck off in 2024": 2 }));
  expect(found.mapping.ignore).toEqual(["Remarks"]);
  expect(questionsAbout(found, "Remarks")).toContain("2 rows say Struck off in 2024");
});

test("the proposed mapping shows the three most frequent values of an ignored column", async () => {
  const found = await suggestForTable(["Zone"], repeatCells({ North: 1, South: 4, East: 3, West: 2 }));
  expect(found.columns.at(-1)).toMatchObject({
    name: "Zone",
    taken: null,
    why: "not recognised; values: South (4), East (3), West (2)",
  });
});

test.each([
  ["a NIN in Arabic digits", "٢٠٠٠٠٠٠٠٠٠١"],
  ["an e-mail address", "ada@example.org"],
])("the proposed mapping shows no value of an ignored column if one value is %s", async (_name, personal) => {
  const found = await suggestForTable(["Zone"], repeatCells({ North: 4, [personal]: 2 }));
  expect(found.columns.at(-1)?.why).toBe("not recognised");
  expect(JSON.stringify(found)).not.toContain(personal);
});

test("the proposed mapping shows no values of an ignored column with many values or dates of birth", async () => {
  const many = repeatCells(Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`Z${index}`, 2])));
  expect((await suggestForTable(["Zone"], many)).columns.at(-1)?.why).toBe("not recognised");
  const births = await suggestForTable(["Date of Birth"], repeatCells({ "1980-02-13": 3 }));
  expect(JSON.stringify(births)).not.toContain("1980");
});

const personal = ["20000000001", "٢٠٠٠٠٠٠٠٠٠١", "0803 123 4567", "+234 803 123 4567", "ada@example.org"];
test.each(personal)("the proposed mapping never repeats the personal data %s from a column", async (text) => {
  const header = ["State", "Category", "Remarks", "licence_revoked_reason", "Cert Standing", "Other"];
  const row = header.map(() => text);
  const found = await suggestForTable(header, [row, row], { names: [`Ada ${text}`, text] });
  expect(JSON.stringify(found)).not.toContain(text);
});

test("the proposed mapping never repeats personal data from a header", async () => {
  const found = await suggestForTable(["State 08031234567", "Zone"], [["Lagos", "North"]]);
  expect(JSON.stringify(found)).not.toContain("08031234567");
});

test.each([
  [["Surname", "Other Names"], { "Other Names": "name.1", Surname: "name.2" }],
  [
    ["Last_Name", "Middle Name", "FIRST NAME"],
    { "FIRST NAME": "name.1", "Middle Name": "name.2", Last_Name: "name.3" },
  ],
])("a name is joined from the columns %p, given names first", async (parts, columns) => {
  const header = ["Reg. No.", ...parts, "Source", "Cert. Standing", "Lic. Expires"];
  const cells = [
    "TR/2019/LA/000001",
    ...parts.map((part) => `${part} here`),
    "legacy",
    "Verified",
    "2031-12-31",
  ];
  const content = Buffer.from(`${header.join(",")}\n${cells.join(",")}\n`);
  const found = await suggestForFile({ name: "parts.csv", content });
  expect(found.mapping.columns).toMatchObject(columns);
  expect(questionsAbout(found, "name")).toContain("in this order");
  expect(found.rows[0]?.name).toBe(
    Object.keys(columns)
      .map((part) => `${part} here`)
      .join(" "),
  );
});

test.each([
  ["Lic. Expires", "license_expiry_date"],
  ["Lic. Issued", "license_issue_date"],
  ["Cert. Standing", "certificate_status"],
  ["Date of Revocation", "license_revoked_on"],
  ["Cat.", "category"],
  ["Reg. No.", "reg_no"],
  ["TRCN No", "reg_no"],
  ["Phone No.", "phone"],
  ["Teacher's Name*", "name"],
  ["LICENCE_EXP_DT", "license_expiry_date"],
  ["dateoflicenceexpiry", "license_expiry_date"],
  ["Exp. Date", "perhaps license_expiry_date"],
  ["Date of Issue", "perhaps license_issue_date"],
  ["State of Origin", "perhaps state"],
])("the column name %s means %s", (name, meaning) => {
  const reading = classifyColumnName(name);
  const found = "field" in reading ? columnOfField[reading.field] : reading.kind;
  expect("fields" in reading ? `perhaps ${columnOfField[reading.fields[0] as "state"]}` : found).toBe(
    meaning,
  );
});

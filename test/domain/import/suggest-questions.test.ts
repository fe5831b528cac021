import { expect, test } from "bun:test";
import {
  questionsAbout,
  repeatCells,
  suggestForFile,
  suggestForFixture,
  suggestForTable,
} from "./suggestions.ts";

const zeros = { license_revoked_on: { "00/00/0000": "" } };
const never = ["1900-01-01", "0001-01-01", "1970-01-01", "1899-12-30"];
const nulls = {
  state: { NULL: "", "\\N": "", null: "", "N/A": "" },
  category: { NULL: "", "\\N": "", "(null)": "", nan: "" },
};
// biome-ignore format: a table reads better in rows
test.each<[file: string, about: string, says: string[], open: string[], values: object, dates?: string]>([
  ["dates-half-cells-half-texts.xlsx", "dates", ["may have swapped their days and months"], ["dates"], {}],
  ["zero-dates-beside-d-m-yyyy.csv", "license_revoked_on", ["00/00/0000 (2)"], ["license_revoked_on"], zeros, "D/M/YYYY"],
  ["never-dates-as-revocations.csv", "license_revoked_on", never.map((date) => `${date} (1)`), ["license_revoked_on"], { license_revoked_on: Object.fromEntries(never.map((date) => [date, ""])) }],
  ["html-entities.csv", "name", ["3 texts with HTML entities"], ["name"], {}],
  ["utf-8-read-as-windows-1252.csv", "name", ["2 texts with UTF-8 that another program read as Windows-1252"], ["name"], {}],
  ["question-marks-for-letters.csv", "name", ["2 texts with a question mark where a letter is lost"], ["name"], {}],
  ["null-words-as-texts.csv", "state", ["4 texts that may stand for an empty cell: NULL (1)"], ["state", "category"], nulls],
])("the proposed mapping for %s asks about %s", async (file, about, says, open, values, dates = undefined) => {
  const found = await suggestForFixture(file);
  for (const words of says) expect(questionsAbout(found, about)).toContain(words);
  expect(found.mapping.open).toEqual(open);
  expect(found.mapping.values).toEqual(values as typeof found.mapping.values);
  expect(found.mapping.dates).toBe(dates);
  if (about === "state") expect(found.rows.every((row) => !("state" in row))).toBe(true);
});

const revokedOn = "license_revoked_on";
// biome-ignore format: a table reads better in rows
test.each<[name: string, cells: Record<string, number>, about: string, says: string]>([
  ...["00/00/0000", "01/01/1900", "31/12/9999", "9999-12-31 00:00:00", "00.00.0000"].map(
    (date): [string, Record<string, number>, string, string] => ["License_Revoked_On", { "": 3, [date]: 2 }, revokedOn, `${date} (2)`],
  ),
  ["Date revoked", { "2025-01-02": 3, "": 1 }, revokedOn, "3 of 4 teachers would be revoked"],
  ["Date revoked", { NULL: 3, "N/A": 1 }, revokedOn, "NULL (3), N/A (1)"],
  ["NIN", { NULL: 3, "N/A": 1 }, "nin", "NULL (3), N/A (1)"],
  ["Lic. Issued", { NULL: 3, "N/A": 1 }, "license_issue_date", "NULL (3), N/A (1)"],
  ["Surname", { Okafor: 1 }, "name", "take them for name.1 and name.2"],
])("the proposed mapping for the column %s with %j asks about %s", async (name, cells, about, says) => {
  expect(questionsAbout(await suggestForTable([name], repeatCells(cells)), about)).toContain(says);
});

test("the proposed mapping asks whether the last day of a calendar is a real expiry date", async () => {
  const found = await suggestForTable(["license_issue_date"], repeatCells({ "2024-01-01": 3 }));
  expect(found.questions).toEqual([]);
  const content = Buffer.from(
    "reg_no,name,source,certificate_status,license_expiry_date\nTR/2019/LA/000001,Ada,legacy,VERIFIED,9999-12-31\n",
  );
  const endless = await suggestForFile({ name: "endless.csv", content });
  expect(questionsAbout(endless, "license_expiry_date")).toContain("9999-12-31 (1)");
  expect(endless.mapping.values).toEqual({});
});

test("the proposed mapping asks whether an unrecognised column of dates is a missing date column", async () => {
  const found = await suggestForTable(["Dt1"], repeatCells({ "2024-01-13": 3, "2024-02-01": 1 }));
  expect(found.mapping.ignore).toEqual(["Dt1"]);
  const question = questionsAbout(found, "Dt1");
  expect(question).toContain("from 2024-01-13 to 2024-02-01");
  expect(question).toContain("license_issue_date or certificate_issue_date");
  expect(question).toContain("by its dates it may be license_issue_date");
  expect(found.mapping.open).toEqual(["Dt1"]);
});

test("the proposed mapping asks about rows with more or fewer cells than the header", async () => {
  const content = Buffer.from(
    "reg_no,name,source,certificate_status,license_expiry_date\n" +
      "TR/2019/LA/000001,Okafor, Ada,legacy,VERIFIED,2031-12-31\nTR/2019/LA/000002,Ada,legacy,VERIFIED,2031-12-31\n",
  );
  const found = await suggestForFile({ name: "wide.csv", content });
  expect(questionsAbout(found, "rows")).toContain(
    "1 row has more or fewer cells than the header, the first in line 2",
  );
  expect(found.mapping.open).toContain("rows");
});

test.each(["trailing-delimiters-left-out.csv", "rows-with-one-delimiter-more.csv"])(
  "the rows of %s are read, or the proposed mapping asks about them",
  async (name) => {
    const found = await suggestForFixture(name);
    const isRead = found.rows.every((row) => row.license_expiry_date === "2094-06-30");
    expect(isRead).toBe(questionsAbout(found, "rows") === "");
  },
);

test("column names with asterisks or line breaks are recognised, and shown without these characters", async () => {
  const stars = await suggestForFixture("header-with-required-stars.csv");
  expect(stars.columns.map(({ taken }) => taken)).toEqual([
    ...["reg_no", "name", "source", "certificate_status", "license_expiry_date"],
  ]);
  expect(stars.columns[1]?.name).toBe("Teachers Name");
  const broken = await suggestForFixture("line-break-in-a-header-cell.csv");
  expect(broken.columns[0]).toMatchObject({ name: "Certificate Status", taken: "certificate_status" });
  expect([...stars.questions, ...broken.questions]).toEqual([]);
});

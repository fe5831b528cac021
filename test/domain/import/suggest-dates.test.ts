import { expect, test } from "bun:test";
import { asked, column, suggestionFor, suggestionForExtract, suggestionForTable } from "./suggestions.ts";

test("the form of dates is asked about where a spreadsheet made dates of half the texts", async () => {
  const found = await suggestionForExtract("dates-half-cells-half-texts.xlsx");
  expect(found.mapping).not.toHaveProperty("dates");
  expect(asked(found, "dates")).toContain("may have swapped their days and months");
});

test("zero dates are proposed as empty, and asked about", async () => {
  const found = await suggestionForExtract("zero-dates-beside-d-m-yyyy.csv");
  expect(found.mapping.values).toEqual({ license_revoked_on: { "00/00/0000": "" } });
  expect(found.mapping.dates).toBe("D/M/YYYY");
  expect(asked(found, "license_revoked_on")).toContain("00/00/0000 (2)");
});

test("a date that means never is asked about in license_revoked_on", async () => {
  const found = await suggestionForExtract("never-dates-as-revocations.csv");
  const question = asked(found, "license_revoked_on");
  for (const date of ["1900-01-01", "0001-01-01", "1970-01-01", "1899-12-30"]) {
    expect(question).toContain(`${date} (1)`);
    expect(found.mapping.values.license_revoked_on).toHaveProperty(date, "");
  }
});

test.each(["00/00/0000", "01/01/1900", "31/12/9999", "9999-12-31 00:00:00", "00.00.0000"])(
  "%s is asked about as a date for none",
  async (date) => {
    const found = await suggestionForTable(["License_Revoked_On"], column({ "": 3, [date]: 2 }));
    expect(asked(found, "license_revoked_on")).toContain(`${date} (2)`);
  },
);

test("the last day of a calendar is asked about as an expiry", async () => {
  const found = await suggestionForTable(["license_issue_date"], column({ "2024-01-01": 3 }));
  expect(found.questions).toEqual([]);
  const content = Buffer.from(
    "reg_no,name,source,certificate_status,license_expiry_date\nTR/2019/LA/000001,Ada,legacy,VERIFIED,9999-12-31\n",
  );
  const endless = await suggestionFor({ name: "endless.csv", content });
  expect(asked(endless, "license_expiry_date")).toContain("9999-12-31 (1)");
  expect(endless.mapping.values).toEqual({});
});

test("a file that revokes most of its teachers is asked about", async () => {
  const found = await suggestionForTable(["Date revoked"], column({ "2025-01-02": 3, "": 1 }));
  expect(asked(found, "license_revoked_on")).toContain("3 of 4 teachers would be revoked");
});

test("a column of dates whose name is not recognised is offered for the dates that are missing", async () => {
  const found = await suggestionForTable(["Dt1"], column({ "2024-01-13": 3, "2024-02-01": 1 }));
  expect(found.mapping.ignore).toEqual(["Dt1"]);
  const question = asked(found, "Dt1");
  expect(question).toContain("from 2024-01-13 to 2024-02-01");
  expect(question).toContain("license_issue_date or certificate_issue_date");
  expect(found.mapping.open).toEqual(["Dt1"]);
});

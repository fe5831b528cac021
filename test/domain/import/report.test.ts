import { expect, test } from "bun:test";
import {
  createIssueCodeTally,
  describeIssueCodeCount,
  formatReport,
  type ImportIssue,
  type ImportResult,
  type IssueCodeCount,
  isRejection,
  listFirstRejections,
  omitIssueIdentity,
} from "../../../src/domain/import/report.ts";

const issue = (line: number, code: ImportIssue["code"], field: string | null = "nin") => ({
  line,
  field,
  code,
});
const place = (line: number, field = "nin") => ({ line, field });

function counted(...issues: readonly ImportIssue[]): IssueCodeCount[] {
  const tally = createIssueCodeTally();
  tally.add(issues);
  return tally.counts();
}

test("the report counts rows for each code, except that it counts columns for the code UNKNOWN_COLUMN", () => {
  const dates = ["license_issue_date", "license_expiry_date"].map((field) => issue(2, "DATE_INVALID", field));
  expect(counted(...dates, issue(3, "DATE_INVALID"))).toMatchObject([{ rows: 2, first: { length: 3 } }]);
  const columns = ["lga", "ward"].map((field) => issue(1, "UNKNOWN_COLUMN", field));
  expect(counted(...columns)).toEqual([
    { code: "UNKNOWN_COLUMN", rows: 2, first: [place(1, "lga"), place(1, "ward")] },
  ]);
});

test("the report counts the rows of each code over all chunks, and keeps the locations of the first twenty", () => {
  const tally = createIssueCodeTally();
  for (let line = 2; line < 32; line++) tally.add([issue(line, "NIN_INVALID")]);
  const first = Array.from({ length: 20 }, (_, n) => place(n + 2));
  expect(tally.counts()).toEqual([{ code: "NIN_INVALID", rows: 30, first }]);
});

test("the report sorts rejections before warnings, then codes by frequency, then by name", () => {
  const lines = {
    EMAIL_INVALID: 3,
    NIN_INVALID: 1,
    DATE_INVALID: 2,
    BOOLEAN_INVALID: 1,
    PHONE_INVALID: 4,
  } as const;
  const issues = Object.entries(lines).flatMap(([code, count]) =>
    Array.from({ length: count }, (_, line) => issue(line, code as keyof typeof lines)),
  );
  const order = ["DATE_INVALID", "BOOLEAN_INVALID", "NIN_INVALID", "PHONE_INVALID", "EMAIL_INVALID"];
  for (const given of [issues, issues.toReversed()])
    expect(counted(...given).map(({ code }) => code)).toEqual(order as never);
});

test("the location of an issue has the row's registration number", () => {
  const numbered = { ...issue(2, "NIN_INVALID"), regNo: "A/B/C/1" };
  expect(counted(numbered, issue(3, "NIN_INVALID"))[0]?.first).toStrictEqual([
    { ...place(2), regNo: "A/B/C/1" },
    place(3),
  ]);
  expect([omitIssueIdentity(numbered), omitIssueIdentity(issue(3, "NIN_INVALID"))]).toStrictEqual([
    { ...place(2), regNo: "A/B/C/1", code: "NIN_INVALID" },
    { ...place(3), code: "NIN_INVALID" },
  ]);
});

test("the report gives each code's meaning, and whether it rejects the row", () => {
  const [count] = counted(issue(2, "NIN_INVALID"));
  const described = { code: "NIN_INVALID", rejects: true, rows: 1, first: [place(2)] } as const;
  expect(describeIssueCodeCount(count as IssueCodeCount)).toEqual({
    ...described,
    meaning: "a NIN is exactly 11 digits",
  });
  const codes = ["COLUMN_COUNT", "CHANGED_MEANWHILE", "UNKNOWN_COLUMN", "REVOKED_IN_FUTURE"] as const;
  expect(codes.map((code) => isRejection({ code }))).toEqual([true, true, false, false]);
});

test("the report lists the first rejected rows in the order of the file, with every reason", () => {
  const first = [
    issue(4, "NIN_INVALID"),
    issue(2, "DATE_INVALID"),
    issue(3, "T_ID_INVALID"),
    issue(2, "NIN_INVALID"),
  ];
  const counts = counted(issue(1, "EMAIL_INVALID"), ...first);
  const rejected = listFirstRejections(counts, 2);
  expect(rejected.map(({ line }) => line)).toEqual([2, 2, 3]);
  expect(new Set(rejected)).toEqual(new Set(first.slice(1)));
});

const result: ImportResult = {
  ...{ file: "a.csv", sha256: "00", rows: 3, inserted: 1, updated: 0, unchanged: 0 },
  ...{
    rejected: 2,
    warnings: 0,
    events: 0,
    codes: counted(issue(2, "NIN_INVALID"), issue(3, "REACTIVATED")),
  },
};
async function reported(issues: readonly ImportIssue[]) {
  function* pages(kind: string) {
    if (kind === "rejected")
      for (let at = 0; at < issues.length; at += 1000) yield issues.slice(at, at + 1000);
  }
  return (await Array.fromAsync(formatReport(result, pages))).join("");
}
const head = '{\n  "file": "a.csv",\n  "sha256": "00",\n  "rows": 3,\n  "inserted": 1,\n  "updated": 0,\n';
const counts = '  "unchanged": 0,\n  "events": 0,\n';
const back = "the row has put a deactivated teacher back; look whether that is meant";
const codes = `  "codes": {\n    "NIN_INVALID": "a NIN is exactly 11 digits",\n    "REACTIVATED": "${back}"\n  }\n}\n`;

test("the report is JSON with one line for each issue", async () => {
  const text = await reported([issue(2, "NIN_INVALID"), issue(3, "NIN_INVALID", null)]);
  const lines = [2, 3].map(
    (n) => `    {"line":${n},"field":${n === 2 ? '"nin"' : "null"},"code":"NIN_INVALID"}`,
  );
  const lists = `  "rejected": [\n${lines.join(",\n")}\n  ],\n  "warnings": [],\n`;
  expect(text).toBe(`${head}${counts}${lists}${codes}`);
});

test("the report contains the rejected rows of all pages of issues", async () => {
  const text = await reported(Array.from({ length: 2001 }, (_, n) => issue(n, "NIN_INVALID")));
  const { rejected } = JSON.parse(text) as { rejected: ImportIssue[] };
  expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: 2001 }, (_, n) => n));
});

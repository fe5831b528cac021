import { expect, test } from "bun:test";
import { createDateReader, knownDateForms } from "../../../src/domain/import/dates.ts";

const readAs = (form: string, text: string) => createDateReader(form)?.(text) ?? null;

// biome-ignore format: a table reads better in rows
test.each<[form: string, taken: Record<string, string>, refused: string[]]>([
  ["D/M/YYYY", { "1/2/2025": "2025-02-01", "29/02/2024": "2024-02-29", "2025-02-01": "2025-02-01", "1/2/2025 10:05": "2025-02-01", "1/2/2025 1:05:59.25 PM": "2025-02-01", "1/2/2025T10:05:00": "2025-02-01", "1/2/2025  10:05am": "2025-02-01" },
    ["29/2/2025", "1/2/25", "1/2/20255", "x1/2/2025", "1/2/2025x", "1-2-2025", "111/2/2025", "1/222/2025", "1/13/2025", "0/1/2025", "1/2/2025 10", "1/2/2025 10:5", "1/2/2025 100:05", "1/2/202510:05", "1/2/2025 10:05:", "1/2/2025 10:05:00.", "1/2/2025 10:05 XM", ""]],
  ["MM-DD-YY", { "01-02-69": "2069-01-02", "1-2-70": "1970-01-02", "12-31-00": "2000-12-31" }, ["1-2-2025", "1-2-5"]],
  ["YYYY.M.D", { "2025.3.4": "2025-03-04" }, ["2025x3x4"]],
  ["DD MMM YYYY", { "4 Mar 2025": "2025-03-04", "04  MARCH  2025": "2025-03-04", "4 sept. 2025": "2025-09-04", "4 December 2025": "2025-12-04" }, ["4 Mae 2025", "4 Ma 2025", "4 3 2025", "4 Mar.. 2025", "4Mar2025"]],
  ["D..M  YYYY", { "4..3 2025": "2025-03-04" }, ["4xx3 2025"]],
  ["MMM D, YYYY", { "Jan 31, 2025": "2025-01-31" }, ["Jan 31 2025"]],
  ["excel", { "45231": "2023-11-01", "45231.75": "2023-11-01", "2025-01-31": "2025-01-31" }, ["x", "0", "31/01/2025"]],
])("dates in the format %s are read, and other dates are refused", (form, taken, refused) => {
  for (const [text, date] of Object.entries(taken)) expect([text, readAs(form, text)]).toEqual([text, date]);
  for (const text of refused) expect([text, readAs(form, text)]).toEqual([text, null]);
});

test.each(["", "D/M", "D/M/YYYY/D", "M/M/YYYY", "D/M/YYYY h", "(D/M/YYYY)", "YYYYMD x", "excels"])(
  "%p is not a date format",
  (form) => expect(createDateReader(form)).toBeNull(),
);

test("each known date format reads the dates that are written in the format", () => {
  const jan = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
  for (const [month, name] of jan.entries())
    expect(readAs("D-MMM-YYYY", `5-${name}-2025`)).toBe(`2025-${String(month + 1).padStart(2, "0")}-05`);
  expect(knownDateForms).toHaveLength(34);
  for (const form of knownDateForms) {
    const parts = { YYYY: "2025", YY: "25", MMM: "Mar", M: "3", D: "4" } as Record<string, string>;
    const text = form === "excel" ? "45720" : form.replace(/YYYY|YY|MMM|M|D/g, (part) => parts[part] ?? "");
    expect([form, readAs(form, text)]).toEqual([form, "2025-03-04"]);
  }
});

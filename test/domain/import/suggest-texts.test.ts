import { expect, test } from "bun:test";
import { asked, column, suggestionFor, suggestionForExtract, suggestionForTable } from "./suggestions.ts";

test.each([
  ["html-entities.csv", "3 texts with HTML entities"],
  ["utf-8-read-as-windows-1252.csv", "2 texts with UTF-8 that another program read as Windows-1252"],
  ["question-marks-for-letters.csv", "2 texts with a question mark where a letter is lost"],
])("damaged texts of %s are asked about with their number", async (name, says) => {
  const found = await suggestionForExtract(name);
  expect(asked(found, "name")).toContain(says);
  expect(found.mapping.open).toEqual(["name"]);
});

test("words for an empty cell are proposed as empty, and asked about", async () => {
  const found = await suggestionForExtract("null-words-as-texts.csv");
  expect(found.mapping.values).toEqual({
    state: { NULL: "", "\\N": "", null: "", "N/A": "" },
    category: { NULL: "", "\\N": "", "(null)": "", nan: "" },
  });
  expect(asked(found, "state")).toContain("4 texts that may stand for an empty cell: NULL (1)");
  expect(found.mapping.open).toEqual(["state", "category"]);
  expect(found.rows.every((row) => !("state" in row))).toBe(true);
});

test.each(["Date revoked", "NIN", "Lic. Issued"])(
  "null words in the column %s are asked about",
  async (name) => {
    const found = await suggestionForTable([name], column({ NULL: 3, "N/A": 1 }));
    const [field] = Object.entries(found.mapping.columns).flatMap(([theirs, ours]) =>
      theirs === name ? [ours] : [],
    );
    expect(asked(found, field ?? "")).toContain("NULL (3), N/A (1)");
  },
);

test("rows of another width than the header are asked about, unless they can be read", async () => {
  const content = Buffer.from(
    "reg_no,name,source,certificate_status,license_expiry_date\n" +
      "TR/2019/LA/000001,Okafor, Ada,legacy,VERIFIED,2031-12-31\nTR/2019/LA/000002,Ada,legacy,VERIFIED,2031-12-31\n",
  );
  const found = await suggestionFor({ name: "wide.csv", content });
  expect(asked(found, "rows")).toContain(
    "1 row has more or fewer cells than the header, the first in line 2",
  );
  expect(found.mapping.open).toContain("rows");
});

test.each(["trailing-delimiters-left-out.csv", "rows-with-one-delimiter-more.csv"])(
  "the rows of %s are read, or asked about",
  async (name) => {
    const found = await suggestionForExtract(name);
    const isRead = found.rows.every((row) => row.license_expiry_date === "2094-06-30");
    expect(isRead).toBe(asked(found, "rows") === "");
  },
);

test("the question about the character set shows a name as it would be read", async () => {
  const found = await suggestionForTable([], [[], []], {
    names: ["Ada Obi", "José Peña"],
    encoding: "latin1",
  });
  expect(asked(found, "encoding")).toContain("a name reads José Peña");
});

test("headers with stars and line breaks are read, and named without them", async () => {
  const stars = await suggestionForExtract("header-with-required-stars.csv");
  expect(stars.columns.map(({ taken }) => taken)).toEqual([
    ...["reg_no", "name", "source", "certificate_status", "license_expiry_date"],
  ]);
  expect(stars.columns[1]?.name).toBe("Teachers Name");
  const broken = await suggestionForExtract("line-break-in-a-header-cell.csv");
  expect(broken.columns[0]).toMatchObject({ name: "Certificate Status", taken: "certificate_status" });
  expect([...stars.questions, ...broken.questions]).toEqual([]);
});

import { expect, test } from "bun:test";
import {
  countColumnWord,
  createUnreadColumnTally,
  describeMissingPart,
  type ExtractSummary,
  findSimilarField,
  listMissingParts,
  type MissingPart,
  redactLabel,
  refuseUnreadStatusColumn,
} from "../../../src/domain/import/arrival.ts";
import { exportFields, importFields } from "../../../src/domain/import/fields.ts";
import { type AddOptions, type Cells, csv, row, rows, withImports } from "../../harness/imports.ts";

const without = (name: string) => (cells: Cells) => {
  const { [name]: _gone, ...rest } = cells;
  return rest;
};
const ndjson = { name: "extract.ndjson" };
const member = {
  ...{ regNo: "TR/2019/LA/1", name: "Adaeze Okafor", source: "new_system", certificateStatus: "VERIFIED" },
  licenseExpiryDate: "2090-02-28",
};
const { licenseExpiryDate, ...unlicensed } = member;
const second = { ...member, regNo: "TR/2019/LA/2" };
const revoked = { ...second, licenseRevokedOn: "2026-01-02" };
const lines = (...objects: object[]) => objects.map((one) => `${JSON.stringify(one)}\n`).join("");
const column = (name: string) => ({ kind: "column", column: name });
const misspelled = (name: string, meant: string) => ({ kind: "misspelled", column: name, meant });
const inOyo = csv(rows(4, { state: "Oyo" }));
const header = csv([row(1)]).split("\n")[0] ?? "";
const remarks = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`remark${n}`, n]));

// biome-ignore format: a table reads better in rows
test.each<[string, string | null]>([
  ["stat", "state"], ["sttae", "state"], ["staste", "state"], ["statess", null], ["pin", null], ["nn", null], ["nin1", null],
  ["licence_expiry_dat", "licenseExpiryDate"], ["License-Expiri-Dote", "licenseExpiryDate"], ["lisanse expirydates", null],
  ["catgory", "category"], ["catgry", "category"], ["ctgry", null], ["phto_url", "photoUrl"], ["license_statuss", null], ["license_isue_date", "licenseIssueDate"],
  [`${"_".repeat(60)}stat`, "state"], [`${"_".repeat(61)}stat`, null],
])("the unknown column name %s suggests the field %p", (name, field) => {
  expect(findSimilarField(name) as string | null).toBe(field);
});

test.each([
  ["lga", true],
  ["Ünï_2 (a.b)/c#-", true],
  ["_", true],
  [`a${"b".repeat(39)}`, true],
  [`a${"b".repeat(40)}`, false],
  ["1a", false],
  ["a!", false],
  ["\u200ba", false],
  ["a\u0301", true],
  ["a\u0ac6\u200d", false],
  ["a 08031234567", false],
  ["", false],
])("whether messages may repeat the column name %p: %p", (name, isRepeated) => {
  expect(redactLabel(name, "column 7")).toBe(isRepeated ? name : "column 7");
});

const all = new Set([...importFields, "profile" as const]);
const but = (...names: string[]) => new Set([...all].filter((field) => !names.includes(field)));
const arrival = (changes: Partial<ExtractSummary>): ExtractSummary => ({
  ...{ format: "csv", rows: 10, fields: all, unknown: [] },
  ...changes,
});
const last = (fields: ReadonlySet<string> = all, rows = 10) => ({
  ...{ rows, fields, finishedAt: 1, rejections: null },
});
const unknown = [
  { label: "stat", near: "state" as const },
  { label: "lga", near: null },
];
const meant = { kind: "misspelled", column: "stat", meant: "state" } as const;
const gone = (name: string) => ({ kind: "column", column: name }) as const;
const fewRows = (rows: number, before: number | null) => ({ kind: "rows", rows, before }) as const;
const noExpiry = { kind: "license", column: "license_expiry_date" } as const;
const written = new Set(exportFields);

// biome-ignore format: a table reads better in rows
test.each<[string, Partial<ExtractSummary>, ReturnType<typeof last> | null, MissingPart[]]>([
  ["nothing, with all columns", {}, last(), []],
  ["nothing, with an unknown column beside the known ones", { unknown }, last(), []],
  ["a known column, which a misspelled one replaces", { unknown, fields: but("state") }, last(), [meant]],
  ["nothing, without the column hidden", { fields: but("hidden") }, last(), []],
  ["columns of CSV", { fields: but("tId", "profile") }, last(), [gone("t_id"), gone("profile")]],
  ["members of NDJSON", { fields: but("tId"), format: "ndjson" }, last(), [gone("tId")]],
  ["nothing, without a column that the last extract lacked too", { fields: but("state") }, last(but("state")), []],
  ["nothing, with all columns of an export", { fields: written }, last(), []],
  ["nothing, with all columns of an export and the profile", { fields: new Set([...written, "profile" as const]) }, last(), []],
  ["a column that an export has", { fields: new Set([...written].filter((field) => field !== "state")) }, last(but("nin", "email", "phone", "profile", "licenseStatus")), [gone("state")]],
  ["a column, with as many columns as an export has", { fields: new Set([...[...written].filter((field) => field !== "state"), "nin" as const]) }, last(but("email", "phone", "profile", "licenseStatus")), [gone("state")]],
  ["license_expiry_date, in the first extract", { fields: but("licenseExpiryDate") }, null, [noExpiry]],
  ["nothing, without license_expiry_date as in the last extract", { fields: but("licenseExpiryDate") }, last(but("licenseExpiryDate")), []],
  ["the other columns, with one column more than an export has", { fields: new Set([...written, "nin" as const]) }, last(), ["email", "phone", "license_status", "profile"].map(gone)],
  ["license_expiry_date, in the first extract and under another name", { fields: but("licenseExpiryDate"), unknown: [{ label: "expiry", near: "licenseExpiryDate" }] }, null, [{ kind: "misspelled", column: "expiry", meant: "license_expiry_date" }]],
  ["nothing, with half of the rows", { rows: 5 }, last(), []],
  ["rows, with less than half of them", { rows: 4 }, last(), [fewRows(4, 10)]],
  ["rows, with none as in the last extract", { rows: 0 }, last(all, 0), [fewRows(0, 0)]],
  ["rows, with none in the first extract", { rows: 0 }, null, [fewRows(0, null)]],
])("the brake lists what an extract lacks: %s", (_what, changes, before, missing) => {
  expect(listMissingParts(arrival(changes), before)).toEqual(missing);
});

test.each<[MissingPart, string]>([
  [meant, "the column stat is not known (did you mean state?)"],
  [gone("state"), "the column state is missing, and the last import had it"],
  [noExpiry, "the column license_expiry_date is missing, so that nobody would have a licence"],
  [fewRows(0, 10), "there is no row below the header"],
  [fewRows(4, 10), "there are 4 rows, fewer than half of the last import's 10"],
])("the missing part %j of an extract is described in words", (missing, words) => {
  expect(describeMissingPart(missing)).toBe(words);
});

const numbered = (word: string, count: number) => Array.from({ length: count }, (_, n) => `${word} ${n + 1}`);
const named = (words: readonly string[]) => words.map((word) => `${word} (1 row)`).join(", ");
const few = numbered("Word", 20);
const many = numbered("Barred", 40);
const longest = `Barred ${"x".repeat(57)}`;
// biome-ignore format: a table reads better in rows
test.each<[what: string, column: [name: string, isOwn: boolean], cells: string[], words: string | null]>([
  ["lists its values with the most frequent first", ["Remarks", false], ["Barred", " Good", "Good ", " "], "Good (2 rows), Barred (1 row)"],
  ["lists twenty values, and those that mean withdrawn", ["Remarks", false], [...few, "Word 21", "Barred", "Word 1"], `Word 1 (2 rows), ${named([...few.slice(1), "Barred"])}, and more`],
  ["lists forty values that mean withdrawn", ["Remarks", false], many, named(many)],
  ["lists at most forty values that mean withdrawn", ["Remarks", false], [...many, "Barred 41"], `${named(many)}, and more`],
  ["hides a value of 64 letters", ["Remarks", false], [longest], "other values (1 row)"],
  ["does not happen for a value of 65 letters", ["Remarks", false], [`${longest}x`], null],
  ["with the name of a status hides a value of 65 letters", ["Status", false], [`${longest}x`], "and more"],
  ["with the name of a status does not happen without values", ["Status", false], [""], null],
  ["license_status lists the unknown values", ["license_status", true], [...few, "Word 21", "VALID"], `${named([...few, "Word 21"])}, and more`],
  ["license_status lists all values if one is unknown", ["license_status", true], ["VALID", "Odd"], named(["VALID", "Odd"])],
  ["license_status does not happen if all values are known", ["license_status", true], ["VALID"], null],
])("the refusal of an unread column %s", (_what, [name, isOwn], cells, words) => {
  const column = createUnreadColumnTally(name, name, isOwn);
  for (const cell of cells) countColumnWord(column, cell);
  let message = "";
  try {
    refuseUnreadStatusColumn([column], { name: "a.csv", format: "csv" });
  } catch (error) {
    message = (error as Error).message;
  }
  expect(/: ([^:]*)\. Without it/.exec(message)?.[1] ?? null).toBe(words);
});

// biome-ignore format: a table reads better in rows
test.each([
  ["csv", false, "the column Status looks like the status of a licence, and nothing says how it is read", "tvs teachers map FILE proposes a mapping, whose `columns` take it for license_status and whose `values` give the words' meaning; or name it in the mapping's `ignore`"],
  ["ndjson", true, "the member Status holds words that are none of REVOKED, EXPIRED, NONE, VALID", "name it licenseStatus, with the words REVOKED, EXPIRED, NONE, VALID, or leave it out of the file"],
] as const)("a file with an unread status column in %s is refused with the remedy", (format, isOwn, found, remedy) => {
  const column = createUnreadColumnTally("Status", "Status", isOwn);
  countColumnWord(column, "Gone");
  const message = `a.x: ${found}: Gone (1 row). Without it, teachers whose licence was withdrawn would be shown as licensed. ${remedy}; nothing was changed`;
  const refusal = expect.objectContaining({ code: "INPUT_UNREADABLE", message });
  expect(() => refuseUnreadStatusColumn([column], { name: "a.x", format })).toThrow(refusal);
});

/** The earlier imports, the next import, and what the brake finds missing in the next one; empty if it is imported. */
type Case = [what: string, before: [string, AddOptions?][], next: [string, AddOptions?], missing: object[]];

test.each<Case>([
  [
    "with a misspelled member in any row",
    [[lines(member), ndjson]],
    [lines(member, { ...unlicensed, ninVerifed: true }), ndjson],
    [misspelled("ninVerifed", "ninVerified")],
  ],
  [
    "with a misspelled member after sixty unknown members",
    [],
    [lines({ ...member, ...remarks, categry: "" }), ndjson],
    [misspelled("categry", "category")],
  ],
  [
    "without a member that a row had before",
    [[lines(member, revoked), ndjson]],
    [lines(member, second), ndjson],
    [column("licenseRevokedOn")],
  ],
  [
    "after imports that do not count: stopped ones, one with only rejected rows, and one of a sandbox's teachers",
    [
      ...([[inOyo], [csv([row(1)])], [csv(rows(4, { state: "Oyo", nin: "x" }))]] as [string][]),
      [csv([row(9)]), { isSample: true, allowChange: true }],
    ],
    [csv(rows(4))],
    [column("state")],
  ],
  // Later imports are not compared with an import without rows.
  ["after an extract without rows", [[csv(rows(2))], [header, { allowChange: true }]], [csv([row(1)])], []],
])("the brake finds what is missing in an extract %s", (_what, before, next, missing) =>
  withImports(async ({ add }) => {
    for (const [content, options] of before) await add(content, options);
    const { stopped } = await add(...next);
    expect(stopped as object | undefined).toEqual(
      missing.length === 0 ? undefined : { by: "brake", losses: [], missing },
    );
  }),
);

test("the spellings licence and license name the same columns and members", () =>
  withImports(async ({ add, find }) => {
    const result = await add(csv([row(1)]).replaceAll("license_", "licence_"));
    expect(result).toMatchObject({ inserted: 1, warnings: 0 });
    expect(result.unknownColumns).toBeUndefined();
    expect((await find("TR/2019/LA/1"))?.licenseExpiryDate).toBe("2090-02-28");
    expect(await add(csv([row(1)]))).toMatchObject({ unchanged: 1 });
    const british = { ...unlicensed, regNo: second.regNo, licenceExpiryDate: licenseExpiryDate };
    const members = await add(lines(member, british), { ...ndjson, allowChange: true });
    expect(members).toMatchObject({ inserted: 1, unchanged: 1, warnings: 0 });
    expect((await find(second.regNo))?.licenseExpiryDate).toBe("2090-02-28");
    const twice = await add(lines(member, { ...member, licenceExpiryDate: "2090-01-01" }), ndjson);
    expect(twice.report.rejected).toMatchObject([{ line: 2, code: "DUPLICATE_MEMBER" }]);
  }));

test("the brake stops an extract that lacks a known column, and an import with --allow-change keeps the column's stored values", () =>
  withImports(async ({ add, find, count }) => {
    const full = rows(2, { state: "Lagos" });
    await add(csv(full));
    const lacking = csv(full.map(without("license_expiry_date")));
    const stopped = { by: "brake", losses: [], missing: [column("license_expiry_date")] };
    for (const options of [{}, { dryRun: true }, { baseline: true }])
      expect(await add(lacking, options)).toMatchObject({ stopped });
    const { stopped: both } = await add(csv([row(1, { license_expiry_date: "2025-12-31" })]));
    expect(both).toMatchObject({ losses: [{ lost: 1, of: 2 }], missing: [column("state")] });
    expect(await count("SELECT count(*) FROM imports")).toBe(1);
    expect(await add(csv(full))).toMatchObject({ unchanged: 2 });
    expect(await add(lacking, { allowChange: true })).toMatchObject({ unchanged: 2 });
    expect((await find("TR/2019/LA/1"))?.licenseExpiryDate).toBe("2090-02-28");
    expect(await add(lacking)).toMatchObject({ unchanged: 2 });
  }));

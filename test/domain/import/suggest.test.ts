import { beforeAll, expect, test } from "bun:test";
import { withImports } from "../../harness/imports.ts";
import { catchError } from "../../harness/rejection.ts";
import { type ForeignFile, foreignFiles } from "./foreign-files.ts";
import { suggestForFile } from "./suggestions.ts";

let files: readonly ForeignFile[] = [];
beforeAll(async () => {
  files = await foreignFiles();
});

/** Lists the values of people that must not be shown. */
const personal = ({ people }: ForeignFile) => people.flatMap(({ nin, phone }) => [nin, phone]);

test("each sample file gets the expected proposed mapping with the expected questions", async () => {
  expect(files.length).toBeGreaterThanOrEqual(20);
  for (const file of files) {
    const found = await suggestForFile(file);
    const text = JSON.stringify(found);
    expect([file.name, found.mapping.open]).toEqual([file.name, [...file.open]]);
    expect(found.mapping).toMatchObject(file.mapping ?? {});
    if (file.says !== undefined) expect(text).toMatch(file.says);
    expect(
      found.questions.map(({ about }) => about).every((about) => found.mapping.open.includes(about)),
    ).toBe(true);
    for (const value of personal(file)) expect(text).not.toContain(value);
  }
}, 60_000);

test("the refusal of a file without a header repeats no value of the file", async () => {
  const rows = Buffer.from(
    "LA/2019/PRI/00001,Adaeze Okonkwo,20000000000\nLA/2019/PRI/00002,Tunde Bello,20000000001\n",
  );
  const bare = { name: "bare.csv", content: rows, people: [], open: [] };
  const text = String(await catchError(suggestForFile(bare)));
  expect(text).toContain("put a header above the rows");
  expect(text).not.toMatch(/Okonkwo|20000/);
});

test("each file of another registry is imported with its proposed mapping and the answered questions", async () => {
  const answers: Record<string, object> = {
    sourceless: { constants: { source: "legacy" } },
    ambiguous: { dates: "D/M/YYYY" },
  };
  const importable = files.filter(({ name }) => !["twice.csv", "parts.csv", "mixed.csv"].includes(name));
  for (const file of importable) {
    const { mapping } = await suggestForFile(file);
    const answered = { ...mapping, ...answers[file.name.replace(/\..*/, "")], open: [] };
    await withImports(async ({ add, find }) => {
      const result = await add(file.content, {
        name: file.name,
        pieceBytes: 500,
        reading: { mapping: answered },
      });
      expect([file.name, result.inserted]).toEqual([file.name, file.people.length]);
      for (const one of [file.people[0], file.people.at(-1)]) {
        expect(await find(one?.regNo ?? "")).toMatchObject({
          name: one?.name.normalize("NFC"),
          tId: one?.tId,
          source: file.name === "sourceless.csv" ? "legacy" : one?.source,
          certificateStatus: one?.certificate,
          licenseExpiryDate: one?.expires,
        });
      }
    });
  }
}, 120_000);

test("a mapping with the encoding windows-1252 is refused for a file in UTF-8", async () => {
  const file = files.find(({ name }) => name === "windows.csv") as ForeignFile;
  const mapping = { ...(await suggestForFile(file)).mapping, open: [] };
  const text = Buffer.from(file.content).toString("latin1");
  await withImports(async ({ add, find }) => {
    for (const [content, said] of [
      [text, "and this is UTF-8"],
      [`\ufeff${text}`, undefined],
    ] as const) {
      const text = await catchError(add(content, { pieceBytes: 500, reading: { mapping } }));
      if (said === undefined) expect(text).toBeUndefined();
      else expect(String(text)).toContain(said);
    }
    const [one] = file.people;
    expect(await find(one?.regNo ?? "")).toMatchObject({ name: one?.name.normalize("NFC") });
  });
});

test("a header may follow 600,000 blank lines", () =>
  withImports(async ({ add }) => {
    const [own] = files as [ForeignFile];
    const content = "\n".repeat(600_000) + Buffer.from(own.content).toString();
    const found = await add(content, { pieceBytes: 256 * 1024 });
    expect(found).toMatchObject({ inserted: own.people.length, rejected: 0 });
  }));

test("a column's name may contain the delimiter", () =>
  withImports(async ({ add }) => {
    const [own] = files as [ForeignFile];
    const content = Buffer.from(own.content).toString().replace(",name,", ',"Name (first, last)",');
    const columns = { "Name (first, last)": "name" };
    const mapping = { columns, ignore: [], values: {}, constants: {}, open: [] };
    expect(await add(content, { reading: { mapping } })).toMatchObject({ inserted: own.people.length });
  }));

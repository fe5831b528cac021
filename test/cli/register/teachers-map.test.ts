import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runJson, runTvs, runWell } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { patienceMs } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { onTerminal } from "../terminal/terminal.ts";

setDefaultTimeout(patienceMs);
const folder = sharedFolder();
let run = 0;
let data = "";
beforeEach(() => {
  data = join(folder, `data-${++run}`);
});

const file = (name: string, content: string | Uint8Array) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const header = "Registration No;Full Name;NIN;Source;Cert Status;Licence Expiry";
const rows = [
  "TR/2019/LA/000001;Adaeze Okafor;20000000001;New System;Approved;31/12/2031",
  "TR/2019/LA/000002;Bello Danjuma;20000000002;Legacy;Verified;01/02/2032",
];
const board = (...lines: string[]) => `${[header, ...lines].join("\n")}\n`;
const answered = {
  columns: {
    "Registration No": "reg_no",
    "Full Name": "name",
    NIN: "nin",
    Source: "source",
    "Cert Status": "certificate_status",
    "Licence Expiry": "license_expiry_date",
  },
  values: { certificate_status: { Approved: "VERIFIED" } },
  dates: "D/M/YYYY",
};

describe("tvs teachers map", () => {
  test("prints a mapping and nothing else on stdout, needs no register, and ends with 1 while it asks", async () => {
    const path = file("board.csv", board(...rows));
    const { code, stdout, stderr } = await runTvs(["teachers", "map", path, "--data", data]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({ ...answered, delimiter: ";", open: ["certificate_status"] });
    expect(stderr).toContain("D/M/YYYY, as line 2 shows");
    expect(stderr).toContain("name Adaeze Okafor");
    expect(stdout + stderr).not.toContain("2000000000");
  });

  test("ends with 0 where nothing is open, and prints all of it as JSON", async () => {
    const path = file(
      "plain.csv",
      board(rows[1] as string)
        .replace("01/02", "31/01")
        .replaceAll(";", ","),
    );
    const found = await runJson<{ mapping: object; columns: object[]; questions: object[]; rows: object[] }>([
      ...["teachers", "map", path],
    ]);
    expect(Object.keys(found)).toEqual(["mapping", "columns", "questions", "rows"]);
    expect(found.questions).toEqual([]);
    expect(found.columns[0]).toMatchObject({ name: "Registration No", taken: "reg_no", sure: true });
  });

  test.each([
    ["UTF-16 without a mark", Buffer.from(board(...rows), "utf16le"), "give --encoding utf-16le"],
    ["nothing", "", "the file is empty"],
  ])("ends with 2 for %s, and says what would make it readable", async (_name, content, says) => {
    await expectRefusal(runTvs(["teachers", "map", file("bad.csv", content)]), 2, says);
  });

  test("says which words it takes", async () => {
    const usage = async (...words: string[]) => (await runTvs(["teachers", "map", ...words])).stderr;
    expect(await usage()).toContain("name the extract");
    expect(await usage("x.csv", "--show")).toContain("name the extract, or give --show or --forget");
    expect(await usage("x.csv", "--delimiter", "#")).toContain("--delimiter is one of");
    expect(await usage("x.csv", "--encoding", "ebcdic")).toContain("--encoding is one of");
  });
});

describe("what tvs teachers map prints at a terminal", () => {
  const wide = `${header};Standing`;
  const content = () => `${[wide, ...rows.map((row) => `${row};STRUCK OFF`)].join("\n")}\n`;

  test.each([80, 160])(
    "is a table of %d columns without control codes as text, beside the mapping in a file",
    async (columns) => {
      const path = file(`wide-${columns}.csv`, content());
      const stdoutFile = join(folder, `mapping-${columns}.json`);
      const { code, text } = await onTerminal(["teachers", "map", path], {
        ...{ columns, stdoutFile, isColorful: true },
      });
      expect(code).toBe(1);
      expect(JSON.parse(readFileSync(stdoutFile, "utf8"))).toMatchObject({ open: expect.any(Array) });
      expect(text).not.toContain("\\u001b");
      expect(text).toContain("\u001b[1mcolumn\u001b[22m");
      const lines = Bun.stripANSI(text).split("\n");
      for (const line of lines) expect([line, line.length <= columns]).toEqual([line, true]);
      expect(lines[0]).toMatch(/^column +taken for +why$/);
      // What does not fit stands below its own column, not at the margin.
      const why = lines[0]?.indexOf("why") ?? 0;
      const second = lines.find((line) => line.startsWith("NIN"));
      expect(second?.slice(why)).toMatch(/^the register's own name/);
      const shown = lines.findIndex((line) => line.startsWith("The columns are"));
      for (const line of lines.slice(1, shown))
        expect([line, /^\S/.test(line) || line.startsWith(" ".repeat(why))]).toEqual([line, true]);
      if (columns === 160) expect(shown).toBe(8);
    },
  );

  test("says in plain words what is asked, and where the answer goes", async () => {
    const { code, stderr, stdout } = await runTvs(["teachers", "map", file("asks.csv", content())]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'Questions. Answer each in mapping.json, then delete it from the list "open":\n  certificate_status: ',
    );
    expect(stderr).toContain("2 rows say STRUCK OFF");
    expect(JSON.parse(stdout)).toMatchObject({ values: { license_status: { "STRUCK OFF": "REVOKED" } } });
  });

  test("is escaped where a header or a mapping holds control and bidirectional characters", async () => {
    const name = "Full\u202e Name\u009b";
    const path = file("steering.csv", content().replace("Full Name", name));
    const { stdout, stderr } = await runTvs(["teachers", "map", path]);
    expect(JSON.parse(stdout).columns).toMatchObject({ [name]: "name" });
    expect(stdout + stderr).not.toMatch(/[\u009b\u202e]/);

    const mapping = { ...JSON.parse(stdout), open: undefined };
    const mappingFile = file("steering.json", JSON.stringify(mapping));
    await runWell(["teachers", "import", path, "--map", mappingFile, "--data", data]);
    for (const words of [[], ["--json"]]) {
      const shown = await runWell(["teachers", "map", "--show", "--data", data, ...words]);
      expect(shown.stdout).not.toMatch(/[\u009b\u202e]/);
      expect(JSON.parse(shown.stdout).columns).toMatchObject({ [name]: "name" });
    }
  });
});

describe("an import by a mapping", () => {
  const importing = (path: string, ...words: string[]) => [
    ...["teachers", "import", path, "--data", data],
    ...words,
  ];

  test("is remembered once it was applied, and forgotten openly", async () => {
    const path = file("board.csv", board(...rows));
    const mapping = file("mapping.json", JSON.stringify(answered));
    await runWell(importing(path, "--map", mapping, "--dry-run"));
    await runWell(importing(path, "--map", mapping));
    const { stderr } = await runWell(importing(path));
    expect(stderr).toContain("read by the remembered mapping");
    expect(await runJson<object>(["teachers", "map", "--show", "--data", data])).toEqual(answered);

    const other = file("other.csv", board(...rows).replace("Full Name", "Teacher"));
    await expectRefusal(runTvs(importing(other, "--allow-change")), 1, "it lacks Full Name");
    const own = file(
      "own.csv",
      "reg_no,name,nin,source,certificate_status,license_expiry_date\nTR/2019/LA/000001,Adaeze O. Okafor,,legacy,VERIFIED,2031-12-31\n",
    );
    expect(await runJson<object>(importing(own, "--allow-change"))).toMatchObject({ updated: 1 });

    await runWell(["teachers", "map", "--forget", "--data", data]);
    expect((await runTvs(["teachers", "map", "--show", "--data", data])).code).toBe(1);
    await expectRefusal(runTvs(importing(path)), 2, "tvs teachers map FILE proposes");
  });

  test.each([
    ["no JSON", "{", "it is not JSON"],
    ["an open question", JSON.stringify({ ...answered, open: ["dates"] }), "dates is not decided"],
    ["columns that the file lacks", '{"columns":{"Number":"reg_no"}}', "the file has no column Number"],
  ])("is refused with 2 where the mapping has %s, and nothing is made", async (_name, mapping, says) => {
    const path = file("board.csv", board(...rows));
    const { code, stderr } = await runTvs(importing(path, "--map", file("wrong.json", mapping)));
    expect(code).toBe(2);
    expect(stderr).toContain(says);
    expect((await runTvs(["teachers", "show", "1001", "--data", data])).code).not.toBe(0);
  });
});

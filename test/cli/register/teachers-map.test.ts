import { beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runJson, runTvs, runWell } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { testTimeoutMs } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";

setDefaultTimeout(testTimeoutMs);
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

test("tvs teachers map needs no register, prints only the mapping on stdout, and exits with 1 if it has questions", async () => {
  const path = file("board.csv", board(...rows));
  const { code, stdout, stderr } = await runTvs(["teachers", "map", path, "--data", data]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({ ...answered, delimiter: ";", open: ["certificate_status"] });
  expect(stderr).toContain("D/M/YYYY, as line 2 shows");
  expect(stderr).toContain("name Adaeze Okafor");
  expect(stderr).toContain(
    'Questions. Answer each in mapping.json, then delete it from the list "open":\n  certificate_status: ',
  );
  expect(stdout + stderr).not.toContain("2000000000");
});

test.each([
  ["UTF-16 without a byte order mark", Buffer.from(board(...rows), "utf16le"), "give --encoding utf-16le"],
  ["an empty file", "", "the file is empty"],
])("tvs teachers map exits with 2 for %s, and names the remedy", async (_name, content, says) => {
  await expectRefusal(runTvs(["teachers", "map", file("bad.csv", content)]), 2, says);
});

const wide = `${header};Standing`;
const content = () => `${[wide, ...rows.map((row) => `${row};STRUCK OFF`)].join("\n")}\n`;

test("tvs teachers map escapes control and bidirectional characters of headers", async () => {
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

const importing = (path: string, ...words: string[]) => [
  ...["teachers", "import", path, "--data", data],
  ...words,
];

test("tvs teachers import stores the mapping that it used, and tvs teachers map --forget deletes it", async () => {
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
  ["malformed JSON", "{", "it is not JSON"],
  ["an open question", JSON.stringify({ ...answered, open: ["dates"] }), "dates is not decided"],
  ["columns that the file lacks", '{"columns":{"Number":"reg_no"}}', "the file has no column Number"],
])("tvs teachers import --map exits with 2 for a mapping with %s", async (_name, mapping, says) => {
  const path = file("board.csv", board(...rows));
  const { code, stderr } = await runTvs(importing(path, "--map", file("wrong.json", mapping)));
  expect(code).toBe(2);
  expect(stderr).toContain(says);
  expect((await runTvs(["teachers", "show", "1001", "--data", data])).code).not.toBe(0);
});

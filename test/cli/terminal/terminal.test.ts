import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runTvs } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { childEnvironment, programWords } from "../../harness/program.ts";
import { onTerminal } from "./terminal.ts";

setDefaultTimeout(60_000);

type Key = { kid: string; state: string };

const folder = sharedFolder();
let dataDir: string;

beforeAll(async () => {
  dataDir = join(folder, "data");
  const terms = "--name A --scopes all --purposes all --per-minute 9 --per-day 99".split(" ");
  await runTvs(["partners", "add", "agency", ...terms], { dataDir });
});

async function keys(): Promise<Key[]> {
  return JSON.parse((await runTvs(["keys", "list", "--json"], { dataDir })).stdout) as Key[];
}

test.each([60, 120])("tables of keys, partners, checks and figures fit %d columns", async (columns) => {
  for (const args of [
    ["keys", "list"],
    ["partners", "list"],
    ["doctor"],
    ["status"],
    ["partners", "show", "agency"],
  ]) {
    const { code, text } = await onTerminal(args, { dataDir, columns });
    for (const line of text.split("\n")) expect([line, line.length <= columns]).toEqual([line, true]);
    if (args[0] !== "keys") continue;
    expect(code).toBe(0);
    for (const { kid } of await keys()) expect(text).toContain(kid);
    expect(text).toMatch(columns < 120 ? /^STATE +active$/m : /^STATE +active$|^KID +STATE/m);
  }
});

test("a table has one line a row where there is no terminal", async () => {
  const { stdout } = await runTvs(["keys", "list"], { dataDir });
  expect(stdout.trimEnd().split("\n")).toHaveLength(1 + (await keys()).length);
});

const refused = "cancelled; nothing was changed";

test.each([
  ["Enter", "\r"],
  ["a word", "yess\r"],
  ["the end of the input", "\u0004"],
])("the question before an irreversible act answered with %s changes nothing", async (_, answer) => {
  const before = await keys();
  const typed = [["Continue? [y/N]", answer]] as const;
  const { code, text } = await onTerminal(["keys", "rotate", "--now"], { dataDir, typed });
  expect({ code, isRefused: text.replaceAll("\n", " ").includes(refused) }).toEqual({
    code: 1,
    isRefused: true,
  });
  expect(await keys()).toEqual(before);
});

test("the question before an irreversible act answered with y goes on and names the next command", async () => {
  const before = await keys();
  const typed = [["Continue? [y/N]", "y\r"]] as const;
  const { code, text } = await onTerminal(["keys", "rotate", "--now"], { dataDir, typed });
  expect(code).toBe(0);
  expect(text).toContain("This cannot be undone.");
  expect(text).toContain("tvs keys history");
  const pending = before.find(({ state }) => state === "pending")?.kid ?? "";
  expect((await keys()).find(({ kid }) => kid === pending)?.state).toBe("active");
});

test("no question is asked where the answer could change nothing", async () => {
  const { code, text } = await onTerminal(["keys", "rotate"], { dataDir });
  expect({ code, asked: text.includes("Continue?") }).toEqual({ code: 1, asked: false });
  expect(text.replaceAll("\n", " ")).toContain("--now");
});

test("no question is asked with --yes or without a terminal", async () => {
  const { code, text } = await onTerminal(["keys", "rotate", "--now", "--yes"], { dataDir });
  expect({ code, asked: text.includes("Continue?") }).toEqual({ code: 0, asked: false });
  const script = await runTvs(["keys", "rotate", "--now"], { dataDir });
  expect({ code: script.code, asked: script.stderr.includes("Continue?") }).toEqual({
    code: 0,
    asked: false,
  });
  // What helps a person to go on is noise in a script's log.
  expect(script.stderr).not.toContain("tvs keys history");
});

const rotate = ["keys", "rotate", "--now"];

test.each([
  ["an empty line", "\n"],
  ["a line of a list", "TR/2019/LA/000009\nTR/2019/LA/000010\n"],
])("an irreversible act with %s on standard input changes nothing", async (_, stdin) => {
  const before = await keys();
  const { code, stdout, stderr } = await runTvs(rotate, { dataDir, stdin });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^tvs: cancelled; nothing was changed: .* is not yes .*--yes.*\n$/);
  expect(await keys()).toEqual(before);
  expect(await runTvs([...rotate, "--yes"], { dataDir, stdin })).toMatchObject({ code: 0 });
});

test("a script goes on with yes or nothing on standard input", async () => {
  const words = [...programWords, ...rotate];
  const env = { ...childEnvironment({}), TVS_DATA: dataDir };
  const shell = (line: string) =>
    Bun.spawn(["sh", "-c", line, ...words], { env, stdio: ["ignore", "ignore", "ignore"] }).exited;
  expect(await runTvs(rotate, { dataDir, stdin: "yes\n" })).toMatchObject({ code: 0 });
  expect(await runTvs(rotate, { dataDir, stdin: "" })).toMatchObject({ code: 0 });
  expect(await shell('"$0" "$@" < /dev/null')).toBe(0);
  expect(await shell('"$0" "$@" <&-')).toBe(0);
  // A pipe that is held open and never written to, as other programs give to theirs.
  const held = Bun.spawn(words, { env, stdin: "pipe", stdout: "ignore", stderr: "ignore" });
  expect(await held.exited).toBe(0);
  await held.stdin.end();
});

test("the question before a revocation names the teacher", async () => {
  const file = join(folder, "one.csv");
  const head = "reg_no,name,source,certificate_status,license_issue_date,license_expiry_date";
  await writeFile(file, `${head}\nTR/2019/LA/000009,Ada Obi,new_system,VERIFIED,2020-01-01,2090-01-01\n`);
  const allow = ["--baseline", "--allow-change"];
  await runTvs(["teachers", "import", file, ...allow], { dataDir });
  const typed = [["Continue? [y/N]", "\r"]] as const;
  const revoke = ["teachers", "revoke", "TR/2019/LA/000009", "--reason", "Decision 1"];
  const { code, text } = await onTerminal(revoke, { dataDir, typed });
  expect({ code, names: text.includes("revoke TR/2019/LA/000009, Ada Obi?") }).toEqual({
    code: 1,
    names: true,
  });
  const { stdout } = await runTvs(["teachers", "show", "TR/2019/LA/000009", "--json"], { dataDir });
  expect(JSON.parse(stdout)).toMatchObject({ licenseStatus: "VALID" });
});

test("progress of an import is shown on a terminal with rate and time left, and nowhere else", async () => {
  const head = "reg_no,name,source,certificate_status,license_issue_date,license_expiry_date";
  const rows = Array.from(
    { length: 3000 },
    (_, n) => `TR/2020/LA/${n},N,legacy,VERIFIED,2020-01-01,2090-01-01`,
  );
  const file = join(folder, "extract.csv");
  await writeFile(file, [head, ...rows].join("\n"));
  const { code, text } = await onTerminal(["teachers", "import", file, "--baseline"], { dataDir });
  expect(code).toBe(0);
  expect(text).toMatch(/checking \[[=-]+\] \d+ % +[\d.]* ?M?B?\/?s? +\S+ left/);
  expect(text).toMatch(/^inserted +3000$/m);
  const script = await runTvs(["teachers", "import", file], { dataDir });
  expect(script).toMatchObject({ code: 0, stderr: "" });
});

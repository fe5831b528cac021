import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runJson, runTvs } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { childEnvironment, programWords } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { runOnTerminal } from "./terminal.ts";

setDefaultTimeout(60_000);

type Key = { kid: string; state: string };

const folder = sharedFolder();
const dataDir = join(folder, "data");

beforeAll(async () => {
  const terms = "--name A --scopes all --purposes all --per-minute 9 --per-day 99".split(" ");
  await runTvs(["partners", "add", "agency", ...terms], { dataDir });
});

const keys = () => runJson<Key[]>(["keys", "list"], { dataDir });

test.each([60, 120])("printed tables of keys, partners and checks fit %d columns", async (columns) => {
  for (const line of ["keys list", "partners list", "doctor", "status", "partners show agency"]) {
    const { code, text } = await runOnTerminal(line.split(" "), { dataDir, columns });
    expect(text.split("\n").filter(({ length }) => length > columns)).toEqual([]);
    if (line !== "keys list") continue;
    expect(code).toBe(0);
    for (const { kid } of await keys()) expect(text).toContain(kid);
    expect(text).toMatch(columns < 120 ? /^STATE +active$/m : /^STATE +active$|^KID +STATE/m);
  }
});

test("a printed table has one line for each row if stdout is not a terminal", async () => {
  const { stdout } = await runTvs(["keys", "list"], { dataDir });
  expect(stdout.trimEnd().split("\n")).toHaveLength(1 + (await keys()).length);
});

const rotate = ["keys", "rotate", "--now"];
const answered = (keys: string) => [["Continue? [y/N]", keys]] as const;

test.each([
  ["Enter", "\r"],
  ["another word", "yess\r"],
  ["the end of the input", "\u0004"],
])("an irreversible command changes nothing after %s instead of the answer y", async (_, answer) => {
  const before = await keys();
  const { code, text } = await runOnTerminal(rotate, { dataDir, typed: answered(answer) });
  expect(code).toBe(1);
  expect(text.replaceAll("\n", " ")).toContain("cancelled; nothing was changed");
  expect(await keys()).toEqual(before);
});

test("an irreversible command runs after the answer y, and names the next command", async () => {
  const pending = (await keys()).find(({ state }) => state === "pending")?.kid;
  const { code, text } = await runOnTerminal(rotate, { dataDir, typed: answered("y\r") });
  expect(code).toBe(0);
  expect(text).toContain("This cannot be undone.");
  expect(text).toContain("tvs keys history");
  expect((await keys()).find(({ state }) => state === "active")?.kid).toBe(pending ?? "");
});

test("an irreversible command asks nothing with --yes, without a terminal, or if it is refused anyway", async () => {
  const tooEarly = await runOnTerminal(["keys", "rotate"], { dataDir });
  expect([tooEarly.code, tooEarly.text]).toEqual([1, expect.stringContaining("--now")]);
  const agreed = await runOnTerminal([...rotate, "--yes"], { dataDir });
  const script = await runTvs(rotate, { dataDir });
  expect([agreed.code, script.code]).toEqual([0, 0]);
  for (const text of [tooEarly.text, agreed.text, script.stderr]) expect(text).not.toContain("Continue?");
  // A hint for a person would be noise in a script's log.
  expect(script.stderr).not.toContain("tvs keys history");
});

test.each([
  ["an empty line", "\n"],
  ["a line of a list", "TR/2019/LA/000009\nTR/2019/LA/000010\n"],
])("an irreversible command with %s on standard input changes nothing", async (_, stdin) => {
  const before = await keys();
  const refused = runTvs(rotate, { dataDir, stdin });
  await expectRefusal(refused, 1, /^tvs: cancelled; nothing was changed: .* is not yes .*--yes/);
  expect(await keys()).toEqual(before);
  expect(await runTvs([...rotate, "--yes"], { dataDir, stdin })).toMatchObject({ code: 0 });
});

test("an irreversible command in a script needs no confirmation, and runs if standard input is empty or says yes", async () => {
  const words = [...programWords, ...rotate];
  const env = { ...childEnvironment({}), TVS_DATA: dataDir };
  const shell = (line: string) =>
    Bun.spawn(["sh", "-c", line, ...words], { env, stdio: ["ignore", "ignore", "ignore"] }).exited;
  for (const stdin of ["yes\n", ""])
    expect(await runTvs(rotate, { dataDir, stdin })).toMatchObject({ code: 0 });
  for (const closed of ["< /dev/null", "<&-"]) expect(await shell(`"$0" "$@" ${closed}`)).toBe(0);
  // A pipe that stays open and gets no data, as some programs give to their child processes.
  const held = Bun.spawn(words, { env, stdin: "pipe", stdout: "ignore", stderr: "ignore" });
  expect(await held.exited).toBe(0);
  await held.stdin.end();
});

const head = "reg_no,name,source,certificate_status,license_issue_date,license_expiry_date";

test("the confirmation question before a revocation names the teacher", async () => {
  const file = join(folder, "one.csv");
  await writeFile(file, `${head}\nTR/2019/LA/000009,Ada Obi,new_system,VERIFIED,2020-01-01,2090-01-01\n`);
  const allow = ["--baseline", "--allow-change"];
  await runTvs(["teachers", "import", file, ...allow], { dataDir });
  const revoke = ["teachers", "revoke", "TR/2019/LA/000009", "--reason", "Decision 1"];
  const { code, text } = await runOnTerminal(revoke, { dataDir, typed: answered("\r") });
  expect(code).toBe(1);
  expect(text).toContain("revoke TR/2019/LA/000009, Ada Obi?");
  const { stdout } = await runTvs(["teachers", "show", "TR/2019/LA/000009", "--json"], { dataDir });
  expect(JSON.parse(stdout)).toMatchObject({ licenseStatus: "VALID" });
});

test("an import shows its progress, rate and remaining time on a terminal only", async () => {
  const row = (_: unknown, n: number) => `TR/2020/LA/${n},N,legacy,VERIFIED,2020-01-01,2090-01-01`;
  const rows = Array.from({ length: 3000 }, row);
  const file = join(folder, "extract.csv");
  await writeFile(file, [head, ...rows].join("\n"));
  const { code, text } = await runOnTerminal(["teachers", "import", file, "--baseline"], { dataDir });
  expect(code).toBe(0);
  expect(text).toMatch(/checking \[[=-]+\] \d+ % +[\d.]* ?M?B?\/?s? +\S+ left/);
  expect(text).toMatch(/^inserted +3000$/m);
  const script = await runTvs(["teachers", "import", file], { dataDir });
  expect(script).toMatchObject({ code: 0, stderr: "" });
});

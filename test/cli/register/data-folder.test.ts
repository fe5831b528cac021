import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KeyInfo } from "../../blackbox/contract.ts";
import { runTvs } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { type RunOptions, runTvs as runProcess, startService, testTimeoutMs } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { aTeacherWrite } from "../../harness/samples.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";

setDefaultTimeout(testTimeoutMs);

const folder = sharedFolder();
const used = join(folder, "used");
beforeAll(() => makeRegister(used));

let copies = 0;
const freshPath = (name = "data") => join(folder, `${name}-${++copies}`);
async function aRegister(): Promise<string> {
  const data = freshPath();
  await makeRegister(data);
  return data;
}
const initWords = ["init", "--issuer", "https://verify.example.org", "--name", "R"];
const init = (words: readonly string[], options?: RunOptions) => runTvs([...initWords, ...words], options);
const keysOf = async (words: readonly string[], options?: RunOptions) =>
  (await runTvs(["keys", "list", "--json", ...words], options)).json<KeyInfo[]>();
const isThere = async (path: string) => (await stat(path).catch(() => null)) !== null;

test("two commands that create a data folder at the same time create one register", async () => {
  const data = freshPath();
  const words = [...initWords, "--data", data];
  const both = await Promise.all([runProcess(words), runProcess(words)]);
  expect(both.filter(({ code }) => code === 0)).toHaveLength(1);
  expect((await keysOf(["--data", data])).map(({ state }) => state).sort()).toEqual(["active", "pending"]);
});

test("the option --data may be before the command, and takes precedence over TVS_DATA", async () => {
  const kids = await keysOf(["--data", used]);
  for (const words of [
    ["--data", used, "--json", "keys", "list"],
    [`--data=${used}`, "keys", "list", "--json"],
  ])
    expect((await runTvs(words)).json<KeyInfo[]>()).toEqual(kids);
  const env = { TVS_DATA: used };
  expect(await keysOf([], { env })).toEqual(kids);
  const other = freshPath();
  await init(["--data", other]);
  expect(await keysOf(["--data", other], { env })).not.toEqual(kids);
});

test("a sandbox has a separate database", async () => {
  const data = await aRegister();
  await (await startService({ dataDir: data, args: ["--sandbox"] })).stop();
  const kids = async (...words: string[]) => (await keysOf(["--data", data, ...words])).map(({ kid }) => kid);
  expect(await kids("--sandbox")).not.toEqual(await kids());
  expect(await isThere(join(data, "sandbox.db"))).toBe(true);
  const live = ["--database", `file:${join(data, "tvs.db")}`];
  await expectRefusal(runTvs(["keys", "list", "--sandbox", ...live]), 1);
});

test("a file at the path of the data folder or its parent is refused in one line", async () => {
  const file = freshPath("file");
  await writeFile(file, "not a folder");
  for (const data of [file, join(file, "data")]) {
    await expectRefusal(runTvs(["keys", "list", "--data", data]), 2);
    await expectRefusal(init(["--data", data]), 1);
  }
});

test("a data folder can be used by one service only, and after kill -9 by the next one", async () => {
  const dataDir = await aRegister();
  await withTestContext(dataDir, ({ teachers }) => teachers.apply([aTeacherWrite("A/B/C/1")]));
  const first = await startService({ dataDir });
  await expectRefusal(runProcess(["serve", "--port", "0", "--data", dataDir]), 1);
  expect((await fetch(`${first.url}/v1/inter-agency/health`)).ok).toBe(true);
  await first.stop("SIGKILL");
  const next = await startService({ dataDir });
  expect((await fetch(`${next.url}/v1/inter-agency/health`)).ok).toBe(true);
  expect(await next.stop()).toBe(0);
});

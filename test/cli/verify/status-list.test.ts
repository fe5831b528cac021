import { beforeAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { refusalReasons } from "../../../src/partner/reasons.ts";
import { audience, keys } from "../../fixtures/envelope-tokens.ts";
import { envelopes, offlinePack, pack, statusList } from "../../fixtures/status-lists.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { keyHistory, run, settings } from "./verify-run.ts";

const folder = sharedFolder();
const cases = Object.values(envelopes);
const forAudience = ["--audience", audience];
let files: string[] = [];
let history = "";

async function write(name: string, content: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

beforeAll(async () => {
  history = await Bun.file(keyHistory).text();
  files = await Promise.all(cases.map(({ input }, index) => write(`${index}.json`, input)));
});

test("tvs verify shows what a status list says, with its day", async () => {
  const clear = await write("clear.jwt", statusList(pack()));
  const set = await write("set.jwt", statusList(pack(0)));
  const [file = ""] = files;
  const good = await run([...settings, "--status-list", clear, file]);
  expect([good.code, good.stdout]).toEqual([
    0,
    expect.stringContaining("status list     not withdrawn on 2026-03-01T11:00:00Z"),
  ]);
  const bad = await run([...settings, "--status-list", set, file]);
  expect(bad.code).toBe(1);
  expect(bad.stdout).toContain(`WITHDRAWN_SINCE: ${refusalReasons.WITHDRAWN_SINCE.explanation}`);
  expect(bad.stdout).toContain("status list     withdrawn on 2026-03-01T11:00:00Z");
  const { objects } = await run([...settings, "--json", "--status-list", set, file]);
  expect(objects[0]?.statusList).toMatchObject({
    idx: 0,
    signedAt: "2026-03-01T11:00:00Z",
    withdrawn: true,
  });
});

const lists = [statusList(pack())];
const packed = () => write("pack.json", offlinePack(history, lists));

test("an offline pack needs nothing else but for whom, and says that trust rests on it, unless its signer is pinned", async () => {
  const file = await packed();
  const alone = await run(["--pack", file, ...forAudience, files[0] ?? ""]);
  expect(alone.code).toBe(0);
  const signed = `signed by key ${keys.active.kid} on 2026-02-01T00:00:00Z`;
  expect(alone.stdout).toContain(`trust rests on ${file} alone, ${signed}; --anchor pins its signer`);
  const pinned = await run(["--pack", file, "--anchor", keys.active.kid, ...forAudience, files[0] ?? ""]);
  expect([pinned.code, pinned.stdout]).toEqual([0, expect.not.stringContaining("trust rests on")]);
  const wrong = ["--pack", file, "--anchor", keys.retired.kid, ...forAudience, "--json", files[0] ?? ""];
  expect((await run(wrong)).objects[0]?.reason).toBe("KEY_HISTORY_NOT_ANCHORED");
});

test("an offline pack in the verified folder is not taken for an envelope", async () => {
  const file = await packed();
  const { stdout } = await run(["--pack", file, ...forAudience, folder]);
  expect(stdout).not.toContain("pack.json:");
  expect(stdout).not.toMatch(/^undecidable {2}\S*pack\.json /m);
});

test.each([
  ["--max-age is for status lists: give --status-list FILE or --pack FILE as well", ["--max-age", "1d"]],
  ["--max-age must be a duration such as", ["--max-age", "soon", "--status-list", "list.jwt"]],
  ["--pack or --status-list is empty", ["--status-list", ""]],
  ["--pack or --status-list is empty", ["--pack", ""]],
  ["missing.jwt cannot be read: check the path", ["--status-list", "missing.jwt"]],
  ["missing.json cannot be read: check the path", ["--pack", "missing.json"]],
  [`${keyHistory} is no offline pack: fetch it from the service's`, ["--pack", keyHistory]],
])("a wrong option is told in one line: %s", async (message, words) => {
  const { code, stderr } = await run([...settings, ...words, "envelope.json"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect(stderr.trimEnd()).not.toContain("\n");
});

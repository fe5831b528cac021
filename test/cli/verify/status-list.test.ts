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

test("tvs verify shows the status list's verdict and the day of the list", async () => {
  const clear = await write("clear.jwt", statusList(pack()));
  const set = await write("set.jwt", statusList(pack(0)));
  const [file = ""] = files;
  const good = await run([...settings, "--status-list", clear, file]);
  expect(good.code).toBe(0);
  expect(good.stdout).toContain("status list     not withdrawn on 2026-03-01T11:00:00Z");
  const bad = await run([...settings, "--status-list", set, file]);
  expect(bad.code).toBe(1);
  expect(bad.stdout).toContain(`WITHDRAWN_SINCE: ${refusalReasons.WITHDRAWN_SINCE.explanation}`);
  expect(bad.stdout).toContain("status list     withdrawn on 2026-03-01T11:00:00Z");
  const { objects } = await run([...settings, "--json", "--status-list", set, file]);
  const found = { idx: 0, signedAt: "2026-03-01T11:00:00Z", withdrawn: true };
  expect(objects[0]?.statusList).toMatchObject(found);
});

const lists = [statusList(pack())];
const packed = () => write("pack.json", offlinePack(history, lists));

test("tvs verify --pack needs only the audience, and says that trust rests on the pack unless --anchor pins its key", async () => {
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

test("tvs verify of a folder does not read its offline pack as an envelope", async () => {
  const file = await packed();
  const { stdout } = await run(["--pack", file, ...forAudience, folder]);
  expect(stdout).not.toContain("pack.json:");
  expect(stdout).not.toMatch(/^undecidable {2}\S*pack\.json /m);
});

import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";
import { withTempDir } from "../harness/folder.ts";
import { runJson, runTvs, runWell, startService, testTimeoutMs } from "../harness/program.ts";

setDefaultTimeout(testTimeoutMs);

const api = "/v1/inter-agency";
const header = "reg_no,t_id,name,source,certificate_status,license_issue_date,license_expiry_date";

async function openRegister(dataDir: string) {
  const partner = ["partners", "add", "board", "--name", "Board", "--scopes", "all", "--purposes", "all"];
  const quota = ["--per-minute", "1000", "--per-day", "1000"];
  const { apiKey } = await runJson<{ apiKey: string }>([...partner, ...quota], { dataDir });
  const args = ["--issuer", "https://verify.example.gov", "--status-list", "on"];

  return {
    apiKey,
    async extract(...tIds: number[]): Promise<string> {
      const file = join(dataDir, "extract.csv");
      const rows = tIds.map((tId) => `A/B/C/${tId},${tId},Ada Obi,new_system,VERIFIED,2020-01-01,2099-12-31`);
      await writeFile(file, [header, ...rows, ""].join("\n"));
      return file;
    },
    async put(...tIds: number[]): Promise<void> {
      const file = await this.extract(...tIds);
      await runWell(["teachers", "import", file, "--baseline", "--allow-change"], { dataDir });
    },
    async serving<T>(act: (url: string) => Promise<T>): Promise<T> {
      const service = await startService({ dataDir, args });
      try {
        return await act(service.url);
      } finally {
        await service.stop();
      }
    },
  };
}

type Register = Awaited<ReturnType<typeof openRegister>>;

async function claimOf(url: string, { apiKey }: Register, tId: number) {
  const headers = { "x-agency-api-key": apiKey };
  const answer = await fetch(`${url}${api}/lookup/by-tid/${tId}`, { headers });
  return getStatusListFromJWT(((await answer.json()) as { signature: string }).signature);
}

async function statusOf(url: string, { idx, uri }: { idx: number; uri: string }): Promise<number> {
  const list = await fetch(`${url}${new URL(uri).pathname}`);
  return getListFromStatusListJWT(await list.text()).getStatus(idx);
}

test.each([
  ["over the database", true],
  ["without the lost database and its pinned checkpoint", false],
])("no new teacher gets the status index of a lost one after a restore of an old backup %s", (_, isThere) =>
  withTempDir(async (folder) => {
    const [dataDir, backup] = [join(folder, "data"), join(folder, "backup.db")];
    const register = await openRegister(dataDir);
    await register.put(1, 2);
    const [kept, undone, lost] = await register.serving(async (url) => {
      const known = [await claimOf(url, register, 1), await claimOf(url, register, 2)];
      await runWell(["backup", backup], { dataDir });
      await register.put(3);
      await runWell(["teachers", "revoke", "2", "--reason", "x", "--yes"], { dataDir });
      const claims = [...known, await claimOf(url, register, 3)] as const;
      await runWell(["log", "checkpoint"], { dataDir });
      return claims;
    });
    if (kept === undefined || undone === undefined || lost === undefined) throw new Error("no claims");

    if (!isThere)
      for (const name of await readdir(dataDir))
        if (name !== "master.key") await rm(join(dataDir, name), { recursive: true });
    await runJson(["restore", backup, "--force", "--yes"], { dataDir });
    // An extract comes before the service.
    await register.put(9);
    await register.serving(async (url) => {
      const claim = await claimOf(url, register, 9);
      expect(claim.uri).not.toBe(lost.uri);
      const found = [kept, undone, lost, claim].map((one) => statusOf(url, one));
      expect(await Promise.all(found)).toEqual([0, 0, 1, 0]);
      expect([await claimOf(url, register, 1), await claimOf(url, register, 2)]).toEqual([kept, undone]);
      expect(await (await fetch(`${url}${api}/status`)).json()).toEqual({
        status_lists: [lost.uri, claim.uri],
      });
    });
  }),
);

test("a register on an old copy of its database refuses imports until the operator accepts the loss", () =>
  withTempDir(async (folder) => {
    const [dataDir, copy] = [join(folder, "data"), join(folder, "copy.db")];
    const register = await openRegister(dataDir);
    await register.put(1, 2);
    await runWell(["backup", copy], { dataDir });
    await register.put(3);
    const lost = await register.serving(async (url) => {
      const claim = await claimOf(url, register, 3);
      await runWell(["log", "checkpoint"], { dataDir });
      return claim;
    });
    for (const side of ["-wal", "-shm"]) await rm(join(dataDir, `tvs.db${side}`), { force: true });
    await copyFile(copy, join(dataDir, "tvs.db"));
    const { code, stderr } = await runTvs(["teachers", "import", await register.extract(9)], { dataDir });
    expect([code, stderr]).toEqual([1, expect.stringContaining("tvs log new")]);
    await runWell(["log", "new", "--accept-loss", "--reason", "x", "--yes"], { dataDir });
    await register.put(9);
    await register.serving(async (url) => {
      const claim = await claimOf(url, register, 9);
      expect(claim.uri).not.toBe(lost.uri);
      expect([await statusOf(url, lost), await statusOf(url, claim)]).toEqual([1, 0]);
    });
  }));

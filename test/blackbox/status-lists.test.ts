import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";
import { csv } from "../harness/imports.ts";
import { testTimeoutMs } from "../harness/program.ts";
import { teacher } from "./registry.ts";
import { type Partner, readJson, withStoppedWorld } from "./world.ts";

setDefaultTimeout(testTimeoutMs);

const args = ["--status-list", "on"];
const row = (tId: number) => teacher(`A/B/C/${tId}`, { t_id: String(tId) });

async function claimOf(partner: Partner, tId: number) {
  const answer = await readJson<{ signature: string }>(await partner.get(`/lookup/by-tid/${tId}`));
  return getStatusListFromJWT(answer.signature);
}

async function statusOf(url: string, { idx, uri }: { idx: number; uri: string }): Promise<number> {
  const list = await fetch(`${url}${new URL(uri).pathname}`);
  return getListFromStatusListJWT(await list.text()).getStatus(idx);
}

test.each([
  ["over the database", true],
  ["without the lost database and its pinned checkpoint", false],
])(
  "no new teacher gets the status index of a lost teacher after a restore of an old backup %s",
  (_, isThere) =>
    withStoppedWorld({ args }, async (world, partner) => {
      const { dataDir } = world;
      const backup = join(dataDir, "..", "backup.db");
      await world.importRows([row(1), row(2)]);
      const [kept, undone, lost] = await world.serving(async () => {
        const known = [await claimOf(partner, 1), await claimOf(partner, 2)] as const;
        await world.tvsJson("backup", backup);
        await world.importRows([row(3)]);
        await world.tvsJson("teachers", "revoke", "2", "--reason", "x");
        const claims = [...known, await claimOf(partner, 3)] as const;
        await world.tvsJson("log", "checkpoint");
        return claims;
      });
      if (!isThere)
        for (const name of await readdir(dataDir))
          if (name !== "master.key") await rm(join(dataDir, name), { recursive: true });
      await world.tvsJson("restore", backup, "--force", "--yes");
      // An extract is imported before the service starts.
      await world.importRows([row(9)]);
      await world.serving(async ({ url }) => {
        const claim = await claimOf(partner, 9);
        expect(claim.uri).not.toBe(lost.uri);
        const found = [kept, undone, lost, claim].map((one) => statusOf(url, one));
        expect(await Promise.all(found)).toEqual([0, 0, 1, 0]);
        expect([await claimOf(partner, 1), await claimOf(partner, 2)]).toEqual([kept, undone]);
        expect(await readJson<object>(await partner.get("/status"))).toEqual({
          status_lists: [lost.uri, claim.uri],
        });
      });
    }),
);

test("a register on an old copy of its database refuses imports until the operator accepts the loss", () =>
  withStoppedWorld({ args }, async (world, partner) => {
    const { dataDir } = world;
    const copy = join(dataDir, "..", "copy.db");
    await world.importRows([row(1), row(2)]);
    await world.tvsJson("backup", copy);
    await world.importRows([row(3)]);
    const lost = await world.serving(async () => {
      const claim = await claimOf(partner, 3);
      await world.tvsJson("log", "checkpoint");
      return claim;
    });
    for (const side of ["-wal", "-shm"]) await rm(join(dataDir, `tvs.db${side}`), { force: true });
    await copyFile(copy, join(dataDir, "tvs.db"));
    const { code, stderr } = await world.tvs("teachers", "import", await world.file("9.csv", csv([row(9)])));
    expect([code, stderr]).toEqual([1, expect.stringContaining("tvs log new")]);
    await world.tvsJson("log", "new", "--accept-loss", "--reason", "x", "--yes");
    await world.importRows([row(9)]);
    await world.serving(async ({ url }) => {
      const claim = await claimOf(partner, 9);
      expect(claim.uri).not.toBe(lost.uri);
      expect([await statusOf(url, lost), await statusOf(url, claim)]).toEqual([1, 0]);
    });
  }));

import { expect, test } from "bun:test";
import { inflateSync } from "node:zlib";
import { getListFromStatusListJWT } from "@sd-jwt/jwt-status-list";
import { deriveSecrets, generateMasterKey } from "../../../src/domain/secrets.ts";
import {
  createStatusIndexer,
  encodeBits,
  indexesPerList,
  setBit,
} from "../../../src/domain/status-list/lists.ts";
import { sweepLicenses } from "../../../src/domain/sweep.ts";
import { planTeacherWrite } from "../../../src/domain/teachers/store.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { lagos } from "../../harness/clock.ts";
import { statusIndexes } from "../../harness/samples.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

/** The draft's example of sixteen bits (draft-ietf-oauth-status-list-21, 4.1). */
const example = { indexes: [0, 3, 4, 5, 7, 8, 9, 13, 15], lst: "eNrbuRgAAhcBXQ" };

const unpacked = (lst: string) => new Uint8Array(inflateSync(Buffer.from(lst, "base64url")));

/** Compressors may give different bytes, so the test compares the decompressed bits. */
test("a status list has the same bits as the example in the IETF draft on status lists", async () => {
  const bits = new Uint8Array(2);
  for (const index of example.indexes) setBit(bits, index);
  expect(bits).toEqual(unpacked(example.lst));
  const encoded = await encodeBits(bits);
  expect(unpacked(encoded)).toEqual(bits);
  expect(encoded).toMatch(/^eN[\w-]+$/);
});

test("the status list library of another project reads each status bit at its index", async () => {
  const bits = new Uint8Array(2 ** 17);
  const indexes = [0, 7, 8, 524_287, 1_048_575];
  for (const index of indexes) setBit(bits, index);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const payload = { status_list: { bits: 1, lst: await encodeBits(bits) } };
  const list = getListFromStatusListJWT(`${part({ typ: "statuslist+jwt" })}.${part(payload)}.`);
  expect(list.statusList.flatMap((bit, index) => (bit === 1 ? [index] : []))).toEqual(indexes);
});

async function write(stores: TestStores, changes: Partial<TeacherContent>): Promise<void> {
  const before = await stores.find("A/B/C/1");
  const at = stores.clock.now();
  const how = { action: "import", actor: "x", calendar: lagos, at } as const;
  const plan = planTeacherWrite(before, { ...before, ...changes }, how);
  expect(await stores.teachers.apply([plan])).toEqual([true]);
}

const revoked: Partial<TeacherContent> = {
  licenseRevokedOn: "2026-04-01",
  licenseRevokedReason: "x",
  licenseRevokedBy: "operator",
};
const lifted = { licenseRevokedOn: null, licenseRevokedReason: null, licenseRevokedBy: null };
const ended = { licenseExpiryDate: "2026-04-30" };

type Step = [changes: Partial<TeacherContent>, isWithdrawn: boolean];
// biome-ignore format: a table reads better in rows
const cases: [what: string, first: Partial<TeacherContent>, ...steps: Step[]][] = [
  ["nothing", {}],
  ["a revoked teacher, until the revocation is lifted", {}, [revoked, true], [lifted, false]],
  ["a deactivated teacher, until the reactivation", {}, [{ active: false }, true], [{ active: true }, false]],
  ["a hidden teacher, until the record is shown again", {}, [{ hidden: true }, true], [{ hidden: false }, false]],
  ["a hidden teacher whose certificate was annulled since, even after the record is shown again", {},
    [{ hidden: true }, true], [{ certificateStatus: "CLAIMED" }, true], [{ hidden: false }, true],
    [{ certificateStatus: "VERIFIED" }, false]],
  ["a deactivated and revoked teacher, until both are lifted", {}, [revoked, true], [{ active: false }, true],
    [lifted, true], [{ active: true }, false]],
  ["a teacher whose licence an import ended, until it is VALID again", {}, [ended, true],
    [{ licenseExpiryDate: null }, true], [{ licenseExpiryDate: "2030-12-31" }, false],
    [{ licenseExpiryDate: null, licenseIssueDate: null }, true],
    [{ licenseExpiryDate: "2030-12-31" }, false]],
  ["no teacher whose licence end an import moved to a future day", {}, [{ licenseExpiryDate: "2030-12-31" }, false]],
  ["no teacher whose licence was never VALID", ended, [{ licenseExpiryDate: null }, false]],
  ["a revoked teacher whose licence ended since, even after the revocation is lifted", {}, [revoked, true],
    [ended, true], [lifted, true], [{ licenseExpiryDate: "2030-12-31" }, false]],
  ["a deactivated teacher whose licence ended since, even after the reactivation", {},
    [{ active: false }, true], [{ licenseExpiryDate: null }, true], [{ active: true }, true]],
  ["a revoked teacher whose licence had ended", ended, [revoked, true]],
  ["a teacher whose certificate is no longer VERIFIED, until it is again", {},
    [{ certificateStatus: "CLAIMED" }, true], [{ certificateStatus: "LEGACY_RECORD" }, true],
    [{ certificateStatus: "VERIFIED" }, false], [{ certificateStatus: "NOT_FOUND" }, true]],
  ["no teacher whose certificate was never VERIFIED", { certificateStatus: "CLAIMED" },
    [{ certificateStatus: "NOT_FOUND" }, false], [{ certificateStatus: "LEGACY_RECORD" }, false]],
];

test.each(cases)("a status list shows as withdrawn: %s", (_what, first, ...steps) =>
  withStores(async (stores) => {
    await stores.put("A/B/C/0");
    const { id } = await stores.put("A/B/C/1", first);
    const withdrawn = async () => new Set((await stores.statusLists.read()).withdrawn);
    expect(await withdrawn()).toEqual(new Set());
    for (const [changes, isWithdrawn] of steps) {
      const before = await stores.statusLists.change();
      const was = (await withdrawn()).has(id);
      await write(stores, changes);
      expect(await withdrawn()).toEqual(new Set(isWithdrawn ? [id] : []));
      // Lists are computed again only if the change number has risen.
      if (was !== isWithdrawn) expect(await stores.statusLists.change()).toBeGreaterThan(before);
    }
  }),
);

test("a licence that expires by date is not withdrawn in the status list", () =>
  withStores(async (stores) => {
    const own = { calendar: lagos, clock: stores.clock, actor: "x" };
    const withdrawn = async () => (await stores.statusLists.read()).withdrawn;
    const expire = async (time: string) => {
      stores.clock.set(time);
      expect((await sweepLicenses(stores.teachers, own)).expired).toBe(1);
    };
    await stores.put("A/B/C/1", { licenseExpiryDate: "2030-12-31" });
    await expire("2031-01-01T08:00:00Z");
    expect(await withdrawn()).toEqual([]);
    await write(stores, { licenseExpiryDate: null });
    expect(await withdrawn()).toEqual([]);
    await write(stores, { licenseExpiryDate: "2035-12-31" });
    await write(stores, ended);
    expect(await withdrawn()).toEqual([1]);
    await write(stores, { licenseExpiryDate: "2035-12-31" });
    await expire("2036-01-01T08:00:00Z");
    expect(await withdrawn()).toEqual([]);
  }));

test("a new teacher who is revoked or deactivated is withdrawn in the status list", () =>
  withStores(async (stores) => {
    const ids = [await stores.put("A/B/C/1", revoked), await stores.put("A/B/C/2", { active: false })];
    expect(await stores.statusLists.read()).toMatchObject({
      lists: [[0, 2]],
      withdrawn: ids.map(({ id }) => id),
      changedAt: stores.clock.now(),
    });
  }));

test("each index of a status list belongs to one teacher id", () => {
  const taken = new Uint8Array(indexesPerList);
  for (let id = 1; id <= indexesPerList; id++) {
    const { list, idx } = statusIndexes(id);
    if (list !== 0 || taken[idx] !== 0) throw new Error(`id ${id} has no index of its own`);
    taken[idx] = 1;
  }
  expect(taken.every((is) => is === 1)).toBe(true);
});

test("status indexes depend on the secret key and on the list's number", () => {
  expect([1, 2, 3].map((id) => statusIndexes(id).idx)).toEqual([274_608, 692_539, 827_793]);
  // 4,102,444,800 is the number of a list after a restore in the year 2100.
  for (const list of [1, 4_102_444_800]) {
    const { list: found, idx } = statusIndexes(list * indexesPerList + 1);
    expect([found, idx === statusIndexes(1).idx]).toEqual([list, false]);
  }
  const other = createStatusIndexer(deriveSecrets(generateMasterKey()).statusListKey);
  const ids = Array.from({ length: 100 }, (_, n) => n + 1);
  expect(ids.filter((id) => other(id).idx === statusIndexes(id).idx).length).toBeLessThan(5);
});

test("the status indexes of consecutive ids are as far apart as random numbers", () => {
  const indexes = Array.from({ length: 20_000 }, (_, n) => statusIndexes(n + 1).idx);
  const steps = indexes.slice(1).map((idx, n) => Math.abs(idx - (indexes[n] as number)));
  const near = steps.filter((step) => step < indexesPerList / 100);
  // Of random pairs, 1.99 % are this near.
  expect(near.length).toBeWithin(300, 500);
  const buckets = new Array(16).fill(0);
  for (const idx of indexes) buckets[Math.floor((idx * 16) / indexesPerList)]++;
  // Random indexes would put 1,250 into each bucket, with a standard deviation of about 34.
  expect(Math.max(...buckets) - Math.min(...buckets)).toBeLessThan(300);
});

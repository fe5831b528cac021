import { expect, test } from "bun:test";
import { inflateSync } from "node:zlib";
import { getListFromStatusListJWT } from "@sd-jwt/jwt-status-list";
import { encodeBits, setBit } from "../../../src/domain/status-list/lists.ts";
import { sweep } from "../../../src/domain/sweep.ts";
import { planWrite } from "../../../src/domain/teachers/store.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { lagos } from "../../harness/clock.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

/** The draft's example of sixteen places (draft-ietf-oauth-status-list-21, 4.1). */
const example = { places: [0, 3, 4, 5, 7, 8, 9, 13, 15], lst: "eNrbuRgAAhcBXQ" };

const unpacked = (lst: string) => new Uint8Array(inflateSync(Buffer.from(lst, "base64url")));

/** What packs bits may do so in other words; what they unpack to is the vector. */
test("a status list has the bits of the draft's example", async () => {
  const bits = new Uint8Array(2);
  for (const place of example.places) setBit(bits, place);
  expect(bits).toEqual(unpacked(example.lst));
  const encoded = await encodeBits(bits);
  expect(unpacked(encoded)).toEqual(bits);
  expect(encoded).toMatch(/^eN[\w-]+$/);
});

test("another library finds the bits at their places", async () => {
  const bits = new Uint8Array(2 ** 17);
  const places = [0, 7, 8, 524_287, 1_048_575];
  for (const place of places) setBit(bits, place);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const payload = { status_list: { bits: 1, lst: await encodeBits(bits) } };
  const list = getListFromStatusListJWT(`${part({ typ: "statuslist+jwt" })}.${part(payload)}.`);
  expect(list.statusList.flatMap((bit, place) => (bit === 1 ? [place] : []))).toEqual(places);
});

async function write(stores: TestStores, changes: Partial<TeacherContent>): Promise<void> {
  const before = await stores.find("A/B/C/1");
  const at = stores.clock.now();
  const plan = planWrite(
    before,
    { ...before, ...changes },
    { action: "import", actor: "x", calendar: lagos, at },
  );
  expect(await stores.teachers.apply([plan])).toEqual([true]);
}

const revoked = {
  licenseRevokedOn: "2026-04-01",
  licenseRevokedReason: "x",
  licenseRevokedBy: "operator",
} as const;
const lifted = { licenseRevokedOn: null, licenseRevokedReason: null, licenseRevokedBy: null };
const ended = { licenseExpiryDate: "2026-04-30" };

type Step = [changes: Partial<TeacherContent>, isWithdrawn: boolean];
// biome-ignore format: a table reads better in rows
const cases: [what: string, first: Partial<TeacherContent>, ...steps: Step[]][] = [
  ["nothing", {}],
  ["a revocation, until it is lifted", {}, [revoked, true], [lifted, false]],
  ["a deactivation, until it is taken back", {}, [{ active: false }, true], [{ active: true }, false]],
  ["the hiding of a record, until it is shown", {}, [{ hidden: true }, true], [{ hidden: false }, false]],
  ["the hiding of a record also when its certificate was annulled before it is shown", {},
    [{ hidden: true }, true], [{ certificateStatus: "CLAIMED" }, true], [{ hidden: false }, true],
    [{ certificateStatus: "VERIFIED" }, false]],
  ["a deactivation and a revocation, until both are", {}, [revoked, true], [{ active: false }, true],
    [lifted, true], [{ active: true }, false]],
  ["a licence that an import ended, until it is VALID again", {}, [ended, true],
    [{ licenseExpiryDate: null }, true], [{ licenseExpiryDate: "2030-12-31" }, false],
    [{ licenseExpiryDate: null, licenseIssueDate: null }, true],
    [{ licenseExpiryDate: "2030-12-31" }, false]],
  ["no end that was moved to a day ahead", {}, [{ licenseExpiryDate: "2030-12-31" }, false]],
  ["no licence that never was VALID", ended, [{ licenseExpiryDate: null }, false]],
  ["a revocation also when the licence has ended since, and when it is lifted then", {}, [revoked, true],
    [ended, true], [lifted, true], [{ licenseExpiryDate: "2030-12-31" }, false]],
  ["a deactivation also when it is taken back of one whose licence was ended meanwhile", {},
    [{ active: false }, true], [{ licenseExpiryDate: null }, true], [{ active: true }, true]],
  ["a revocation of one that has ended", ended, [revoked, true]],
  ["a certificate that was VERIFIED and is no longer, until it is again", {},
    [{ certificateStatus: "CLAIMED" }, true], [{ certificateStatus: "LEGACY_RECORD" }, true],
    [{ certificateStatus: "VERIFIED" }, false], [{ certificateStatus: "NOT_FOUND" }, true]],
  ["no certificate that never was", { certificateStatus: "CLAIMED" },
    [{ certificateStatus: "NOT_FOUND" }, false], [{ certificateStatus: "LEGACY_RECORD" }, false]],
];

test.each(cases)("the status list withdraws %s", (_what, first, ...steps) =>
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
      // Nobody looks at the bits again unless this has moved.
      if (was !== isWithdrawn) expect(await stores.statusLists.change()).toBeGreaterThan(before);
    }
  }),
);

test("a licence that ends by its own date is not withdrawn", () =>
  withStores(async (stores) => {
    const own = { calendar: lagos, clock: stores.clock, actor: "x" };
    await stores.put("A/B/C/1", { licenseExpiryDate: "2030-12-31" });
    stores.clock.set("2031-01-01T08:00:00Z");
    expect((await sweep(stores.teachers, own)).expired).toBe(1);
    expect((await stores.statusLists.read()).withdrawn).toEqual([]);
    await write(stores, { licenseExpiryDate: null });
    expect((await stores.statusLists.read()).withdrawn).toEqual([]);
    await write(stores, { licenseExpiryDate: "2035-12-31" });
    await write(stores, ended);
    expect((await stores.statusLists.read()).withdrawn).toEqual([1]);
    await write(stores, { licenseExpiryDate: "2035-12-31" });
    stores.clock.set("2036-01-01T08:00:00Z");
    expect((await sweep(stores.teachers, own)).expired).toBe(1);
    expect((await stores.statusLists.read()).withdrawn).toEqual([]);
  }));

test("a new teacher who is revoked or deactivated is withdrawn", () =>
  withStores(async (stores) => {
    const ids = [await stores.put("A/B/C/1", revoked), await stores.put("A/B/C/2", { active: false })];
    expect(await stores.statusLists.read()).toMatchObject({
      lists: [[0, 2]],
      withdrawn: ids.map(({ id }) => id),
      changedAt: stores.clock.now(),
    });
  }));

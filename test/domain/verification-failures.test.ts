import { describe, expect, test } from "bun:test";
import { TvsError } from "../../src/domain/errors.ts";
import { planWrite } from "../../src/domain/teachers/store.ts";
import type { Answer } from "../../src/domain/verification.ts";
import { lagos } from "../harness/clock.ts";
import { useQuota } from "../harness/evidence.ts";
import { fixtureKey } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import { aPartner } from "../harness/samples.ts";
import type { TestStores } from "../harness/store.ts";
import {
  type Around,
  ask,
  enrol,
  nin,
  regNo,
  start,
  verified,
  type World,
  withVerification,
} from "./with-verification.ts";

async function nothingStored(world: World): Promise<void> {
  expect(await world.stored()).toEqual([]);
  expect(await world.quotaStore.windows()).toEqual([]);
  expect(await world.driver.query("SELECT 1 FROM idempotency")).toEqual([]);
}

describe("a rotation between signing and committing", () => {
  /** Rotates before the first `times` commits. */
  function rotating(times: number, calls: { kid: string; stored: boolean }[]): Around {
    const next = ["stranger", "retired", "compromised"] as const;
    return {
      attestations: (real, { keys }) => ({
        ...real,
        async record(call) {
          const name = next[calls.length];
          if (calls.length < times && name !== undefined) await rotate(keys, name);
          const stored = await real.record(call);
          calls.push({ kid: call.attestations[0]?.kid ?? "", stored: stored !== null });
          return stored;
        },
      }),
    };
  }

  async function rotate(keys: TestStores["keys"], name: Parameters<typeof fixtureKey>[0]) {
    const ring = await keys.list();
    const kidOf = (state: string) => ring.find((key) => key.state === state)?.kid ?? "";
    const at = Date.parse(start);
    await keys.rotate({
      active: kidOf("active"),
      pending: kidOf("pending"),
      next: await fixtureKey(name, at),
      at,
    });
  }

  test("makes the answer be signed again with the new key, and stored once", async () => {
    const calls: { kid: string; stored: boolean }[] = [];
    await withVerification(
      async (world) => {
        const body = { asked: 1 };
        const answer = await world.one(ask({ regNo }), { key: "k", body });
        expect(calls).toEqual([
          { kid: world.active.kid, stored: false },
          { kid: world.pending.kid, stored: true },
        ]);
        const envelope = JSON.parse(answer.body);
        expect(envelope.signatureKid).toBe(world.pending.kid);
        expect(answer.headers["X-Signature-Kid"]).toBe(world.pending.kid);
        expect((await verified(world, envelope)).protectedHeader.kid).toBe(world.pending.kid);
        const rows = await world.stored();
        expect(rows.map((row) => [row.kid, row.jws])).toEqual([[world.pending.kid, envelope.signature]]);
        expect((await world.quotaStore.windows()).map((one) => one.used)).toEqual([1, 1]);
        expect(await world.one(ask({ regNo }), { key: "k", body })).toEqual({ ...answer, replayed: true });
      },
      rotating(1, calls),
    );
  });

  test("that takes the old key from the signer first is no failure either", async () => {
    let rotated = false;
    let keys: TestStores["keys"] | undefined;
    await withVerification(
      async (world) => {
        keys = world.keys;
        const envelope = JSON.parse((await world.one(ask({ regNo }))).body);
        expect(envelope.signatureKid).toBe(world.pending.kid);
        expect(await world.stored()).toHaveLength(1);
      },
      {
        signer: (real) => ({
          async sign(kid, inputs) {
            if (rotated || keys === undefined) return real.sign(kid, inputs);
            rotated = true;
            await rotate(keys, "stranger");
            throw new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
          },
        }),
      },
    );
  });

  test("again and again is a failure that stores nothing", async () => {
    await withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo }), { key: "k", body: 1 }))).toMatchObject({
          code: "STORE_BUSY",
        });
        await nothingStored(world);
      },
      rotating(3, []),
    );
  });
});

describe("a change between reading and committing", () => {
  /** Changes something before the first commit. */
  function changing(change: (stores: TestStores) => Promise<unknown>): Around {
    let isChanged = false;
    return {
      attestations: (real, stores) => ({
        ...real,
        async record(call) {
          if (!isChanged) await change(stores);
          isChanged = true;
          return real.record(call);
        },
      }),
    };
  }
  const revoke = async ({ teachers }: TestStores) => {
    const stored = await teachers.findStored({ by: "regNo", value: regNo });
    if (stored === null) throw new Error("not found");
    const how = { action: "revoke", actor: "test", calendar: lagos, at: Date.parse(start) } as const;
    await teachers.apply([planWrite(stored, { ...stored, licenseRevokedOn: "2026-03-01" }, how)]);
  };
  const statusOf = ({ body }: Answer) => JSON.parse(body).result.status;

  test("of the record is in the answer: nobody is told what was so before", () =>
    withVerification(async (world) => {
      expect(statusOf(await world.one(ask({ regNo })))).toBe("REVOKED");
      expect((await world.stored()).map(({ status }) => status)).toEqual(["REVOKED"]);
      expect((await world.quotaStore.windows()).map((one) => one.used)).toEqual([1, 1]);
    }, changing(revoke)));

  test("that brings somebody whom the register did not have is in the answer too", () =>
    withVerification(
      async (world) => expect(statusOf(await world.one(ask({ tId: 77 })))).toBe("VALID"),
      changing((stores) => enrol(stores, { regNo: "N/E/W/1", tId: 77 })),
    ));

  test("of one record is in the answer of its whole batch", () =>
    withVerification(async (world) => {
      const { results } = JSON.parse((await world.batch([ask({ tId: 1 }), ask({ regNo })])).body);
      const statuses = results.map((one: { result: { status: string } }) => one.result.status);
      expect(statuses).toEqual(["NOT_FOUND", "REVOKED"]);
      expect(await world.stored()).toHaveLength(2);
    }, changing(revoke)));

  test("that shuts the caller out is an answer of its own, and stores nothing", async () => {
    let isShutOut = false;
    await withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo }), { key: "k", body: 1 }))).toMatchObject({
          code: "CREDENTIAL_REQUIRED",
        });
        await nothingStored(world);
      },
      {
        ...changing(async (stores) => {
          await stores.settings.write({ moved: "on" });
          isShutOut = true;
        }),
        judge() {
          if (isShutOut) throw new TvsError("CREDENTIAL_REQUIRED", "not any more");
          return { partner: aPartner("agency"), credential: "KeyId0000000" };
        },
      },
    );
  });

  test("of what another server has used of the quota is 429, and stores nothing", async () => {
    const used = {
      partnerId: "agency",
      kind: "minute",
      startsAt: Date.parse("2026-03-01T09:30:00Z"),
      used: 10,
    };
    await withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo })))).toMatchObject({
          refusal: { window: "minute", remaining: 0 },
        });
        expect(await world.stored()).toEqual([]);
        expect(await world.quotaStore.windows()).toMatchObject([used]);
      },
      changing(({ driver }) => useQuota(driver, used)),
    );
  });
});

describe("a failure is never an answer", () => {
  const away = () => Promise.reject(new Error("away"));
  const signed: string[] = [];
  const watched: Around["signer"] = (real) => ({
    sign(kid, inputs) {
      signed.push(...inputs);
      return real.sign(kid, inputs);
    },
  });
  const one = (world: World) => world.one(ask({ regNo }), { key: "k", body: 1 });

  test.each<[string, Around, (world: World) => Promise<unknown>]>([
    ["a lookup", { teachers: () => ({ find: away, findEach: away }), signer: watched }, one],
    [
      "a lookup by NIN",
      { teachers: () => ({ find: away, findEach: away }), signer: watched },
      (world) => world.one(ask({ nin }), { key: "k", body: 1 }),
    ],
    ["the signer", { signer: () => ({ sign: away }) }, one],
    [
      "one item of a batch",
      { teachers: (real) => ({ ...real, findEach: away }), signer: watched },
      (world) => world.batch(Array.from({ length: 20 }, (_, i) => ask({ tId: i }))),
    ],
  ])("%s that fails signs nothing and stores nothing", (_what, around, asked) => {
    signed.length = 0;
    return withVerification(async (world) => {
      expect(await rejection(asked(world))).toMatchObject({ message: "away" });
      expect(signed).toEqual([]);
      await nothingStored(world);
    }, around);
  });

  test("a commit that fails answers nothing, and the same key may try again", () => {
    let failures = 1;
    const attestations: Around["attestations"] = (real) => ({
      ...real,
      record: (call) => (failures-- > 0 ? away() : real.record(call)),
    });
    return withVerification(
      async (world) => {
        expect(await rejection(one(world))).toMatchObject({ message: "away" });
        expect((await one(world)).replayed).toBe(false);
        expect(await world.stored()).toHaveLength(1);
      },
      { attestations },
    );
  });
});

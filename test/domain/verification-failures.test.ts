import { describe, expect, test } from "bun:test";
import { TvsError } from "../../src/domain/errors.ts";
import { fixtureKey } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import type { TestStores } from "../harness/store.ts";
import { type Around, ask, nin, regNo, start, type World, withVerification } from "./with-verification.ts";

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

  // biome-ignore format: a table reads better in rows
  test.each<[string, Around, (world: World) => Promise<unknown>]>([
    ["a lookup", { teachers: () => ({ find: away, findEach: away }), signer: watched }, one],
    ["a lookup by NIN", { teachers: () => ({ find: away, findEach: away }), signer: watched },
      (world) => world.one(ask({ nin }), { key: "k", body: 1 })],
    ["the signer", { signer: () => ({ sign: away }) }, one],
    ["one item of a batch", { teachers: (real) => ({ ...real, findEach: away }), signer: watched },
      (world) => world.batch(Array.from({ length: 20 }, (_, i) => ask({ tId: i })))],
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

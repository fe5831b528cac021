import { describe, expect, test } from "bun:test";
import { TvsError } from "../../src/domain/errors.ts";
import { QuotaExceeded } from "../../src/domain/quota.ts";
import type { Answer } from "../../src/domain/verification.ts";
import { fixtureKey } from "../harness/keys.ts";
import { rejection } from "../harness/rejection.ts";
import type { TestStores } from "../harness/store.ts";
import { type Around, ask, nin, regNo, start, verified, withVerification } from "./with-verification.ts";

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
          calls.push({ kid: call.kid, stored });
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

  test("signs a whole batch again", async () => {
    await withVerification(
      async (world) => {
        const { results } = JSON.parse((await world.batch([ask({ regNo }), ask({ tId: 1 })])).body);
        expect(results.map((one: { signatureKid: string }) => one.signatureKid)).toEqual([
          world.pending.kid,
          world.pending.kid,
        ]);
        expect(await world.stored()).toHaveLength(2);
      },
      rotating(1, []),
    );
  });

  test("again and again is a failure that stores nothing", async () => {
    await withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo }), { key: "k", body: 1 }))).toMatchObject({
          code: "SIGNER_UNAVAILABLE",
        });
        expect(await world.stored()).toEqual([]);
        expect(await world.quotaStore.windows()).toEqual([]);
        expect(await world.driver.query("SELECT 1 FROM idempotency")).toEqual([]);
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

  test("a lookup that fails signs nothing and stores nothing", async () => {
    signed.length = 0;
    await withVerification(
      async (world) => {
        for (const identifier of [{ regNo }, { tId: 204_417 }, { nin }]) {
          expect(await rejection(world.one(ask(identifier), { key: "k", body: 1 }))).toMatchObject({
            message: "away",
          });
        }
        expect(signed).toEqual([]);
        expect(await world.stored()).toEqual([]);
        expect(await world.driver.query("SELECT 1 FROM idempotency")).toEqual([]);
      },
      { teachers: () => ({ find: away, findEach: away }), signer: watched },
    );
  });

  test("a signer that fails stores nothing", () =>
    withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo })))).toMatchObject({ message: "away" });
        expect(await world.stored()).toEqual([]);
        expect(await world.quotaStore.windows()).toEqual([]);
      },
      { signer: () => ({ sign: away }) },
    ));

  test("a commit that fails answers nothing, and the same key may try again", async () => {
    let failures = 1;
    await withVerification(
      async (world) => {
        expect(await rejection(world.one(ask({ regNo }), { key: "k", body: 1 }))).toMatchObject({
          message: "away",
        });
        const answer = await world.one(ask({ regNo }), { key: "k", body: 1 });
        expect(answer.replayed).toBe(false);
        expect(await world.stored()).toHaveLength(1);
      },
      {
        attestations: (real) => ({
          ...real,
          record: (call) => (failures-- > 0 ? away() : real.record(call)),
        }),
      },
    );
  });

  test("one failing item fails the whole batch", async () => {
    await withVerification(
      async (world) => {
        const questions = Array.from({ length: 20 }, (_, i) => ask({ tId: i }));
        expect(await rejection(world.batch(questions))).toMatchObject({ message: "away" });
        expect(await world.stored()).toEqual([]);
        expect(await world.quotaStore.windows()).toEqual([]);
      },
      { teachers: (real) => ({ ...real, findEach: away }) },
    );
  });
});

describe("a retry", () => {
  const same = ({ body, headers }: Answer) => ({ body, headers });

  test("is the first answer byte for byte, costs no day token and leaves no second evidence", () =>
    withVerification(async (world) => {
      const first = await world.one(ask({ regNo }), { key: "k", body: { b: 1, a: 2 } });
      world.clock.add(61_000);
      const again = await world.one(ask({ regNo }), { key: "k", body: { a: 2, b: 1 } });
      expect(again).toEqual({ ...same(first), replayed: true });
      expect(await world.stored()).toHaveLength(1);
      expect((await world.quotaStore.windows()).find((one) => one.kind === "day")?.used).toBe(1);
    }));

  test("is answered when the day is spent, while new work is refused", () =>
    withVerification(
      async (world) => {
        const first = await world.batch([ask({ regNo })], { key: "k", body: 1 });
        expect(world.quotaState().remaining).toBe(0);
        expect(await world.batch([ask({ regNo })], { key: "k", body: 1 })).toEqual({
          ...same(first),
          replayed: true,
        });
        const refusal = await rejection(world.batch([ask({ regNo })], { key: "new", body: 1 }));
        expect(refusal).toMatchObject({ code: "QUOTA_EXCEEDED", refusal: { window: "day" } });
        expect(String(refusal)).toMatch(/per-day quota exceeded; retry after \d+ s$/);
      },
      { partner: { perDay: 1 } },
    ));

  test("after a refusal by quota runs when there is quota again", () =>
    withVerification(
      async (world) => {
        await world.one(ask({ regNo }));
        const again = () => world.one(ask({ regNo }), { key: "k", body: 1 });
        expect(await rejection(again())).toBeInstanceOf(QuotaExceeded);
        world.clock.set("2026-03-02T00:00:00Z");
        expect((await again()).replayed).toBe(false);
      },
      { partner: { perDay: 1 } },
    ));

  test("at the same time as the first runs the work once", () =>
    withVerification(async (world) => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => world.one(ask({ regNo }), { key: "k", body: 1 })),
      );
      expect(new Set(answers.map((one) => one.body)).size).toBe(1);
      expect(answers.filter((one) => !one.replayed)).toHaveLength(1);
      expect(await world.stored()).toHaveLength(1);
    }));
});

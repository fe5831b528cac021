import { expect, mock, test } from "bun:test";
import { TvsError } from "../../src/domain/errors.ts";
import { defaultPolicy } from "../../src/domain/policy.ts";
import { fixtureKey, type KeyName } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import type { TestStores } from "../harness/store.ts";
import type { Around, World } from "./with-verification.ts";
import { ask, enrol, iat, nin, purpose, regNo, start, withVerification } from "./with-verification.ts";

test("a check stores an attestation with the signature that the partner gets", () =>
  withVerification(async (world) => {
    const envelope = JSON.parse((await world.one(ask({ regNo }, { examBatch: "2026/1" }))).body);
    expect(await world.stored()).toEqual([
      {
        ...{ verificationId: envelope.verificationId, partnerId: "agency", issuedAt: iat },
        ...{ kid: world.active.kid, operation: "eligibility-check", purpose },
        ...{ policyVersion: defaultPolicy.version, teacherId: 1, reference: `regNo:${regNo}` },
        ...{ ninIndex: null, status: "VALID", eligible: true, context: '{"examBatch":"2026/1"}' },
        ...{ credential: "KeyId0000000", requestId: "request-1", jws: envelope.signature },
      },
    ]);
  }));

test("a check uses the current day in the service's time zone", () =>
  withVerification(async (world) => {
    await enrol(world, { regNo: "A/1/B/1", licenseExpiryDate: "2026-03-31" });
    const status = async () => JSON.parse((await world.one(ask({ regNo: "A/1/B/1" }))).body).result.status;
    world.clock.set("2026-03-31T22:59:59.999Z");
    expect(await status()).toBe("VALID");
    world.clock.add(1);
    expect(await status()).toBe("EXPIRED");
  }));

const away = () => Promise.reject(new Error("away"));

/** Runs a function before each commit. */
const beforeCommits = (run: (stores: TestStores) => unknown): Around => ({
  attestations: (real, stores) => ({
    ...real,
    async record(call) {
      await run(stores);
      return real.record(call);
    },
  }),
});

test("the attestations of a batch are stored in the order of its items, in one commit", async () => {
  const commits = mock();
  await withVerification(async (world) => {
    const tIds = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? 204_417 : i));
    await world.batch(tIds.map((tId) => ask({ tId })));
    const rows = (await world.stored()).reverse();
    expect(rows.map((row) => [row.reference, row.status, row.operation])).toEqual(
      tIds.map((tId) => [`tId:${tId}`, tId === 204_417 ? "VALID" : "NOT_FOUND", "batch"]),
    );
    expect(commits).toHaveBeenCalledTimes(1);
  }, beforeCommits(commits));
});

test("a batch is charged as one call, or as one call for each item if the partner's terms say so", async () => {
  const questions = [ask({ regNo }), ask({ tId: 1 }), ask({ tId: 2 })];
  const used = async (world: World) => {
    await world.batch(questions);
    return (await world.quotaStore.windows()).map((one) => one.used);
  };
  await withVerification(async (world) => expect(await used(world)).toEqual([1, 1]));
  await withVerification(async (world) => expect(await used(world)).toEqual([3, 3]), {
    partner: { batchCost: "item" },
  });
});

test("a batch that exceeds the quota is refused before any lookup", () => {
  const teachers: Around["teachers"] = (real) => ({ ...real, findEach: away });
  const around: Around = { teachers, partner: { batchCost: "item", perDay: 1 } };
  return withVerification(async (world) => {
    const refusal = await catchError(world.batch([ask({ regNo }), ask({ tId: 1 })]));
    expect(refusal).toMatchObject({ code: "DAY_QUOTA" });
  }, around);
});

async function nothingStored(world: World): Promise<void> {
  expect(await world.stored()).toEqual([]);
  expect(await world.quotaStore.windows()).toEqual([]);
  expect(await world.driver.query("SELECT 1 FROM idempotency")).toEqual([]);
}

async function rotate(keys: TestStores["keys"], name: KeyName): Promise<void> {
  const ring = await keys.list();
  const kidOf = (state: string) => ring.find((key) => key.state === state)?.kid ?? "";
  const [at, active, pending] = [Date.parse(start), kidOf("active"), kidOf("pending")];
  await keys.rotate({ active, pending, next: await fixtureKey(name, at), at });
}

test("a call succeeds with the new key if a rotation unloads the old key before the signature", async () => {
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
          if (keys === undefined) return real.sign(kid, inputs);
          const own = keys;
          keys = undefined;
          await rotate(own, "stranger");
          throw new TvsError("SIGNER_UNAVAILABLE", "the signing key is not loaded; try again");
        },
      }),
    },
  );
});

const one = (world: World) => world.one(ask({ regNo }), { key: "k", body: 1 });

test("a call fails and stores nothing if three rotations happen during the call", () => {
  const next: KeyName[] = ["stranger", "retired", "compromised"];
  return withVerification(
    async (world) => {
      expect(await catchError(one(world))).toMatchObject({ code: "STORE_BUSY" });
      await nothingStored(world);
    },
    beforeCommits(({ keys }) => rotate(keys, next.shift() as KeyName)),
  );
});

const signed: string[] = [];
const watched: Around["signer"] = (real) => ({
  sign(kid, inputs) {
    signed.push(...inputs);
    return real.sign(kid, inputs);
  },
});

// biome-ignore format: a table reads better in rows
test.each<[string, Around, (world: World) => Promise<unknown>]>([
  ["a lookup", { teachers: () => ({ find: away, findEach: away }), signer: watched }, one],
  ["a lookup by NIN", { teachers: () => ({ find: away, findEach: away }), signer: watched },
    (world) => world.one(ask({ nin }), { key: "k", body: 1 })],
  ["the signer", { signer: () => ({ sign: away }) }, one],
  ["one item of a batch", { teachers: (real) => ({ ...real, findEach: away }), signer: watched },
    (world) => world.batch(Array.from({ length: 20 }, (_, i) => ask({ tId: i })))],
])("a call signs nothing and stores nothing after a failure of %s", (_what, around, asked) => {
  signed.length = 0;
  return withVerification(async (world) => {
    expect(await catchError(asked(world))).toMatchObject({ message: "away" });
    expect(signed).toEqual([]);
    await nothingStored(world);
  }, around);
});

test("a call whose commit fails gets no answer, and a retry with its idempotency key succeeds", () => {
  const failsOnce = mock().mockImplementationOnce(away);
  return withVerification(async (world) => {
    expect(await catchError(one(world))).toMatchObject({ message: "away" });
    expect((await one(world)).replayed).toBe(false);
    expect(await world.stored()).toHaveLength(1);
  }, beforeCommits(failsOnce));
});

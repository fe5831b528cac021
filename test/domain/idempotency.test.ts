import { expect, test } from "bun:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import {
  createIdempotentRunner,
  type IdempotencyRecord,
  type IdempotentRequest,
  type IdempotentRunner,
  idempotencyRetentionMs,
  type PendingRecord,
  type StoredAnswer,
} from "../../src/domain/idempotency.ts";
import { formatCanonicalJson } from "../../src/partner/canonical-json.ts";
import { aClock } from "../harness/clock.ts";
import { attest } from "../harness/evidence.ts";
import { fillRing } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import { anAttestation, secrets } from "../harness/samples.ts";
import { type TestStores, withStores } from "../harness/store.ts";

const start = "2026-03-01T12:00:00.000Z";
const reused = { code: "IDEMPOTENCY_KEY_REUSED" };
const request: IdempotentRequest = { partnerId: "agency", operation: "batch", key: "key-1", body: { a: 1 } };

/** Runs a test with real idempotency over a real store. Its `commit` stores an answer as a verification does. */
function withIdempotency(run: (world: Awaited<ReturnType<typeof open>>) => Promise<void>): Promise<void> {
  return withStores(async (stores) => run(await open(stores)));
}

async function open({ keys, driver, idempotencyStore }: TestStores) {
  const clock = aClock(start);
  const { active } = await fillRing(keys, clock.now());
  const idempotency = createIdempotentRunner(idempotencyStore, secrets, clock);
  const service = outcomesOf(idempotency);
  let runs = 0;

  async function commit(pendingRecord: PendingRecord): Promise<StoredAnswer> {
    runs++;
    const answer = { headers: { "X-Run": String(runs) }, body: `{"run":${runs},"text":"é\\u2028"}` };
    const record: IdempotencyRecord = { ...pendingRecord, ...answer };
    await attest(driver, [anAttestation(runs, { kid: active.kid })], { idempotency: record });
    return answer;
  }
  return { idempotency, service, clock, commit, store: idempotencyStore, runs: () => runs };
}

/** Wraps idempotency for work that always stores its answer, so that `run` never returns null. */
function outcomesOf({ run }: IdempotentRunner) {
  return {
    run: async (...asked: Parameters<IdempotentRunner["run"]>) =>
      (await run(...asked)) ?? Promise.reject(new Error("the work stored nothing")),
  };
}

test("a retry with another body is refused while the first call runs and after it has ended", () =>
  withIdempotency(async ({ service, commit, runs }) => {
    const running = service.run(request, commit);
    const other = { ...request, body: { a: 2 } };
    expect(await catchError(service.run(other, commit))).toMatchObject(reused);
    const answer = await running;
    const message = "this Idempotency-Key was used with a different body";
    expect(await catchError(service.run(other, commit))).toMatchObject({ ...reused, message });
    expect(await service.run(request, commit)).toEqual({ ...answer, replayed: true });
    expect(runs()).toBe(1);
  }));

test.each([
  ["partner", { partnerId: "other" }],
  ["operation", { operation: "eligibility-check" }],
  ["key", { key: "key-2" }],
  ["case of its letters", { key: "KEY-1" }],
  ["split between partner and operation", { partnerId: "agencyb", operation: "atch" }],
])("a call with the same idempotency key and another %s runs as a different call", (_what, changes) =>
  withIdempotency(async ({ service, commit, runs }) => {
    await service.run(request, commit);
    expect((await service.run({ ...request, ...changes }, commit)).replayed).toBe(false);
    expect(runs()).toBe(2);
  }),
);

test("a retry gets the stored answer for 72 hours, and is a new call after that", () =>
  withIdempotency(async ({ service, commit, clock, runs }) => {
    await service.run(request, commit);
    clock.add(idempotencyRetentionMs);
    expect((await service.run(request, commit)).replayed).toBe(true);
    clock.add(1);
    expect((await service.run({ ...request, body: "another" }, commit)).replayed).toBe(false);
    expect(runs()).toBe(2);
    expect(idempotencyRetentionMs).toBe(72 * 3_600_000);
  }));

test("exactly one of the duplicates that wait for a running call runs if the running call fails", () =>
  withIdempotency(async ({ service, commit, runs }) => {
    let attempts = 0;
    const work = async (pendingRecord: PendingRecord) => {
      if (++attempts === 1) throw new Error("the disk is gone");
      return commit(pendingRecord);
    };
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => service.run(request, work)));
    expect(outcomes[0]).toMatchObject({ status: "rejected", reason: { message: "the disk is gone" } });
    const rest = outcomes
      .slice(1)
      .map((one) => (one.status === "fulfilled" ? one.value.replayed : one.reason));
    expect(rest).toEqual([false, true, true]);
    expect([attempts, runs()]).toEqual([2, 1]);
  }));

test("a call whose commit is refused returns the answer that another process stored", () =>
  withIdempotency(async ({ idempotency, service, commit, store, clock, runs }) => {
    const elsewhere = outcomesOf(createIdempotentRunner(store, secrets, clock));
    const refused = await idempotency.run(request, async () => {
      await elsewhere.run(request, commit);
      return null;
    });
    expect(refused).toBeNull();
    const again = await service.run(request, commit);
    expect([again.replayed, runs()]).toEqual([true, 1]);
    const other = { ...request, body: { a: 2 } };
    expect(await catchError(service.run(other, commit))).toMatchObject(reused);
  }));

/** This test waits two seconds, because the time limit of a waiting call is real time. */
test("a duplicate call is refused after a wait of two seconds, and the first call continues", () =>
  withIdempotency(async ({ service, commit, runs }) => {
    const [begun, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const failed = service.run(request, () => {
      for (const endsAt = performance.now() + 50; performance.now() < endsAt; );
      return Promise.reject(new Error("no"));
    });
    const first = service.run(request, async (pendingRecord) => {
      begun.resolve();
      await opened.promise;
      return commit(pendingRecord);
    });
    const refused: string[] = [];
    setTimeout(() => refused.push("a second"), 1_000);
    const follow = (name: string) =>
      catchError(service.run(request, commit).finally(() => refused.push(name)));
    const patient = follow("who waited behind both");
    await catchError(failed);
    await begun.promise;
    const message = "a call with this Idempotency-Key is still running; try again";
    const error = { code: "IDEMPOTENCY_KEY_IN_USE", message };
    expect(await Promise.all([patient, follow("who came later")])).toMatchObject([error, error]);
    expect(refused).toEqual(["a second", "who waited behind both", "who came later"]);
    opened.resolve();
    expect((await first).replayed).toBe(false);
    expect((await service.run(request, commit)).replayed).toBe(true);
    expect(runs()).toBe(1);
  }));

test("a call does not run if its idempotency record cannot be read", () =>
  withIdempotency(async ({ commit, clock, store, runs }) => {
    const find = () => Promise.reject(new Error("away"));
    const broken = createIdempotentRunner({ ...store, find }, secrets, clock);
    expect(await catchError(broken.run(request, commit))).toMatchObject({ message: "away" });
    expect(runs()).toBe(0);
  }));

test.each([
  ["", false],
  ["k", true],
  ["k".repeat(255), true],
  ["k".repeat(256), false],
  [`"${"k".repeat(255)}"`, true],
  [`"${"k".repeat(256)}"`, false],
  ['""', false],
  ['"', false],
  ['"k', false],
  ['"k" ', false],
  ['"k", "l"', false],
  ['"k\\x"', false],
  ['"é"', false],
  ['k"', true],
  ["é", true],
])("the idempotency key %p is accepted: %p", (key, allowed) =>
  withIdempotency(async ({ service, commit, runs }) => {
    const error = await catchError(service.run({ ...request, key }, commit));
    const message = expect.stringContaining("Idempotency-Key");
    if (allowed) expect(error).toBeUndefined();
    else expect(error).toMatchObject({ code: "IDEMPOTENCY_KEY_INVALID", message });
    expect(runs()).toBe(allowed ? 1 : 0);
  }),
);

test.each([
  ["k", '"k"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
])("the bare idempotency key %s is the same key as the quoted %s", (bare, quoted) =>
  withIdempotency(async ({ service, commit, runs }) => {
    await service.run({ ...request, key: bare }, commit);
    expect(await service.run({ ...request, key: quoted }, commit)).toMatchObject({ replayed: true });
    expect(runs()).toBe(1);
  }),
);

test("formatCanonicalJson writes JSON by RFC 8785", () => {
  const value = fc.json({ stringUnit: "binary" }).map((text) => JSON.parse(text));
  const same = fc.property(value, (one) => formatCanonicalJson(one) === canonicalize(one));
  fc.assert(same, { seed: 1, numRuns: 3_000 });
});

test("formatCanonicalJson returns a text for NaN, undefined, lone surrogates and __proto__", () => {
  for (const value of [Number.NaN, undefined]) expect(formatCanonicalJson(value)).toBe("null");
  expect(formatCanonicalJson("\ud800")).toBe('"\\ud800"');
  const proto = '{"__proto__":{"x":1},"constructor":2}';
  expect(formatCanonicalJson(JSON.parse(proto))).toBe(proto);
  // Members are in the order of their UTF-16 code units.
  expect(formatCanonicalJson({ "": 0, "\uffff": 3, "\u{1F600}": 1, é: 2 })).toBe(
    '{"":0,"é":2,"😀":1,"\uffff":3}',
  );
});

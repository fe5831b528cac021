import { expect, test } from "bun:test";
import type { Counter, Histogram } from "prom-client";
import { scopes } from "../../src/domain/partners.ts";
import {
  type Counters,
  createServiceCounters,
  makeCountingLookup,
  makeCountingOutbox,
  makeCountingSigner,
  makeCountingStore,
  teacherOperations,
} from "../../src/metrics/counters.ts";
import { catchError } from "../harness/rejection.ts";

const table = [
  { path: "/", traffic: "other" },
  { path: "/lookup/{tId}", traffic: "partner" },
  { path: "/icon.svg" },
  { path: "/lookup", traffic: "public" },
  // The second route has the path of the first, and another method.
  { path: "/", traffic: "other" },
] as const;

/** Reads a metric's samples that are not 0, each as the values of its labels and its number. */
async function samplesOf({ metrics }: Counters, name: string) {
  const metric = metrics.find((one) => (one as unknown as { name: string }).name === name);
  const { values } = await (metric as Counter | Histogram).get();
  const said = values.filter(({ value }) => value !== 0);
  return Object.fromEntries(said.map(({ labels, value }) => [Object.values(labels).join(" "), value]));
}

/** Reads how many signatures were made, failed and are under way. */
async function signaturesOf(counters: Counters) {
  const made = (await samplesOf(counters, "tvs_signatures_total"))[""] ?? 0;
  const failed = (await samplesOf(counters, "tvs_signature_failures_total"))[""] ?? 0;
  return { made, failed, underWay: counters.signaturesUnderWay() };
}

test("the counters have one entry for each route with traffic, and one for all other routes", () => {
  const routes = [...createServiceCounters(table).routes].map(
    ([route, { traffic }]) => `${route} ${traffic}`,
  );
  expect(routes).toEqual(["other other", "/ other", "/lookup/{tId} partner", "/lookup public"]);
});

test("requests are counted by route, method and status, and their durations are counted by route", async () => {
  const counters = createServiceCounters(table);
  counters.requested("/lookup", "GET", 200, 2);
  counters.requested("/lookup", "GET", 200, 4);
  counters.requested("/lookup", "GET", 429, 0.1);
  counters.requested("/lookup/{tId}", "POST", 503, 30);
  counters.requested("/nowhere/12345678901", "BREW", 404, 1);
  expect(await samplesOf(counters, "tvs_http_requests_total")).toEqual({
    "/lookup GET 200": 2,
    "/lookup GET 429": 1,
    "/lookup/{tId} POST 503": 1,
    "other other 404": 1,
  });
  expect(counters.routes.get("/lookup")?.durations.count).toBe(3);
  const { requests } = await counters.totals();
  const labels = { route: "/lookup", method: "GET", status: 200 };
  expect(requests).toContainEqual(expect.objectContaining({ labels, value: 2 }));
});

test("the public lookup and the operation of each scope are counted under the names that dashboards use", () => {
  const lookups = ["public-lookup", "lookup-by-reg-no", "lookup-by-tid", "lookup-by-nin"];
  expect(teacherOperations).toEqual(expect.arrayContaining([...lookups, "eligibility-check", "batch"]));
  expect(teacherOperations).toHaveLength(1 + scopes.length);
});

test("a signature counts as queued until it is made, and then as made", async () => {
  const counters = createServiceCounters([]);
  const waiting = Promise.withResolvers<string[]>();
  const signer = makeCountingSigner({ sign: () => waiting.promise }, counters);
  const both = [signer.sign("kid", ["one"]), signer.sign("kid", ["two", "three"])];
  expect(await signaturesOf(counters)).toEqual({ made: 0, failed: 0, underWay: 3 });
  waiting.resolve(["signature"]);
  expect(await Promise.all(both)).toEqual([["signature"], ["signature"]]);
  expect(await signaturesOf(counters)).toEqual({ made: 3, failed: 0, underWay: 0 });
  const peaks = [counters.takeInterval(), counters.takeInterval()].map(({ signingPeak }) => signingPeak);
  expect(peaks).toEqual([3, 0]);
});

test("a signature that fails is reported to its caller, and counted as failed", async () => {
  const counters = createServiceCounters([]);
  const signer = makeCountingSigner({ sign: () => Promise.reject(new Error("no key")) }, counters);
  expect(await catchError(signer.sign("kid", ["one"]))).toEqual(new Error("no key"));
  expect(await signaturesOf(counters)).toEqual({ made: 0, failed: 1, underWay: 0 });
});

test("a public answer is counted by its licence status, and an answer about nobody as NOT_FOUND", async () => {
  const counters = createServiceCounters([]);
  await makeCountingLookup(async () => ({ found: false, verifiedAt: "" }), counters)("anything");
  expect(await samplesOf(counters, "tvs_answers_total")).toEqual({ "public-lookup NOT_FOUND": 1 });
});

test("a stored statement is counted once for each teacher of its list", async () => {
  const counters = createServiceCounters([]);
  const outcomes = [{}, null, {}];
  const store = { record: async () => outcomes.shift() };
  const { record } = makeCountingStore(store as never, counters);
  const call = {
    attestations: [{ operation: "roster", status: "STATEMENT" }],
    people: [{ status: "VALID" }, { status: "EXPIRED" }],
    read: [1, 2, 3],
  };
  await record(call as never);
  await record(call as never);
  await record({ attestations: [{ operation: "batch", status: "VALID" }], read: [1] } as never);
  const people = { "roster VALID": 1, "roster EXPIRED": 1, "roster NOT_FOUND": 1 };
  expect(await samplesOf(counters, "tvs_answers_total")).toEqual({ ...people, "batch VALID": 1 });
});

test("a delivery attempt is counted only if its sender still has the delivery's lease", async () => {
  const counters = createServiceCounters([]);
  const outcomes = [true, false, true];
  const outbox = makeCountingOutbox({ finish: async () => outcomes.shift() } as never, counters);
  await outbox.finish({ next: "delivered" } as never);
  await outbox.finish({ next: "dead" } as never);
  await outbox.finish({ next: { dueAt: 1 } } as never);
  expect(await samplesOf(counters, "tvs_webhook_deliveries_total")).toEqual({ delivered: 1, failed: 1 });
});

test("commits are counted by the number of writes in them", async () => {
  const counters = createServiceCounters([]);
  for (const writes of [1, 1, 3, 256, 300]) counters.committed(writes);
  const groups = await samplesOf(counters, "tvs_commit_group_size");
  expect([1, 2, 4, 128, 256, "+Inf"].map((bound) => groups[bound])).toEqual([2, 2, 3, 3, 4, 5]);
});

test("takeInterval returns the longest timer delay since its last call", () => {
  const counters = createServiceCounters([]);
  for (const ms of [3, 12, 5]) counters.lagged(ms);
  expect([counters.takeInterval(), counters.takeInterval()].map(({ lagMs }) => lagMs)).toEqual([12, 0]);
});

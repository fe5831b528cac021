import { describe, expect, test } from "bun:test";
import { scopes } from "../../src/domain/partners.ts";
import {
  answerOperations,
  countedOutbox,
  countedPublicLookup,
  countedSigner,
  createWorkCounters,
} from "../../src/metrics/work.ts";
import { rejection } from "../harness/rejection.ts";

describe("work", () => {
  test("is told apart by the public lookup and what each scope opens, under names that dashboards know", () => {
    const known = [
      "public-lookup",
      "eligibility-check",
      "lookup-by-reg-no",
      "lookup-by-tid",
      "lookup-by-nin",
    ];
    expect(answerOperations).toEqual(expect.arrayContaining([...known, "batch"]));
    expect(answerOperations).toHaveLength(1 + scopes.length);
  });

  test("signatures are counted when they are made, and are a queue until then", async () => {
    const work = createWorkCounters();
    const waiting = Promise.withResolvers<string[]>();
    const signer = countedSigner({ sign: () => waiting.promise }, work);
    const both = [signer.sign("kid", ["one"]), signer.sign("kid", ["two", "three"])];
    expect(work.signatures()).toEqual({ made: 0, failed: 0, underWay: 3 });
    waiting.resolve(["signature"]);
    expect(await Promise.all(both)).toEqual([["signature"], ["signature"]]);
    expect(work.signatures()).toEqual({ made: 3, failed: 0, underWay: 0 });
    expect([work.takeQueuePeak(), work.takeQueuePeak()]).toEqual([3, 0]);
  });

  test("a signature that fails is passed on as a failure, and counted as one", async () => {
    const work = createWorkCounters();
    const signer = countedSigner({ sign: () => Promise.reject(new Error("no key")) }, work);
    expect(await rejection(signer.sign("kid", ["one"]))).toEqual(new Error("no key"));
    expect(work.signatures()).toEqual({ made: 0, failed: 1, underWay: 0 });
  });

  test("a public answer is counted by its licence status, and one about nobody as NOT_FOUND", async () => {
    const work = createWorkCounters();
    const lookup = countedPublicLookup(async () => ({ found: false, verifiedAt: "" }), work);
    await lookup("anything");
    expect(work.answers("public-lookup", "NOT_FOUND")).toBe(1);
    expect(work.answers("public-lookup", "VALID")).toBe(0);
  });

  test("an attempt counts only for who still held the lease", async () => {
    const work = createWorkCounters();
    const outcomes = [true, false, true];
    const outbox = countedOutbox({ finish: async () => outcomes.shift() } as never, work);
    await outbox.finish({ next: "delivered" } as never);
    await outbox.finish({ next: "dead" } as never);
    await outbox.finish({ next: { dueAt: 1 } } as never);
    expect(["delivered", "failed", "dead"].map((one) => work.deliveries(one as "dead"))).toEqual([1, 1, 0]);
  });

  test("commits are sorted by how many acts share them", () => {
    const work = createWorkCounters();
    for (const acts of [1, 1, 3, 256, 300]) work.committed(acts);
    const { groups, acts, buckets } = work.commits();
    expect([groups, acts]).toEqual([5, 561]);
    expect(buckets).toEqual([2, 0, 1, 0, 0, 0, 0, 0, 1]);
  });
});

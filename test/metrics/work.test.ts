import { describe, expect, test } from "bun:test";
import { scopes } from "../../src/domain/partners.ts";
import {
  answerOperations,
  countedOutbox,
  countedPublicLookup,
  countedSigner,
  createWorkCounters,
  deliveryOutcomes,
  groupBounds,
  newWorkCounts,
} from "../../src/metrics/work.ts";
import { rejection } from "../harness/rejection.ts";

type WorkCounters = ReturnType<typeof createWorkCounters>;
const signatures = (work: WorkCounters) => ({
  made: work.total("signatures made"),
  failed: work.total("signatures failed"),
  underWay: work.total("signatures under way"),
});
const commits = (work: WorkCounters) =>
  [work.total("commits"), work.total("commits: acts"), work.total("commits: held ms")] as const;

describe("work", () => {
  test("is told apart by the public lookup and what each scope opens, under names that dashboards know", () => {
    // biome-ignore format: a list reads better in rows
    const known = [
      "public-lookup", "eligibility-check", "lookup-by-reg-no", "lookup-by-tid", "lookup-by-nin",
    ];
    expect(answerOperations).toEqual(expect.arrayContaining([...known, "batch"]));
    expect(answerOperations).toHaveLength(1 + scopes.length);
  });

  test("signatures are counted when they are made, and are a queue until then", async () => {
    const work = createWorkCounters();
    const waiting = Promise.withResolvers<string[]>();
    const signer = countedSigner({ sign: () => waiting.promise }, work);
    const both = [signer.sign("kid", ["one"]), signer.sign("kid", ["two", "three"])];
    expect(signatures(work)).toEqual({ made: 0, failed: 0, underWay: 3 });
    waiting.resolve(["signature"]);
    expect(await Promise.all(both)).toEqual([["signature"], ["signature"]]);
    expect(signatures(work)).toEqual({ made: 3, failed: 0, underWay: 0 });
    expect([work.takePeaks(), work.takePeaks()].map(({ signingQueue }) => signingQueue)).toEqual([3, 0]);
  });

  test("a signature that fails is passed on as a failure, and counted as one", async () => {
    const work = createWorkCounters();
    const signer = countedSigner({ sign: () => Promise.reject(new Error("no key")) }, work);
    expect(await rejection(signer.sign("kid", ["one"]))).toEqual(new Error("no key"));
    expect(signatures(work)).toEqual({ made: 0, failed: 1, underWay: 0 });
  });

  test("a public answer is counted by its licence status, and one about nobody as NOT_FOUND", async () => {
    const work = createWorkCounters();
    const lookup = countedPublicLookup(async () => ({ found: false, verifiedAt: "" }), work);
    await lookup("anything");
    expect(work.total("answers: public-lookup NOT_FOUND")).toBe(1);
    expect(work.total("answers: public-lookup VALID")).toBe(0);
  });

  test("an attempt counts only for who still held the lease", async () => {
    const work = createWorkCounters();
    const outcomes = [true, false, true];
    const outbox = countedOutbox({ finish: async () => outcomes.shift() } as never, work);
    await outbox.finish({ next: "delivered" } as never);
    await outbox.finish({ next: "dead" } as never);
    await outbox.finish({ next: { dueAt: 1 } } as never);
    expect(deliveryOutcomes.map((outcome) => work.total(`deliveries: ${outcome}`))).toEqual([1, 1, 0]);
  });

  test("commits are sorted by how many acts share them", () => {
    const work = createWorkCounters();
    for (const acts of [1, 1, 3, 256, 300]) work.committed(acts, 0.25);
    expect(commits(work)).toEqual([5, 561, 1.25]);
    expect(groupBounds.map((bound) => work.total(`commits: up to ${bound} acts`))).toEqual([
      2, 0, 1, 0, 0, 0, 0, 0, 1,
    ]);
  });

  test("of several threads is one sum, and their longest queue and lag are the worst of any", () => {
    const memory = newWorkCounts(2);
    const main = createWorkCounters({ memory, thread: 0 });
    const other = createWorkCounters({ memory, thread: 1 });
    other.count("answers: batch VALID");
    main.count("answers: batch VALID");
    other.signingBegan(3);
    main.signingBegan(1);
    other.lagged(12);
    main.committed(2, 0.5);
    other.committed(4, 0.25);
    expect(main.total("answers: batch VALID")).toBe(2);
    expect(signatures(main).underWay).toBe(4);
    expect(commits(main)).toEqual([2, 6, 0.75]);
    expect(main.takePeaks()).toEqual({ signingQueue: 3, lagMs: 12 });
    other.signingEnded(1, false);
    expect(main.takePeaks()).toEqual({ signingQueue: 2, lagMs: 0 });
  });

  test("of a thread that is replaced is kept, but for what it had under way", () => {
    const memory = newWorkCounts(2);
    const main = createWorkCounters({ memory, thread: 0 });
    const dead = createWorkCounters({ memory, thread: 1 });
    dead.signingBegan(2);
    dead.signingEnded(1, false);
    createWorkCounters({ memory, thread: 1 });
    expect(signatures(main)).toEqual({ made: 1, failed: 0, underWay: 0 });
  });
});

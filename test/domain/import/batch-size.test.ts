import { describe, expect, test } from "bun:test";
import { createBatchSize } from "../../../src/domain/import/batch-size.ts";

/** The batch size after some commits of so many microseconds a row. */
function after(commits: number, commit: { usPerRow: number; othersWrote?: boolean; serviceRuns?: boolean }) {
  const batchSize = createBatchSize(3000);
  let at = 1_000;
  let tookMs = 0;
  for (let n = 0; n < commits; n++) {
    tookMs = (batchSize.rows() * commit.usPerRow) / 1000;
    at += tookMs;
    batchSize.committed({
      rows: batchSize.rows(),
      tookMs,
      at,
      othersWrote: commit.othersWrote ?? false,
      serviceRuns: commit.serviceRuns ?? false,
    });
  }
  return { batchSize, at, tookMs };
}

describe("the batch size of an import", () => {
  test("alone, commits grow to the limit, and there is no rest", () => {
    const { batchSize, at } = after(10, { usPerRow: 50 });
    expect(batchSize.rows()).toBe(3000);
    expect(batchSize.contention()).toBe("none");
    expect(batchSize.notBefore()).toBe(at);
  });

  test("a commit is at most twice as big as the one before", () => {
    const first = createBatchSize(3000).rows();
    expect(after(1, { usPerRow: 1 }).batchSize.rows()).toBe(2 * first);
  });

  test("the first commit is a small one, because nobody knows yet who else writes", () => {
    expect(createBatchSize(3000).rows()).toBeLessThanOrEqual(20);
    expect(createBatchSize(3).rows()).toBe(3);
  });

  test("beside a quiet service no commit is to hold the lock for long", () => {
    const { batchSize } = after(10, { usPerRow: 100, serviceRuns: true });
    expect(batchSize.contention()).toBe("low");
    expect(batchSize.rows() * 100).toBeLessThanOrEqual(30_000);
  });

  test("beside somebody who writes, commits are short, and the lock stays free for twice as long", () => {
    const { batchSize, at, tookMs } = after(10, { usPerRow: 100, serviceRuns: true, othersWrote: true });
    expect(batchSize.contention()).toBe("high");
    expect(batchSize.rows() * 100).toBeLessThanOrEqual(5_000);
    expect(batchSize.notBefore()).toBe(at + 2 * tookMs);
  });

  test("somebody who wrote is remembered for a while, and then no more", () => {
    const { batchSize, at } = after(3, { usPerRow: 100, othersWrote: true });
    const quiet = { rows: 100, tookMs: 5, othersWrote: false, serviceRuns: false };
    batchSize.committed({ ...quiet, at: at + 4_000 });
    expect(batchSize.contention()).toBe("high");
    batchSize.committed({ ...quiet, at: at + 6_000 });
    expect(batchSize.contention()).toBe("none");
  });

  test("a slow disk makes commits small, but not endlessly so", () => {
    expect(after(10, { usPerRow: 50_000, othersWrote: true }).batchSize.rows()).toBe(10);
  });
});

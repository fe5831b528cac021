import { describe, expect, test } from "bun:test";
import { createPace } from "../../../src/domain/import/batch-size.ts";

/** A pace after some commits of so many microseconds a row. */
function after(commits: number, commit: { usPerRow: number; othersWrote?: boolean; serviceRuns?: boolean }) {
  const pace = createPace(3000);
  let at = 1_000;
  let tookMs = 0;
  for (let n = 0; n < commits; n++) {
    tookMs = (pace.rows() * commit.usPerRow) / 1000;
    at += tookMs;
    pace.committed({
      rows: pace.rows(),
      tookMs,
      at,
      othersWrote: commit.othersWrote ?? false,
      serviceRuns: commit.serviceRuns ?? false,
    });
  }
  return { pace, at, tookMs };
}

describe("the pace of an import", () => {
  test("alone, commits grow to the limit, and there is no rest", () => {
    const { pace, at } = after(10, { usPerRow: 50 });
    expect(pace.rows()).toBe(3000);
    expect(pace.company()).toBe("none");
    expect(pace.notBefore()).toBe(at);
  });

  test("a commit is at most twice as big as the one before", () => {
    const first = createPace(3000).rows();
    expect(after(1, { usPerRow: 1 }).pace.rows()).toBe(2 * first);
  });

  test("the first commit is a small one, because nobody knows yet who else writes", () => {
    expect(createPace(3000).rows()).toBeLessThanOrEqual(20);
    expect(createPace(3).rows()).toBe(3);
  });

  test("beside a quiet service no commit is to hold the lock for long", () => {
    const { pace } = after(10, { usPerRow: 100, serviceRuns: true });
    expect(pace.company()).toBe("quiet");
    expect(pace.rows() * 100).toBeLessThanOrEqual(30_000);
  });

  test("beside somebody who writes, commits are short, and the lock stays free for twice as long", () => {
    const { pace, at, tookMs } = after(10, { usPerRow: 100, serviceRuns: true, othersWrote: true });
    expect(pace.company()).toBe("writing");
    expect(pace.rows() * 100).toBeLessThanOrEqual(5_000);
    expect(pace.notBefore()).toBe(at + 2 * tookMs);
  });

  test("somebody who wrote is remembered for a while, and then no more", () => {
    const { pace, at } = after(3, { usPerRow: 100, othersWrote: true });
    const quiet = { rows: 100, tookMs: 5, othersWrote: false, serviceRuns: false };
    pace.committed({ ...quiet, at: at + 4_000 });
    expect(pace.company()).toBe("writing");
    pace.committed({ ...quiet, at: at + 6_000 });
    expect(pace.company()).toBe("none");
  });

  test("a slow disk makes commits small, but not endlessly so", () => {
    expect(after(10, { usPerRow: 50_000, othersWrote: true }).pace.rows()).toBe(10);
  });
});

import { expect, spyOn, test } from "bun:test";
import { createSerialQueue, runAndPause, startRepeating } from "../../src/domain/serial.ts";

test("a failure in a serial queue reaches its own caller only, and the next run starts", async () => {
  const inTurn = createSerialQueue();
  const failing = inTurn(() => Promise.reject(new Error("no")));
  const next = inTurn(async () => "next");
  expect(await failing.catch((error: Error) => error.message)).toBe("no");
  expect(await next).toBe("next");
});

test("startRepeating continues after a failed run, and its stop function waits for the current run", async () => {
  const errors: unknown[] = [];
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const second = Promise.withResolvers<void>();
  let runs = 0;
  let isOver = false;
  const end = startRepeating(
    async () => {
      runs++;
      begun[runs - 1]?.resolve();
      if (runs === 1) throw new Error("the first time");
      await second.promise;
      isOver = true;
    },
    { everyMs: 1, onError: (error) => errors.push(String(error)) },
  );
  await begun[1]?.promise;
  const ended = end();
  expect(isOver).toBe(false);
  second.resolve();
  await ended;
  expect({ isOver, runs, errors }).toEqual({ isOver: true, runs: 2, errors: ["Error: the first time"] });
});

test("runAndPause pauses for as long as the run took, and two seconds at most", async () => {
  let nowMs = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => nowMs);
  const timer = spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) => {
    nowMs += ms;
    run();
  }) as typeof setTimeout);
  try {
    for (const [tookMs, restMs] of [
      [300, 300],
      [3_600_000, 2_000],
    ] as const) {
      nowMs = 0;
      await runAndPause(async () => {
        nowMs += tookMs;
      });
      expect(nowMs).toBe(tookMs + restMs);
    }
  } finally {
    clock.mockRestore();
    timer.mockRestore();
  }
});

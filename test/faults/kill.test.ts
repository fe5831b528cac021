import { expect, test } from "bun:test";
import { killRepeatedly } from "./kill.ts";

test("a service that is killed and started again loses nothing and does nothing twice", async () => {
  const { kills, answered, replayed, interrupted, ...faults } = await killRepeatedly(4);
  expect(faults).toEqual({
    answeredWithoutAttestation: 0,
    keysThatRanTwice: 0,
    replaysThatDiffer: 0,
    quotaExceeded: 0,
    answersNotCounted: 0,
    integrity: "ok",
  });
  expect([kills, answered > 50, replayed > 0, interrupted > 0]).toEqual([4, true, true, true]);
}, 60_000);

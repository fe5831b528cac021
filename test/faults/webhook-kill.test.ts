import { expect, test } from "bun:test";
import { killSender } from "./webhook-kill.ts";

test("a sender that is killed and started again tells every partner of every change, and of nothing else", async () => {
  const findings = await killSender(3, 200);
  const { kills, changes, events, pairs, requests, failed, cutOff, duplicates, ...faults } = findings;
  expect(faults).toEqual({
    eventsMissing: 0,
    eventsInvented: 0,
    pairsNotAcknowledged: 0,
    requestsInvented: 0,
    bodiesThatDiffer: 0,
    signaturesRefused: 0,
    deliveryIdsThatDiffer: 0,
    deliveredWithoutAcknowledgement: 0,
    leftOver: 0,
    finishedTwice: 0,
    integrity: "ok",
  });
  expect({ kills, changes, events, pairs }).toEqual({ kills: 3, changes: 200, events: 200, pairs: 392 });
  // The receivers did fail, and a failure or a kill costs a request more.
  expect(failed).toBeGreaterThan(50);
  expect(requests).toBe(pairs + failed + duplicates);
  expect(cutOff).toBeLessThanOrEqual(failed);
}, 90_000);

import { expect, test } from "bun:test";
import { killSender } from "./webhook-kill.ts";

test("a sender that is killed and started again tells every partner of every change, and of nothing else", async () => {
  const { kills, changes, events, pairs, requests, failed, cutOff, duplicates, ...faults } = await killSender(
    3,
    200,
  );
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
  expect([kills, changes, events, pairs > 300, requests > pairs, failed > 50]).toEqual([
    3,
    200,
    200,
    true,
    true,
    true,
  ]);
  expect(cutOff + duplicates).toBeGreaterThanOrEqual(0);
}, 90_000);

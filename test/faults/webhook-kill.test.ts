import { expect, test } from "bun:test";
import { broken } from "./killed.ts";
import { killSender } from "./webhook-kill.ts";

test("a sender that is killed and started again tells every partner of every change, and of nothing else", async () => {
  const { changes, events, pairs, requests, failed, cutOff, duplicates, faults } = await killSender(3, 200);
  expect(broken(faults)).toEqual({});
  expect({ changes, events, pairs }).toEqual({ changes: 200, events: 200, pairs: 392 });
  // The receivers did fail, and a failure or a kill costs a request more.
  expect(failed).toBeGreaterThan(50);
  expect(requests).toBe(pairs + failed + duplicates);
  expect(cutOff).toBeLessThanOrEqual(failed);
}, 90_000);

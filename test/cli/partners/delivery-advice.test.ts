import { expect, test } from "bun:test";
import { explainAttempt, nextStep, whyDisabled, whyHeld } from "../../../cli/partners/delivery-advice.ts";
import { deliveryErrors } from "../../../src/delivery/exchange.ts";
import type { Delivery } from "../../../src/domain/deliveries.ts";

const now = Date.parse("2026-03-01T12:00:00Z");
const running = { endpoint: { disabledReason: null }, serviceRunning: true, now };

function aDelivery(changes: Partial<Delivery> = {}): Delivery {
  return {
    id: 1,
    deliveryId: "d1",
    eventId: "e1",
    eventType: "license.revoked",
    partnerId: "agency",
    state: "pending",
    attempts: 1,
    createdAt: now - 60_000,
    dueAt: now + 5_000,
    leased: false,
    heldBy: null,
    finishedAt: null,
    lastStatus: null,
    lastError: "TIMEOUT",
    ...changes,
  };
}

function aDeadOne(changes: Partial<Delivery> = {}): Delivery {
  return aDelivery({ state: "dead", dueAt: null, finishedAt: now, attempts: 11, ...changes });
}

test("an attempt is explained with its status", () => {
  expect(explainAttempt({ error: "BAD_STATUS", status: 503 })).toBe(
    "The endpoint answered with 503, which is not 2xx.",
  );
  expect(explainAttempt({ error: null, status: 204 })).toBe("The endpoint acknowledged it.");
  expect(explainAttempt({ error: "FROM_A_LATER_VERSION", status: null })).toBe("The attempt failed.");
});

test.each(Object.keys(deliveryErrors))(
  "the next step for a dead delivery after %s is the remedy, then the retry",
  (lastError) => {
    const words = nextStep(aDeadOne({ lastError }), running);
    expect(words).toMatch(/^.{20,}; then tvs webhooks retry d1$/);
    expect(words).not.toContain("PARTNER");
  },
);

test.each(["ENDPOINT_INVALID", "ADDRESS_REFUSED"])(
  "the next step after %s names --allow-private-webhooks",
  (lastError) => {
    expect(explainAttempt({ error: lastError, status: null })).toContain("without --allow-private-webhooks");
    expect(nextStep(aDeadOne({ lastError }), running)).toContain(
      "restart tvs serve with --allow-private-webhooks",
    );
  },
);

test("the next step for a dead delivery depends on the status", () => {
  const words = (lastStatus: number) => nextStep(aDeadOne({ lastError: "BAD_STATUS", lastStatus }), running);
  expect(words(404)).toContain("tvs partners webhook set agency URL");
  expect(words(401)).toContain("the whole secret");
  expect(words(503)).toContain("receiver's log");
});

test("the next step for a dead delivery sets a missing endpoint and enables a disabled one", () => {
  const none = nextStep(aDeadOne(), { ...running, endpoint: null });
  expect(none).toContain("tvs partners webhook set agency URL, then tvs webhooks retry d1");
  const gone = nextStep(aDeadOne(), { ...running, endpoint: { disabledReason: "gone" } });
  expect(gone).toContain("tvs webhooks retry d1");
  expect(gone).toContain("tvs partners webhook enable agency");
});

test("a delivery that died before any attempt is just retried", () => {
  expect(nextStep(aDeadOne({ lastError: null, attempts: 0 }), running)).toBe("tvs webhooks retry d1");
});

const cases: [name: string, changes: Partial<Delivery>, words: RegExp][] = [
  ["it waits", {}, /next attempt is at 2026-03-01T12:00:05\.000Z; tvs webhooks retry d1/],
  ["it is due", { dueAt: now }, /^it is due/],
  ["it is leased", { leased: true }, /^an attempt is in progress$/],
  ["the lease has ended", { leased: true, dueAt: now - 1 }, /^it is due/],
  ["its partner is disabled", { heldBy: "partner" }, /tvs partners enable agency/],
  ["its database was restored", { heldBy: "restore" }, /tvs webhooks release/],
];
test.each(cases)("the next step for a pending delivery: %s", (_name, changes, words) => {
  expect(nextStep(aDelivery(changes), running)).toMatch(words);
});

test.each(["operator", "gone", "failing"] as const)(
  "the next step for a pending delivery says why its endpoint is disabled: %s",
  (disabledReason) => {
    const endpoint = { disabledReason };
    const words = nextStep(aDelivery({ heldBy: "endpoint" }), { ...running, endpoint });
    expect(words).toBe(`it is held: ${whyDisabled(disabledReason, "agency")}`);
    expect(words).toContain("tvs partners webhook enable agency");
  },
);

test("a pending delivery without an endpoint is explained", () => {
  expect(whyHeld(aDelivery({ heldBy: "endpoint" }), { endpoint: null })).toContain(
    "tvs partners webhook set",
  );
});

test("the next step starts a service where none runs, and is nothing for a delivered one", () => {
  expect(nextStep(aDelivery(), { ...running, serviceRunning: false })).toContain("start tvs serve");
  expect(nextStep(aDelivery({ state: "delivered" }), running)).toMatch(/^nothing/);
});

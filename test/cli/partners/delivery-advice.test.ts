import { expect, test } from "bun:test";
import { adviseNextStep, explainDeliveryAttempt } from "../../../cli/partners/delivery-advice.ts";
import { type Delivery, deliveryErrorTexts } from "../../../src/domain/deliveries.ts";
import type { DisabledReason } from "../../../src/domain/webhooks.ts";

const now = Date.parse("2026-03-01T12:00:00Z");
const withEndpoint = (endpoint: { disabledReason: DisabledReason | null } | null) => {
  return { endpoint, serviceRunning: true, now };
};
const running = withEndpoint({ disabledReason: null });

const aDelivery = (changes: Partial<Delivery> = {}): Delivery => ({
  ...{ id: 1, deliveryId: "d1", eventId: "e1", eventType: "license.revoked", partnerId: "agency" },
  ...{ state: "pending", attempts: 1, createdAt: now - 60_000, dueAt: now + 5_000, leased: false },
  ...{ heldBy: null, finishedAt: null, lastStatus: null, lastError: "TIMEOUT" },
  ...changes,
});
const aDeadOne = (changes: Partial<Delivery> = {}) =>
  aDelivery({ state: "dead", dueAt: null, finishedAt: now, attempts: 11, ...changes });

test("tvs explains a delivery attempt by its HTTP status", () => {
  const refused = "The endpoint answered with 503, which is not 2xx.";
  expect(explainDeliveryAttempt({ error: "BAD_STATUS", status: 503 })).toBe(refused);
  expect(explainDeliveryAttempt({ error: null, status: 204 })).toBe("The endpoint acknowledged it.");
  expect(explainDeliveryAttempt({ error: "FROM_A_LATER_VERSION", status: null })).toBe("The attempt failed.");
});

test.each(Object.keys(deliveryErrorTexts))(
  "the advice on a delivery that failed with %s names the remedy first, then the retry",
  (lastError) => {
    const words = adviseNextStep(aDeadOne({ lastError }), running);
    expect(words).toMatch(/^.{20,}; then tvs webhooks retry d1$/);
    expect(words).not.toContain("PARTNER");
  },
);

test.each(["ENDPOINT_INVALID", "ADDRESS_REFUSED"])(
  "the advice on a delivery that failed with %s names --allow-private-webhooks",
  (lastError) => {
    expect(explainDeliveryAttempt({ error: lastError, status: null })).toContain(
      "without --allow-private-webhooks",
    );
    const step = adviseNextStep(aDeadOne({ lastError }), running);
    expect(step).toContain("restart tvs serve with --allow-private-webhooks");
  },
);

const badStatus = (lastStatus: number) => aDeadOne({ lastError: "BAD_STATUS", lastStatus });
const disabled = (disabledReason: DisabledReason) => withEndpoint({ disabledReason });
const held = aDelivery({ heldBy: "endpoint" });

test.each<[name: string, delivery: Delivery, situation: typeof running, words: RegExp]>([
  ["dead after a 404", badStatus(404), running, /tvs partners webhook set agency URL/],
  ["dead after a 401", badStatus(401), running, /the whole secret/],
  ["dead after a 503", badStatus(503), running, /receiver's log/],
  ["dead, no endpoint", aDeadOne(), withEndpoint(null), /webhook set agency URL, then tvs webhooks retry d1/],
  ["dead, endpoint off", aDeadOne(), disabled("gone"), /retry d1.*tvs partners webhook enable agency/],
  ["dead before any attempt", aDeadOne({ lastError: null, attempts: 0 }), running, /^tvs webhooks retry d1$/],
  ["waiting", aDelivery(), running, /next attempt is at 2026-03-01T12:00:05\.000Z; tvs webhooks retry d1/],
  ["due", aDelivery({ dueAt: now }), running, /^it is due/],
  ["leased", aDelivery({ leased: true }), running, /^an attempt is in progress$/],
  ["leased in the past", aDelivery({ leased: true, dueAt: now - 1 }), running, /^it is due/],
  ["held for its partner", aDelivery({ heldBy: "partner" }), running, /tvs partners enable agency/],
  ["held since a restore", aDelivery({ heldBy: "restore" }), running, /tvs webhooks release/],
  ["held without an endpoint", held, withEndpoint(null), /tvs partners webhook set/],
  ["held by the operator", held, disabled("operator"), /^it is held: .*an operator.*webhook enable agency/],
  ["held after a 410", held, disabled("gone"), /^it is held: .*410 Gone.*webhook enable agency/],
  ["held after five days", held, disabled("failing"), /^it is held: .*five days.*webhook enable agency/],
  ["pending without a service", aDelivery(), { ...running, serviceRunning: false }, /start tvs serve/],
  ["delivered", aDelivery({ state: "delivered" }), running, /^nothing/],
])("tvs advises the expected next step for a delivery that is %s", (_name, delivery, situation, words) => {
  expect(adviseNextStep(delivery, situation)).toMatch(words);
});

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createKeySet } from "../../src/partner/key-set.ts";
import { verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { type EventOptions, verifyEvent } from "../../src/partner/verify-event.ts";
import { verifyStatement } from "../../src/partner/verify-statement.ts";
import { audience, folder, issuer, now } from "../fixtures/envelope-tokens.ts";
import { eventCases, eventData, eventId, eventToken } from "../fixtures/event-tokens.ts";

const read = (name: string) => readFileSync(join(folder, "keys", name));
const sources = { jwks: read("jwks.json"), keyHistory: read("history.jose"), issuer };
const options: EventOptions = {
  keys: await createKeySet(sources),
  ...{ issuer, audience, now: new Date(now) },
};

describe("a signed event", () => {
  test.each(eventCases)("with %s is judged", async (_what, token, reason) => {
    const { event, ...verification } = await verifyEvent(token, options);
    expect(verification).toMatchObject({ reason, valid: reason === null });
    expect(event === null).toBe(reason !== null);
  });

  test("says what changed, of whom and when", async () => {
    const verification = await verifyEvent(eventToken(), options);
    expect(verification).toMatchObject({
      ...{ verificationId: eventId, verifiedAt: "2026-02-20T08:00:00Z", issuer, audience, result: null },
      event: { eventId, eventType: "license.revoked", data: eventData },
    });
    expect(verification.checks.every(({ ok }) => ok !== false)).toBe(true);
  });

  test("is judged by a JWKS alone, which has no compromised key", async () => {
    const keys = await createKeySet({ jwks: read("jwks-without-compromised.json") });
    expect(await verifyEvent(eventToken(), { ...options, keys })).toMatchObject({ valid: true });
    const stolen = eventToken({ key: "compromised" });
    expect(await verifyEvent(stolen, { ...options, keys })).toMatchObject({ reason: "KID_UNKNOWN" });
  });

  test("is never taken for an envelope or a statement, in whatever shell", async () => {
    const set = eventToken();
    for (const shown of [
      set,
      { set, eventId },
      { signature: set },
      { signature: set, rows: [], result: {} },
    ]) {
      const text = typeof shown === "string" ? shown : JSON.stringify(shown);
      for (const verify of [verifyEnvelope, verifyStatement])
        expect(await verify(text, options)).toMatchObject({ valid: false, reason: "IS_AN_EVENT" });
    }
  });

  test("that is no text is no event", async () => {
    for (const token of [null, 1, {}, { set: eventToken() }, ""])
      expect(await verifyEvent(token, options)).toMatchObject({ valid: false, event: null });
  });
});

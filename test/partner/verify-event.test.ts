import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createKeySet } from "../../src/partner/key-set.ts";
import { verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { type EventOptions, verifyEvent } from "../../src/partner/verify-event.ts";
import { verifyStatement } from "../../src/partner/verify-statement.ts";
import { audience, folder, issuer, now, seconds } from "../fixtures/envelope-tokens.ts";
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

  const named = (name: string) => ({ events: { [name]: eventData } });
  const oneEvent = "claims: The claim events is not one event of this service.";
  test.each<[claims: object, told: string]>([
    ...["iss", "aud", "iat", "jti", "sub_id", "events"].map((claim): [object, string] => [
      { [claim]: undefined },
      `claims: The claim ${claim} is missing.`,
    ]),
    [{ aud: [audience] }, "claims: What is signed is addressed to a list of audiences."],
    ...[{ iss: 7 }, { aud: 7 }, { jti: 7 }, { exp: "9" }, { nbf: "9" }].map((claims): [object, string] => [
      claims,
      "claims: A signed claim has the wrong type.",
    ]),
    ...[
      "urn:abc:event:license.revoked",
      "urn:tvs:event:1license.revoked",
      "urn:tvs:event:license.revoked2",
    ].map((name): [object, string] => [named(name), oneEvent]),
    [{ events: 7 }, oneEvent],
    [{ sub_id: 7 }, "claims: The claim sub_id does not name the teacher of the event."],
  ])("with %j says what is wrong", async (claims, told) => {
    const { checks } = await verifyEvent(eventToken({ claims }), options);
    const failed = checks.find(({ ok }) => ok === false);
    expect(`${failed?.name}: ${failed?.detail}`).toBe(told);
  });

  test("is judged by the tolerance, the cryptography and the clock that are given, or the machine's", async () => {
    const ahead = eventToken({ claims: { iat: seconds(now) + 1 } });
    expect((await verifyEvent(ahead, { ...options, clockToleranceSeconds: 0 })).reason).toBe(
      "ISSUED_IN_FUTURE",
    );
    const verifySignature = () => false;
    expect((await verifyEvent(eventToken(), { ...options, verifySignature })).reason).toBe(
      "SIGNATURE_INVALID",
    );
    const { now: _now, ...timeless } = options;
    expect((await verifyEvent(eventToken(), timeless)).valid).toBe(true);
  });

  test("says what changed, of whom and when", async () => {
    const verification = await verifyEvent(eventToken(), options);
    expect(verification).toMatchObject({
      ...{ verificationId: eventId, verifiedAt: "2026-02-20T08:00:00Z", issuer, audience, result: null },
      event: { eventId, eventType: "license.revoked", data: eventData },
    });
    expect(verification.checks.every(({ ok }) => ok !== false)).toBe(true);
    const told = verification.checks.map(({ detail }) => detail);
    expect(told[0]).toBe("A well-formed compact JWS, canonical base64url.");
    expect(told.slice(-2)).toEqual([
      "An event's token has no unsigned members to compare.",
      "An event names no place in status lists.",
    ]);
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

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createKeySet, type KeySetSources } from "../../src/partner/key-set.ts";
import type { Verification } from "../../src/partner/verification.ts";
import { verifyEnvelope } from "../../src/partner/verify-envelope.ts";
import { audience, envelope, folder, issuer, keys, now } from "../fixtures/envelope-tokens.ts";

function read(name: string): Buffer {
  return readFileSync(join(folder, "keys", name));
}

async function verifyWith(sources: KeySetSources, text = JSON.stringify(envelope())): Promise<Verification> {
  const keySet = await createKeySet({ issuer, ...sources });
  return verifyEnvelope(text, { keys: keySet, issuer, audience, now: new Date(now) });
}

function keySetDetail({ checks }: Verification): string {
  return checks.find(({ name }) => name === "keySet")?.detail ?? "";
}

const signedAt = "2026-02-01T00:00:00Z";

test("trust.basis is jwks for a JWKS alone, and for a JWKS that contains the key history's signer", async () => {
  const alone = await verifyWith({ jwks: read("jwks.json") });
  expect(alone.trust).toEqual({ basis: "jwks", historySigner: null, historySignedAt: null });
  const both = await verifyWith({ jwks: read("jwks.json"), keyHistory: read("history.jose") });
  expect(both).toMatchObject({
    valid: true,
    trust: { basis: "jwks", historySigner: keys.active.kid, historySignedAt: signedAt },
  });
  expect(keySetDetail(both)).toBe("No key of the set is forbidden.");
});

test("verification.trust names a key history's signer and time of signing if there is no JWKS", async () => {
  const alone = await verifyWith({ keyHistory: read("history.jose") });
  expect(alone).toMatchObject({
    valid: true,
    trust: { basis: "key-history", historySigner: keys.active.kid, historySignedAt: signedAt },
  });
  expect(keySetDetail(alone)).toContain(
    `rests on the key history alone, which key ${keys.active.kid} signed`,
  );
});

test("trust.historySigner is the thumbprint of the signing key, not the key id that the history states", async () => {
  const lied = await verifyWith({ keyHistory: read("history-by-liar.jose") });
  expect(lied).toMatchObject({ kid: keys.active.kid, trust: { historySigner: keys.stranger.kid } });
  expect(keySetDetail(lied)).not.toContain(keys.active.kid);
});

test("createKeySet with an anchor accepts only a key history that the anchor's key signed", async () => {
  const keyHistory = read("history.jose");
  const pinned = await verifyWith({ keyHistory, anchor: keys.active.kid });
  expect(pinned).toMatchObject({ valid: true, trust: { basis: "anchor" } });
  expect(keySetDetail(pinned)).toBe(
    `No key of the set is forbidden. Trust rests on the key history, which key ${keys.active.kid} signed on ${signedAt}, and you pinned that key.`,
  );
  const other = await verifyWith({ keyHistory, anchor: keys.retired.kid });
  expect(other).toMatchObject({
    valid: false,
    reason: "KEY_HISTORY_NOT_ANCHORED",
    verdict: "refused",
    trust: null,
  });
  expect(keySetDetail(other)).toBe(
    `The key that signed the key history, ${keys.active.kid}, is not ${keys.retired.kid}, the one that you pinned.`,
  );
  const forged = JSON.stringify(envelope({}, "stranger"));
  const stranger = { keyHistory: read("history-by-stranger.jose"), anchor: keys.active.kid };
  expect((await verifyWith(stranger, forged)).reason).toBe("KEY_HISTORY_NOT_ANCHORED");
});

test("the key history's signer must be the anchor's key and be in the JWKS, if both are given", async () => {
  const sources = { jwks: read("jwks.json"), keyHistory: read("history.jose") };
  expect((await verifyWith({ ...sources, anchor: keys.active.kid })).valid).toBe(true);
  expect((await verifyWith({ ...sources, anchor: keys.pending.kid })).reason).toBe(
    "KEY_HISTORY_NOT_ANCHORED",
  );
  const old = { ...sources, jwks: read("jwks-two-rotations-older.json"), anchor: keys.active.kid };
  expect((await verifyWith(old)).reason).toBe("KEY_HISTORY_NOT_ANCHORED");
});

test("if an anchor is given, createKeySet leaves out a key that only the JWKS has", async () => {
  const set = JSON.parse(read("jwks.json").toString());
  set.keys.push(keys.stranger.jwk);
  const sources = { jwks: JSON.stringify(set), keyHistory: read("history.jose") };
  const forged = JSON.stringify(envelope({}, "stranger"));
  expect((await verifyWith(sources, forged)).valid).toBe(true);
  const pinned = await verifyWith({ ...sources, anchor: keys.active.kid }, forged);
  expect(pinned).toMatchObject({ valid: false, reason: "KID_UNKNOWN", verdict: "undecidable" });
  expect((await verifyWith({ ...sources, anchor: keys.active.kid })).valid).toBe(true);
});

test("createKeySet throws for an anchor without a key history, and for an anchor that is not a thumbprint", async () => {
  const attempts = [
    { jwks: read("jwks.json"), anchor: keys.active.kid },
    { keyHistory: read("history.jose"), anchor: "" },
    { keyHistory: read("history.jose"), anchor: "active" },
  ];
  const why = "the anchor is the 43-character id of the key that signed the key history";
  for (const attempt of attempts) await expect(createKeySet(attempt)).rejects.toThrow(new TypeError(why));
  const nothing = new TypeError("createKeySet needs a JWKS, a key history or both");
  await expect(createKeySet({})).rejects.toThrow(nothing);
});

const jwks = JSON.parse(read("jwks.json").toString());
const [first, ...others] = jwks.keys;

test("createKeySet reads texts with a byte order mark, bytes, and a parsed JWKS", async () => {
  const history = read("history.jose").toString();
  const marked = { jwks: `\uFEFF${JSON.stringify(jwks)}`, keyHistory: `\uFEFF${history}` };
  for (const sources of [marked, { jwks }, { keyHistory: history }])
    expect(await verifyWith(sources)).toMatchObject({ valid: true });
});

test("a key set may contain keys of other types without key ids", async () => {
  const more = { keys: [...jwks.keys, { kty: "EC" }, { kty: "EC" }] };
  expect(await verifyWith({ jwks: more })).toMatchObject({ valid: true });
});

test("a key set is refused if an entry is not a key, or if the key history has another key with the same key id", async () => {
  const odd = await verifyWith({ jwks: { keys: [7] } });
  expect([odd.reason, keySetDetail(odd)]).toEqual([
    "KEY_SET_KEY_MALFORMED",
    "The key set holds something that is no key.",
  ]);
  const other = { keys: [{ ...first, e: "Aw" }, ...others] };
  const conflict = await verifyWith({ jwks: other, keyHistory: read("history.jose") });
  expect(conflict.reason).toBe("KEY_SET_CONFLICT");
});

test("an unexpected error of createKeySet makes every envelope undecidable", async () => {
  const broken = {
    get keys() {
      throw new Error("broken");
    },
  };
  expect(await verifyWith({ jwks: broken })).toMatchObject({
    reason: "VERIFIER_FAILED",
    verdict: "undecidable",
  });
});

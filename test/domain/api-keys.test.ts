import { describe, expect, test } from "bun:test";
import {
  apiKeyId,
  authenticate,
  describeApiKey,
  issueApiKey,
  loadCredentialBook,
  mintApiKey,
  type Presented,
  revokeApiKey,
} from "../../src/domain/credentials.ts";
import { rejection } from "../harness/rejection.ts";
import { anApiKey, aPartner, secrets } from "../harness/samples.ts";
import { withStores } from "../harness/store.ts";
import { crc32, inBase62 } from "./check-sum.ts";

const now = Date.parse("2026-03-01T12:00:00Z");

const minting = { kind: "live", secrets, now } as const;

/** Computed with Python's zlib module. */
const vectors = {
  live: `tvs_live_0123456789Ab${"C".repeat(43)}2cPWQW`,
  test: "tvs_test_Zz0000000000abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ3xb8Rw",
};

describe("the form of an API key", () => {
  test("prefix, id of 12, secret of 43 and checksum of 6 characters", () => {
    for (const kind of ["live", "test"] as const) {
      const { text, record } = mintApiKey("agency", { ...minting, kind });
      expect(text).toMatch(new RegExp(`^tvs_${kind}_[0-9A-Za-z]{61}$`));
      expect(text.slice(9, 21)).toBe(record.keyId);
      expect(text.slice(-6)).toBe(inBase62(crc32(text.slice(0, -6))));
      expect(apiKeyId(text, kind)).toBe(record.keyId);
    }
  });

  test("known keys, each of its own kind alone", () => {
    expect([apiKeyId(vectors.live, "live"), apiKeyId(vectors.live, "test")]).toEqual(["0123456789Ab", null]);
    expect([apiKeyId(vectors.test, "test"), apiKeyId(vectors.test, "live")]).toEqual(["Zz0000000000", null]);
    // The check value that every description of CRC-32 gives.
    expect(crc32("123456789")).toBe(0xcbf43926);
  });

  test("no two are alike, and every character of the alphabet occurs", () => {
    const texts = Array.from({ length: 200 }, () => mintApiKey("agency", minting).text);
    expect(new Set(texts).size).toBe(200);
    expect(new Set(texts.join("").replaceAll("tvs_live_", "")).size).toBe(62);
  });

  test("the record holds only a keyed hash", () => {
    const { text, record } = mintApiKey("agency", minting);
    expect(record).toEqual({
      keyId: text.slice(9, 21),
      partnerId: "agency",
      mac: secrets.mac("api-key", text),
      createdAt: now,
      expiresAt: null,
      revokedAt: null,
    });
  });

  test.each([
    ["empty", ""],
    ["cut short", vectors.live.slice(0, -1)],
    ["too long", `${vectors.live}W`],
    ["with a line end", `${vectors.live}\n`],
    ["with white space before it", ` ${vectors.live}`],
    ["in upper case", vectors.live.toUpperCase()],
    ["with a character of another alphabet", vectors.live.replace("C", "С")],
    ["very long", `tvs_live_${"A".repeat(100_000)}`],
  ])("%s, it is none", (_what, text) => {
    expect(apiKeyId(text, "live")).toBeNull();
  });
});

const nothing: Presented = { certificate: null, bearer: null, headerKey: null };

const options = { kind: "live", secrets, now } as const;

describe("keys of one partner, in the store", () => {
  const hourMs = 3_600_000;
  const issuing = { ...options, overlapMs: 24 * hourMs };

  test("the key in use ends after the overlap, and both open the service until then", () =>
    withStores(async ({ partners }) => {
      const first = mintApiKey("agency", minting);
      await partners.add(aPartner("agency"), first.record);
      const { text, record, previous } = await issueApiKey(partners, "agency", issuing);
      expect(record).toMatchObject({ partnerId: "agency", createdAt: now, expiresAt: null });
      expect(previous).toEqual({ keyId: first.record.keyId, expiresAt: now + 24 * hourMs });
      const book = await loadCredentialBook(partners);
      const opens = (bearer: string, at: number) =>
        authenticate({ ...nothing, bearer }, book, { ...options, now: at }) !== null;
      const end = now + 24 * hourMs;
      const until = [now, end - 1, end].map((at) => opens(first.text, at));
      expect(until).toEqual([true, true, false]);
      expect([opens(text, now), opens(text, now + 1000 * hourMs)]).toEqual([true, true]);
    }));

  test.each([
    ["sooner than the overlap: it keeps its end", now + hourMs, 24 * hourMs, now + hourMs],
    ["later than the overlap: the overlap counts", now + 48 * hourMs, 24 * hourMs, now + 24 * hourMs],
    ["no overlap: it ends now", null, 0, now],
  ])("a key that was to end %s", (_what, expiresAt, overlapMs, ends) =>
    withStores(async ({ partners }) => {
      const first = { ...mintApiKey("agency", minting).record, expiresAt };
      await partners.add(aPartner("agency"), first);
      const { previous } = await issueApiKey(partners, "agency", { ...issuing, overlapMs });
      expect(previous).toEqual({ keyId: first.keyId, expiresAt: ends });
      expect((await partners.apiKeys()).find((one) => one.keyId === first.keyId)?.expiresAt).toBe(ends);
    }),
  );

  test("keys that ended do not count, nor those of others", () =>
    withStores(async ({ partners }) => {
      await partners.add(aPartner("agency"), anApiKey("agency", "Expired00000"));
      await partners.add(aPartner("other"), anApiKey("other", "Other0000000"));
      await partners.addKey({ ...anApiKey("other", "Other1000000") }, { shortened: null, maxLive: 2 });
      await partners.revokeKey("Expired00000", now - 1);
      expect([...(await loadCredentialBook(partners)).apiKeys.keys()]).toEqual([
        "Other0000000",
        "Other1000000",
      ]);
      const { previous } = await issueApiKey(partners, "agency", issuing);
      expect(previous).toBeNull();
      expect(await issueApiKey(partners, "agency", issuing)).toMatchObject({
        previous: { expiresAt: now + 24 * hourMs },
      });
      expect(await rejection(issueApiKey(partners, "agency", issuing))).toMatchObject({ code: "REFUSED" });
    }));

  test("of several issued at once, one is added", () =>
    withStores(async ({ partners }) => {
      await partners.add(aPartner("agency"), mintApiKey("agency", minting).record);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 4 }, () => issueApiKey(partners, "agency", issuing)),
      );
      expect(outcomes.filter((one) => one.status === "fulfilled")).toHaveLength(1);
      expect(await partners.apiKeys()).toHaveLength(2);
    }));

  test("revoking tells whether it was the last, and keeps the first time", () =>
    withStores(async ({ partners }) => {
      const { record } = mintApiKey("agency", minting);
      await partners.add(aPartner("agency"), record);
      const second = await issueApiKey(partners, "agency", issuing);
      for (const [keyId, at, isLast] of [
        [record.keyId, now, false],
        [record.keyId, now + 5, false],
        [second.record.keyId, now, true],
      ] as const) {
        const revoked = { isLast, record: { revokedAt: now } };
        expect(await revokeApiKey(partners, keyId, at)).toMatchObject(revoked);
      }
      expect(await rejection(revokeApiKey(partners, "NoSuchKey000", now))).toMatchObject({
        code: "NOT_KNOWN",
      });
    }));
});

test("a key is shown with its state and without its hash", () => {
  const { record } = mintApiKey("agency", minting);
  const ends = [{}, { expiresAt: now }, { revokedAt: now }, { expiresAt: now, revokedAt: now }];
  const states = ends.map((end) => describeApiKey({ ...record, ...end }, now).state);
  expect(states).toEqual(["live", "expired", "revoked", "revoked"]);
  expect(describeApiKey({ ...record, expiresAt: now }, now)).toEqual({
    keyId: record.keyId,
    partnerId: "agency",
    state: "expired",
    createdAt: "2026-03-01T12:00:00.000Z",
    expiresAt: "2026-03-01T12:00:00.000Z",
    revokedAt: null,
  });
});

import { expect, test } from "bun:test";
import {
  apiKeyId,
  authenticate,
  type CredentialIndex,
  credentialFaultOf,
  isLive,
  issueApiKey,
  loadCredentialIndex,
  mintApiKey,
  type PresentedCredentials,
} from "../../src/domain/credentials.ts";
import type { ApiKey, Partner } from "../../src/domain/partners.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";
import { catchError } from "../harness/rejection.ts";
import { anApiKey, aPartner, secrets } from "../harness/samples.ts";
import { withStores } from "../harness/store.ts";

const now = Date.parse("2026-03-01T12:00:00Z");

const options = { kind: "live", secrets, now } as const;

const nothing: PresentedCredentials = { certificates: [], keys: [], hasOtherAuthorization: false };

/** Records each lookup. */
class WatchedMap<T> extends Map<string, T> {
  readonly asked: string[] = [];
  override get(key: string): T | undefined {
    this.asked.push(key);
    return super.get(key);
  }
}

function aBook(
  partners: readonly Partner[],
  keys: readonly ApiKey[],
  fingerprints: Record<string, string> = {},
) {
  const apiKeys = new WatchedMap(keys.map((one) => [one.keyId, one]));
  const certificates = Object.entries(fingerprints).map(([fingerprint, partnerId]) => {
    return [
      fingerprint,
      { fingerprint, partnerId, subject: "CN=x", validFrom: 0, validTo: 1, addedAt: 0 },
    ] as const;
  });
  const book: CredentialIndex = {
    partners: new Map(partners.map((one) => [one.partnerId, one])),
    apiKeys,
    certificates: new Map(certificates),
  };
  return { book, apiKeys };
}

/** Computed with Python's zlib module. */
const vectors = {
  live: `tvs_live_0123456789Ab${"C".repeat(43)}2cPWQW`,
  test: "tvs_test_Zz0000000000abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ3xb8Rw",
};

const valid = { validFrom: now - 1, validTo: now + 1 };

const wellFormed = mintApiKey("nobody", options).text;
const sandbox = mintApiKey("nobody", { ...options, kind: "test" }).text;
const mistyped = wellFormed.slice(0, -1);
const certificate = { fingerprint: "f1", ...valid };

const withoutBearer = { hasOtherAuthorization: true };
// biome-ignore format: a table reads better in rows
test.each<[string, Partial<PresentedCredentials>, ReturnType<typeof credentialFaultOf>]>([
  ["no credential", {}, "none"],
  ["a header without Bearer", withoutBearer, "otherAuthorization"],
  ["a header without Bearer, and a certificate", { ...withoutBearer, certificates: [certificate] },
    "otherAuthorization"],
  ["a mistyped key", { keys: [mistyped] }, "mistyped"],
  ["a text that is no key", { keys: ["nonsense"] }, "mistyped"],
  ["a sandbox's key", { keys: [sandbox] }, "testKey"],
  ["a certificate", { certificates: [certificate] }, "unknown"],
  ["a certificate and a mistyped key", { certificates: [certificate], keys: [mistyped] }, "mistyped"],
  ["a well-formed key", { keys: [wellFormed] }, "unknown"],
  ["a well-formed key beside a mistyped one", { keys: [mistyped, wellFormed] }, "unknown"],
  ["a well-formed key and a header without Bearer", { ...withoutBearer, keys: [wellFormed] }, "unknown"],
  ["two keys, of which the first decides", { keys: [sandbox, mistyped] }, "testKey"],
])("a call with %s is refused for the right reason", (_name, presented, expected) => {
  expect(credentialFaultOf({ ...nothing, ...presented }, "live")).toBe(expected);
});

const key = mintApiKey("keyed", options);
const other = mintApiKey("other", options);
const unknown = { fingerprint: "f2", ...valid };
const during = (validFrom: number, validTo: number) => ({ fingerprint: "f1", validFrom, validTo });
const credentials = { keyed: key.record.keyId, other: other.record.keyId, certified: "f1" };
const { book } = aBook(Object.keys(credentials).map(aPartner), [key.record, other.record], {
  f1: "certified",
});
const ask = (presented: Partial<PresentedCredentials>, asked: CredentialIndex = book, changes: object = {}) =>
  authenticate({ ...nothing, ...presented }, asked, { ...options, ...changes });
const keys = [key.text];

test.each<[string, Partial<PresentedCredentials>, keyof typeof credentials | null]>([
  ["no credential", {}, null],
  ["a certificate and keys", { certificates: [certificate], keys: [key.text, other.text] }, "certified"],
  ["two keys", { keys: [key.text, other.text] }, "keyed"],
  ["an unknown certificate and a key", { certificates: [unknown], keys }, "keyed"],
  ["invalid credentials and a key", { certificates: [unknown], keys: ["nonsense", other.text] }, "other"],
  ["an expired certificate and a key", { certificates: [during(0, now - 1)], keys: [other.text] }, "other"],
  ["invalid credentials", { certificates: [unknown], keys: ["nonsense", ""] }, null],
  ["an unknown and a known certificate", { certificates: [unknown, certificate], keys }, "certified"],
  ["two unknown certificates and a key", { certificates: [unknown, unknown], keys }, "keyed"],
  ["a certificate in its first and last moment", { certificates: [during(now, now)] }, "certified"],
  ["a certificate that is not valid yet", { certificates: [during(now + 1, now + 2)] }, null],
  ["a certificate that has expired", { certificates: [during(now - 2, now - 1)] }, null],
])("a call with %s is authenticated by its first valid credential", (_how, presented, partnerId) => {
  const caller = partnerId && { partner: aPartner(partnerId), credential: credentials[partnerId] };
  expect(ask(presented)).toEqual(caller);
});

test("a sandbox key is refused by a live service, and a live key by a sandbox", () => {
  const { text, record } = mintApiKey("keyed", { ...options, kind: "test" });
  const mixed = aBook([aPartner("keyed")], [record]).book;
  const opens = (kind: "live" | "test") => ask({ keys: [text] }, mixed, { kind }) !== null;
  expect([opens("live"), opens("test"), ask({ keys }, book, { kind: "test" })]).toEqual([false, true, null]);
});

test("an API key with a known id, a right checksum and another secret is refused", () => {
  const record = { ...key.record, keyId: "0123456789Ab" };
  expect(apiKeyId(vectors.live, "live")).toBe(record.keyId);
  const { book: other } = aBook([aPartner("keyed")], [record]);
  expect(ask({ keys: [vectors.live] }, other)).toBeNull();
});

test("a stored key record with a shortened hash matches no API key", () => {
  for (const length of [0, 1, 31]) {
    const cut = aBook([aPartner("keyed")], [{ ...key.record, mac: key.record.mac.slice(0, length) }]).book;
    expect(ask({ keys }, cut)).toBeNull();
  }
});

test("API keys made under another master key are refused", () => {
  expect(ask({ keys }, book, { secrets: deriveSecrets(newMasterKey()) })).toBeNull();
});

test("an unknown API key costs the same hash as a known one, so that the time does not reveal which keys exist", () => {
  let hashes = 0;
  const counting = {
    ...secrets,
    mac: (...asked: Parameters<typeof secrets.mac>) => {
      hashes++;
      return secrets.mac(...asked);
    },
  };
  const stranger = mintApiKey("stranger", options).text;
  for (const text of [stranger, key.text]) {
    hashes = 0;
    ask({ keys: [text] }, book, { secrets: counting });
    expect(hashes).toBe(1);
  }
});

test("a mistyped API key is refused without a database lookup", () => {
  const { book: watched, apiKeys } = aBook([aPartner("keyed")], [key.record]);
  for (let at = 0; at < key.text.length; at++) {
    const wrong = key.text[at] === "x" ? "y" : "x";
    const text = key.text.slice(0, at) + wrong + key.text.slice(at + 1);
    expect(ask({ keys: [text] }, watched)).toBeNull();
  }
  expect(apiKeys.asked).toEqual([]);
  expect(ask({ keys }, watched)).not.toBeNull();
  expect(apiKeys.asked).toEqual([key.record.keyId]);
});

test.each<[string, Partial<ApiKey>, boolean]>([
  ["revoked", { revokedAt: now - 1 }, false],
  ["revoked at a time in the future", { revokedAt: now + 1 }, false],
  ["expired in this millisecond", { expiresAt: now }, false],
  ["valid for one more millisecond", { expiresAt: now + 1 }, true],
  ["revoked before its expiry", { revokedAt: now - 1, expiresAt: now + 1 }, false],
])("an API key that is %s (%j) is accepted: %p", (_what, changes, lives) => {
  const record = { ...key.record, ...changes };
  const { book: changed } = aBook([aPartner("keyed")], [record]);
  expect(ask({ keys }, changed) !== null).toBe(lives);
  expect(isLive(record, now)).toBe(lives);
});

test("the credentials of a disabled or missing partner are refused", () => {
  for (const partners of [[{ ...aPartner("keyed"), disabledAt: now }], []]) {
    const { book: without } = aBook(partners, [key.record], { f1: "keyed" });
    for (const presented of [{ keys }, { certificates: [certificate] }])
      expect(ask(presented, without)).toBeNull();
  }
});

test("a disabled partner's certificate does not hide another partner's API key", () => {
  const partners = [{ ...aPartner("certified"), disabledAt: 1 }, aPartner("keyed")];
  const { book: mixed } = aBook(partners, [key.record], { f1: "certified" });
  const found = ask({ certificates: [certificate], keys }, mixed);
  expect(found?.partner.partnerId).toBe("keyed");
});

test("an API key has a prefix, an id of 12, a secret of 43 and a checksum of 6 characters", () => {
  for (const kind of ["live", "test"] as const) {
    const { text, record } = mintApiKey("agency", { ...options, kind });
    expect(text).toMatch(new RegExp(`^tvs_${kind}_[0-9A-Za-z]{61}$`));
    expect(text.slice(9, 21)).toBe(record.keyId);
    expect(apiKeyId(text, kind)).toBe(record.keyId);
  }
});

test("an API key is of one kind, live or sandbox, and its checksum is CRC-32 in base 62", () => {
  expect([apiKeyId(vectors.live, "live"), apiKeyId(vectors.live, "test")]).toEqual(["0123456789Ab", null]);
  expect([apiKeyId(vectors.test, "test"), apiKeyId(vectors.test, "live")]).toEqual(["Zz0000000000", null]);
});

test("new API keys differ, and use every character of the alphabet", () => {
  const texts = Array.from({ length: 200 }, () => mintApiKey("agency", options).text);
  expect(new Set(texts).size).toBe(200);
  expect(new Set(texts.join("").replaceAll("tvs_live_", "")).size).toBe(62);
});

test("the record of an API key has only a keyed hash", () => {
  const { text, record } = mintApiKey("agency", options);
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
  ["with a line break", `${vectors.live}\n`],

  ["with a character of another alphabet", vectors.live.replace("C", "С")],
  ["very long", `tvs_live_${"A".repeat(100_000)}`],
])("a text that is %s is not an API key", (_what, text) => {
  expect(apiKeyId(text, "live")).toBeNull();
});

const hourMs = 3_600_000;
const issuing = { ...options, overlapMs: 24 * hourMs };

test.each([
  ["expire sooner than the overlap ends keeps its expiry", now + hourMs, 24 * hourMs, now + hourMs],
  [
    "expire later than the overlap ends expires with the overlap",
    now + 48 * hourMs,
    24 * hourMs,
    now + 24 * hourMs,
  ],
  ["never expire expires immediately without an overlap", null, 0, now],
])("a replaced API key that would %s", (_what, expiresAt, overlapMs, ends) =>
  withStores(async ({ partners }) => {
    const first = { ...mintApiKey("agency", options).record, expiresAt };
    await partners.add(aPartner("agency"), first);
    const { previous } = await issueApiKey(partners, "agency", { ...issuing, overlapMs });
    expect(previous).toEqual({ keyId: first.keyId, expiresAt: ends });
    expect((await partners.apiKeys()).find((one) => one.keyId === first.keyId)?.expiresAt).toBe(ends);
  }),
);

test("a third live API key of a partner is refused, and expired keys are not counted", () =>
  withStores(async ({ partners }) => {
    await partners.add(aPartner("agency"), anApiKey("agency", "Expired00000"));
    await partners.add(aPartner("other"), anApiKey("other", "Other0000000"));
    await partners.addKey({ ...anApiKey("other", "Other1000000") }, { shortened: null, maxLive: 2 });
    await partners.revokeKey("Expired00000", now - 1);
    expect([...(await loadCredentialIndex(partners)).apiKeys.keys()]).toEqual([
      "Other0000000",
      "Other1000000",
    ]);
    const { previous } = await issueApiKey(partners, "agency", issuing);
    expect(previous).toBeNull();
    expect(await issueApiKey(partners, "agency", issuing)).toMatchObject({
      previous: { expiresAt: now + 24 * hourMs },
    });
    expect(await catchError(issueApiKey(partners, "agency", issuing))).toMatchObject({ code: "REFUSED" });
  }));

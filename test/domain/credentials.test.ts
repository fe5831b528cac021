import { expect, mock, spyOn, test } from "bun:test";
import {
  apiKeyRecord,
  authenticate,
  type CredentialIndex,
  credentialFaultOf,
  issueApiKey,
  mintApiKey,
  type PresentedCredentials,
  parseApiKeyId,
} from "../../src/domain/credentials.ts";
import type { ApiKey, Partner } from "../../src/domain/partners.ts";
import { deriveSecrets, generateMasterKey } from "../../src/domain/secrets.ts";
import { catchError } from "../harness/rejection.ts";
import { anApiKey, aPartner, secrets } from "../harness/samples.ts";
import { withStores } from "../harness/store.ts";

const now = Date.parse("2026-03-01T12:00:00Z");

const options = { kind: "live", secrets, now } as const;

const nothing: PresentedCredentials = { certificates: [], keys: [], hasOtherAuthorization: false };

function aBook(
  partners: readonly Partner[],
  keys: readonly ApiKey[],
  fingerprints: Record<string, string> = {},
): CredentialIndex {
  const certificates = Object.entries(fingerprints).map(([fingerprint, partnerId]) => {
    return { fingerprint, partnerId, subject: "CN=x", validFrom: 0, validTo: 1, addedAt: 0 };
  });
  return {
    partners: new Map(partners.map((one) => [one.partnerId, one])),
    apiKeys: new Map(keys.map((one) => [one.keyId, one])),
    certificates: new Map(certificates.map((one) => [one.fingerprint, one])),
  };
}

/** API keys whose checksum was computed with Python's zlib module. */
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
])("the refusal of a call with %s names the fault of its credentials", (_name, presented, expected) => {
  expect(credentialFaultOf({ ...nothing, ...presented }, "live")).toBe(expected);
});

const key = mintApiKey("keyed", options);
const other = mintApiKey("other", options);
const unknown = { fingerprint: "f2", ...valid };
const during = (validFrom: number, validTo: number) => ({ fingerprint: "f1", validFrom, validTo });
const credentials = { keyed: key.record.keyId, other: other.record.keyId, certified: "f1" };
const book = aBook(Object.keys(credentials).map(aPartner), [key.record, other.record], { f1: "certified" });
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
])(
  "a call with %s is authenticated by its first valid credential, if it has one",
  (_how, presented, partnerId) => {
    const caller = partnerId && { partner: aPartner(partnerId), credential: credentials[partnerId] };
    expect(ask(presented)).toEqual(caller);
  },
);

const foreign = apiKeyRecord(vectors.live, "keyed", options);
const stored = (change: Partial<ApiKey>) => aBook([aPartner("keyed")], [{ ...key.record, ...change }]);

// biome-ignore format: a table reads better in rows
test.each<[string, string, CredentialIndex, object]>([
  ["is of the other kind of service", key.text, book, { kind: "test" }],
  ["has a known id and another secret", vectors.live, stored({ keyId: foreign.keyId }), {}],
  ["has a record with an empty hash", key.text, stored({ mac: new Uint8Array() }), {}],
  ["has a record with a shortened hash", key.text, stored({ mac: key.record.mac.slice(0, 31) }), {}],
  ["was made under another master key", key.text, book, { secrets: deriveSecrets(generateMasterKey()) }],
  ["was revoked", key.text, stored({ revokedAt: now - 1 }), {}],
  ["will be revoked later", key.text, stored({ revokedAt: now + 1 }), {}],
  ["expires in this millisecond", key.text, stored({ expiresAt: now }), {}],
])("an API key that %s is refused", (_what, text, asked, changes) => {
  expect(ask({ keys: [text] }, asked, changes)).toBeNull();
});

test("an API key is accepted until the millisecond of its expiry", () => {
  expect(ask({ keys }, stored({ expiresAt: now + 1 }))?.credential).toBe(key.record.keyId);
});

test("an unknown API key is hashed once like a known one, so that the time does not show which keys exist", () => {
  const stranger = mintApiKey("stranger", options).text;
  for (const text of [stranger, key.text]) {
    const mac = mock(secrets.mac);
    ask({ keys: [text] }, book, { secrets: { ...secrets, mac } });
    expect(mac).toHaveBeenCalledTimes(1);
  }
});

test("a mistyped API key is refused without a database lookup", () => {
  const apiKeys = new Map(book.apiKeys);
  const get = spyOn(apiKeys, "get");
  const watched = { ...book, apiKeys };
  for (let at = 0; at < key.text.length; at++) {
    const wrong = key.text[at] === "x" ? "y" : "x";
    const text = key.text.slice(0, at) + wrong + key.text.slice(at + 1);
    expect(ask({ keys: [text] }, watched)).toBeNull();
  }
  expect(get).not.toHaveBeenCalled();
  expect(ask({ keys }, watched)).not.toBeNull();
  expect(get.mock.calls).toEqual([[key.record.keyId]]);
});

test("the credentials of a disabled or missing partner are refused, and do not hide another partner's API key", () => {
  const disabled = { ...aPartner("keyed"), disabledAt: now };
  for (const partners of [[disabled], []]) {
    const without = aBook([...partners, aPartner("other")], [key.record, other.record], { f1: "keyed" });
    for (const presented of [{ keys }, { certificates: [certificate] }])
      expect(ask(presented, without)).toBeNull();
    const both = ask({ certificates: [certificate], keys: [key.text, other.text] }, without);
    expect(both?.partner.partnerId).toBe("other");
  }
});

test("an API key has a prefix, an id, a secret and a checksum; its record has a keyed hash instead of the secret", () => {
  for (const kind of ["live", "test"] as const) {
    const { text, record } = mintApiKey("agency", { ...options, kind });
    expect(text).toMatch(new RegExp(`^tvs_${kind}_[0-9A-Za-z]{61}$`));
    const keyId = text.slice(9, 21);
    expect(parseApiKeyId(text, kind)).toBe(keyId);
    const mac = secrets.mac("api-key", text);
    const times = { createdAt: now, expiresAt: null, revokedAt: null };
    expect(record).toEqual({ keyId, partnerId: "agency", mac, ...times });
  }
});

test("an API key is of one kind, live or sandbox, and its checksum is CRC-32 in base 62", () => {
  expect([parseApiKeyId(vectors.live, "live"), parseApiKeyId(vectors.live, "test")]).toEqual([
    "0123456789Ab",
    null,
  ]);
  expect([parseApiKeyId(vectors.test, "test"), parseApiKeyId(vectors.test, "live")]).toEqual([
    "Zz0000000000",
    null,
  ]);
});

test("new API keys differ, and use every character of the alphabet", () => {
  const texts = Array.from({ length: 200 }, () => mintApiKey("agency", options).text);
  expect(new Set(texts).size).toBe(200);
  expect(new Set(texts.join("").replaceAll("tvs_live_", "")).size).toBe(62);
});

test.each([
  ["empty", ""],
  ["cut short", vectors.live.slice(0, -1)],
  ["too long", `${vectors.live}W`],
  ["with a line break", `${vectors.live}\n`],
  ["with a character of another alphabet", vectors.live.replace("C", "С")],
  ["very long", `tvs_live_${"A".repeat(100_000)}`],
])("a text that is %s is not an API key", (_what, text) => {
  expect(parseApiKeyId(text, "live")).toBeNull();
});

const hourMs = 3_600_000;
const issuing = { ...options, overlapMs: 24 * hourMs };

test.each([
  ["keeps its expiry within the overlap", now + hourMs, 24 * hourMs, now + hourMs],
  ["expires at the end of the overlap", now + 48 * hourMs, 24 * hourMs, now + 24 * hourMs],
  ["expires immediately without an overlap", null, 0, now],
])("an API key that is replaced by a new one %s", (_what, expiresAt, overlapMs, ends) =>
  withStores(async ({ partners }) => {
    const first = { ...mintApiKey("agency", options).record, expiresAt };
    await partners.add(aPartner("agency"), first);
    const { previous } = await issueApiKey(partners, "agency", { ...issuing, overlapMs });
    expect(previous).toEqual({ keyId: first.keyId, expiresAt: ends });
    expect((await partners.apiKeys()).find((one) => one.keyId === first.keyId)?.expiresAt).toBe(ends);
  }),
);

test("a partner cannot get a third live API key; revoked keys and other partners' keys are not counted", () =>
  withStores(async ({ partners }) => {
    await partners.add(aPartner("agency"), anApiKey("agency", "Expired00000"));
    await partners.add(aPartner("other"), anApiKey("other", "Other0000000"));
    await partners.addKey(anApiKey("other", "Other1000000"), { shortened: null, maxLive: 2 });
    await partners.revokeKey("Expired00000", now - 1);
    const issue = () => issueApiKey(partners, "agency", issuing);
    expect((await issue()).previous).toBeNull();
    expect((await issue()).previous).toMatchObject({ expiresAt: now + 24 * hourMs });
    expect(await catchError(issue())).toMatchObject({ code: "REFUSED" });
  }));

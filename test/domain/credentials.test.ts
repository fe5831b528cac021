import { describe, expect, test } from "bun:test";
import {
  apiKeyId,
  authenticate,
  type CredentialBook,
  isLive,
  mintApiKey,
  type Presented,
  refusalOf,
} from "../../src/domain/credentials.ts";
import type { ApiKey, Partner } from "../../src/domain/partners.ts";
import { deriveSecrets, newMasterKey } from "../../src/domain/secrets.ts";
import { aPartner, secrets } from "../harness/samples.ts";
import { crc32, inBase62 } from "./check-sum.ts";

const now = Date.parse("2026-03-01T12:00:00Z");

const minting = { kind: "live", secrets, now } as const;

const nothing: Presented = { certificate: null, bearer: null, headerKey: null };

/** Tells what was looked up. */
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
  const book: CredentialBook = {
    partners: new Map(partners.map((one) => [one.partnerId, one])),
    apiKeys,
    certificates: new Map(certificates),
  };
  return { book, apiKeys };
}

const options = { kind: "live", secrets, now } as const;

const valid = { validFrom: now - 1, validTo: now + 1 };

describe("why nobody calls, as far as it can be said without the database", () => {
  const configuration = mintApiKey("nobody", minting).text;
  const sandbox = mintApiKey("nobody", { ...minting, kind: "test" }).text;
  const mistyped = configuration.slice(0, -1);
  const certificate = { fingerprint: "f1", ...valid };

  test.each<[string, Partial<Presented>, ReturnType<typeof refusalOf>]>([
    ["nothing", {}, "none"],
    ["no Bearer", { otherAuthorization: true }, "otherAuthorization"],
    ["no Bearer, and a certificate", { otherAuthorization: true, certificate }, "otherAuthorization"],
    ["a mistyped key", { bearer: mistyped }, "mistyped"],
    ["what is no key at all", { headerKey: "nonsense" }, "mistyped"],
    ["a sandbox's key", { headerKey: sandbox }, "testKey"],
    ["a certificate", { certificate }, "unknown"],
    ["a certificate of a proxy", { forwardedCertificate: certificate }, "unknown"],
    ["a certificate and a mistyped key", { certificate, bearer: mistyped }, "mistyped"],
    ["a well-formed key", { bearer: configuration }, "unknown"],
    ["a well-formed key beside a mistyped one", { bearer: mistyped, headerKey: configuration }, "unknown"],
    [
      "a well-formed key without Bearer beside one",
      { otherAuthorization: true, headerKey: configuration },
      "unknown",
    ],
    ["two keys, the first of which is told", { bearer: sandbox, headerKey: mistyped }, "testKey"],
  ])("%s", (_name, presented, expected) => {
    expect(refusalOf({ ...nothing, ...presented }, "live")).toBe(expected);
  });

  test("a live key on a sandbox", () => {
    expect(refusalOf({ ...nothing, bearer: configuration }, "test")).toBe("liveKey");
    expect(refusalOf({ ...nothing, bearer: sandbox }, "test")).toBe("unknown");
  });
});

describe("who calls", () => {
  const key = mintApiKey("keyed", minting);
  const other = mintApiKey("other", minting);
  const certificate = { fingerprint: "f1", ...valid };
  const unknown = { fingerprint: "f2", ...valid };
  const held = (validFrom: number, validTo: number) => ({
    certificate: { fingerprint: "f1", validFrom, validTo },
  });
  const credentials = { keyed: key.record.keyId, other: other.record.keyId, certified: "f1" };
  const { book } = aBook(Object.keys(credentials).map(aPartner), [key.record, other.record], {
    f1: "certified",
  });
  const ask = (presented: Partial<Presented>, changes: Partial<typeof options> | { kind: "test" } = {}) =>
    authenticate({ ...nothing, ...presented }, book, { ...options, ...changes });
  const [bearer, headerKey, nonsense] = [key.text, other.text, "nonsense"];

  test.each<[string, Partial<Presented>, keyof typeof credentials | null]>([
    ["without a credential", {}, null],
    ["by a certificate before any key", { certificate, bearer, headerKey }, "certified"],
    ["by the Bearer key before the other", { bearer, headerKey }, "keyed"],
    ["by either header", { headerKey: key.text }, "keyed"],
    ["by a key behind an unknown certificate", { certificate: unknown, bearer }, "keyed"],
    ["by a key behind what is none", { certificate: unknown, bearer: nonsense, headerKey }, "other"],
    ["by a key behind a certificate that has ended", { ...held(0, now - 1), headerKey }, "other"],
    ["by nothing that is valid", { certificate: unknown, bearer: nonsense, headerKey: "" }, null],
    [
      "by what a proxy passes on, behind its own",
      { certificate: unknown, forwardedCertificate: certificate, bearer },
      "certified",
    ],
    ["by a proxy's own", { certificate, forwardedCertificate: unknown }, "certified"],
    ["by a key behind both", { certificate: unknown, forwardedCertificate: unknown, bearer }, "keyed"],
    ["by a certificate on its first and last moment", held(now, now), "certified"],
    ["by one that is yet to begin", held(now + 1, now + 2), null],
    ["by one that has ended", held(now - 2, now - 1), null],
  ])("%s", (_how, presented, partnerId) => {
    const caller = partnerId && { partner: aPartner(partnerId), credential: credentials[partnerId] };
    expect(ask(presented)).toEqual(caller);
  });

  test("a key of a sandbox opens no live service, nor the other way round", () => {
    const { text, record } = mintApiKey("keyed", { ...minting, kind: "test" });
    const mixed = aBook([aPartner("keyed")], [record]).book;
    const opens = (kind: "live" | "test") =>
      authenticate({ ...nothing, bearer: text }, mixed, { ...options, kind }) !== null;
    expect([opens("live"), opens("test"), ask({ bearer }, { kind: "test" })]).toEqual([false, true, null]);
  });

  test("a key with the right id and checksum and another secret is refused", () => {
    const forged = `${key.text.slice(0, 21)}${"0".repeat(43)}`;
    const text = forged + inBase62(crc32(forged));
    expect(apiKeyId(text, "live")).toBe(key.record.keyId);
    expect(ask({ bearer: text })).toBeNull();
  });

  test("a record whose hash was cut short matches nothing", () => {
    for (const length of [0, 1, 31]) {
      const cut = aBook([aPartner("keyed")], [{ ...key.record, mac: key.record.mac.slice(0, length) }]).book;
      expect(authenticate({ ...nothing, bearer: key.text }, cut, options)).toBeNull();
    }
  });

  test("keys made under another master key are refused", () => {
    const others = { ...options, secrets: deriveSecrets(newMasterKey()) };
    expect(authenticate({ ...nothing, bearer }, book, others)).toBeNull();
  });

  test("an unknown key costs the same hash as a known one, so that the time tells nothing of it", () => {
    let hashes = 0;
    const counting = {
      ...secrets,
      mac: (...asked: Parameters<typeof secrets.mac>) => {
        hashes++;
        return secrets.mac(...asked);
      },
    };
    const stranger = mintApiKey("stranger", minting).text;
    for (const bearer of [stranger, key.text]) {
      hashes = 0;
      authenticate({ ...nothing, bearer }, book, { ...options, secrets: counting });
      expect(hashes).toBe(1);
    }
  });

  test("a mistyped key is refused without the book being asked", () => {
    const { book: watched, apiKeys } = aBook([aPartner("keyed")], [key.record]);
    for (let place = 0; place < key.text.length; place++) {
      const wrong = key.text[place] === "x" ? "y" : "x";
      const bearer = key.text.slice(0, place) + wrong + key.text.slice(place + 1);
      expect(authenticate({ ...nothing, bearer }, watched, options)).toBeNull();
    }
    expect(apiKeys.asked).toEqual([]);
    expect(authenticate({ ...nothing, bearer: key.text }, watched, options)).not.toBeNull();
    expect(apiKeys.asked).toEqual([key.record.keyId]);
  });

  test.each<[string, Partial<ApiKey>, boolean]>([
    ["revoked", { revokedAt: now - 1 }, false],
    ["revoked at a later time than now", { revokedAt: now + 1 }, false],
    ["expired this millisecond", { expiresAt: now }, false],
    ["with one more millisecond to live", { expiresAt: now + 1 }, true],
    ["revoked before its end", { revokedAt: now - 1, expiresAt: now + 1 }, false],
  ])("a key %s", (_what, changes, lives) => {
    const record = { ...key.record, ...changes };
    const { book: changed } = aBook([aPartner("keyed")], [record]);
    expect(authenticate({ ...nothing, bearer: key.text }, changed, options) !== null).toBe(lives);
    expect(isLive(record, now)).toBe(lives);
  });

  test("a disabled or missing partner is nobody, by whatever credential", () => {
    for (const partners of [[{ ...aPartner("keyed"), disabledAt: now }], []]) {
      const { book: without } = aBook(partners, [key.record], { f1: "keyed" });
      for (const presented of [{ bearer: key.text }, { headerKey: key.text }, { certificate }]) {
        expect(authenticate({ ...nothing, ...presented }, without, options)).toBeNull();
      }
    }
  });

  test("a disabled partner's certificate does not hide another partner's key", () => {
    const partners = [{ ...aPartner("certified"), disabledAt: 1 }, aPartner("keyed")];
    const { book: mixed } = aBook(partners, [key.record], { f1: "certified" });
    const found = authenticate({ ...nothing, certificate, bearer }, mixed, options);
    expect(found?.partner.partnerId).toBe("keyed");
  });
});

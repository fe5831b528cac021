import { randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import type { ApiErrorCode } from "../partner/error-codes.ts";
import type { PartnerStore } from "../store/partners.ts";
import type { PresentedCertificate } from "./certificates.ts";
import { isoTimes } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { ApiKey, ApiKeyExpiry, ClientCertificate, Partner } from "./partners.ts";
import { areBytesEqual, type Secrets } from "./secrets.ts";

/** A sandbox accepts `test` keys only, every other service `live` keys only. */
export type ApiKeyKind = "live" | "test";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const idLength = 12;
const secretLength = 43;
const checksumLength = 6;
const apiKeyPattern = new RegExp(
  `^tvs_(live|test)_([0-9A-Za-z]{${idLength}})([0-9A-Za-z]{${secretLength}})([0-9A-Za-z]{${checksumLength}})$`,
);

/** A partner has at most two keys that are neither expired nor revoked: the key in use and its successor. */
export const maxLiveApiKeys = 2;

/** The kind and secrets of the service that makes or reads API keys, and the time in milliseconds since the epoch. */
type ApiKeyOptions = { readonly kind: ApiKeyKind; readonly secrets: Secrets; readonly now: number };

export function mintApiKey(partnerId: string, options: ApiKeyOptions) {
  const body = `tvs_${options.kind}_${randomBase62(idLength + secretLength)}`;
  const text = body + checksum(body);
  return { text, record: apiKeyRecord(text, partnerId, options) };
}

/** Makes the stored record of an API key. @throws TvsError INTERNAL if `text` is not a valid key of `kind` */
export function apiKeyRecord(text: string, partnerId: string, { kind, secrets, now }: ApiKeyOptions): ApiKey {
  const keyId = parseApiKeyId(text, kind);
  if (keyId === null) throw new TvsError("INTERNAL", "this is no API key");
  const mac = secrets.mac("api-key", text);
  return { keyId, partnerId, mac, createdAt: now, expiresAt: null, revokedAt: null };
}

function randomBase62(length: number): string {
  return Array.from({ length }, () => base62[randomInt(base62.length)]).join("");
}

/** Computes an API key's last six characters: a CRC-32 in base 62, which shows a typing error without a lookup. */
function checksum(body: string): string {
  let rest = crc32(body) >>> 0;
  let digits = "";
  for (let i = 0; i < checksumLength; i++) {
    digits = base62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Reads kind and id of an API key. @returns null if the text is not a valid key, such as a mistyped key */
function readApiKey(text: string): { kind: ApiKeyKind; keyId: string } | null {
  const [, kind, keyId, , sum] = apiKeyPattern.exec(text) ?? [];
  if (kind === undefined || keyId === undefined) return null;
  return checksum(text.slice(0, -checksumLength)) === sum ? { kind: kind as ApiKeyKind, keyId } : null;
}

/** Reads the id of an API key. @returns null if the text is not a valid key of `kind` (live or test) */
export function parseApiKeyId(text: string, kind: ApiKeyKind): string | null {
  const key = readApiKey(text);
  return key?.kind === kind ? key.keyId : null;
}

/** The credentials of a request, strongest first (contract C17). */
export type PresentedCredentials = {
  /** The certificate of the TLS connection, then the certificate in a trusted proxy's header. */
  readonly certificates: readonly PresentedCertificate[];
  /** The API key in `Authorization`, then the API key in `x-agency-api-key`. */
  readonly keys: readonly string[];
  /** True if the request has an `Authorization` header of another form than `Bearer API_KEY`. */
  readonly hasOtherAuthorization: boolean;
};

export type AuthenticatedCaller = {
  readonly partner: Partner;
  /** The API key's id or the certificate's fingerprint, for the evidence log. */
  readonly credential: string;
};

/** Partners by id, API keys by key id, certificates by fingerprint. An index is immutable; a reload replaces it. */
export type CredentialIndex = {
  readonly partners: ReadonlyMap<string, Partner>;
  readonly apiKeys: ReadonlyMap<string, ApiKey>;
  readonly certificates: ReadonlyMap<string, ClientCertificate>;
};

export async function loadCredentialIndex(store: PartnerStore): Promise<CredentialIndex> {
  const reads = [store.partners(), store.apiKeys(), store.certificates()] as const;
  const [partners, apiKeys, certificates] = await Promise.all(reads);
  return {
    partners: new Map(partners.map((partner) => [partner.partnerId, partner])),
    apiKeys: new Map(apiKeys.map((key) => [key.keyId, key])),
    certificates: new Map(certificates.map((certificate) => [certificate.fingerprint, certificate])),
  };
}

export function liveCredentialsOf(
  { apiKeys, certificates }: CredentialIndex,
  partnerId: string,
  now: number,
) {
  return [
    ...[...apiKeys.values()].filter((key) => key.partnerId === partnerId && isApiKeyLive(key, now)),
    ...[...certificates.values()].filter((one) => one.partnerId === partnerId && now <= one.validTo),
  ];
}

/** Finds the caller by the first credential that is valid. An unknown certificate before a valid key is ignored. */
export function authenticate(
  { certificates, keys }: PresentedCredentials,
  book: CredentialIndex,
  options: ApiKeyOptions,
): AuthenticatedCaller | null {
  const found = [
    ...certificates.map((certificate) => byCertificate(certificate, book, options.now)),
    ...keys.map((key) => byKey(key, book, options)),
  ];
  return found.find((caller) => caller !== null) ?? null;
}

/** The code and message of each 401. With `unknown` the caller cannot learn whether a well-formed credential exists. */
const refusedCredentials = {
  none: [
    "CREDENTIAL_REQUIRED",
    "no credential: send Authorization: Bearer API_KEY, or x-agency-api-key: API_KEY, or call with a client certificate",
  ],
  otherAuthorization: [
    "CREDENTIAL_REQUIRED",
    "the Authorization header must be the word Bearer, a space and one API key",
  ],
  mistyped: ["CREDENTIAL_MISTYPED", "the API key is mistyped or cut off: its check sum is wrong"],
  testKey: ["CREDENTIAL_WRONG_SERVICE", "this is a sandbox's key (tvs_test_), and this is the live service"],
  liveKey: [
    "CREDENTIAL_WRONG_SERVICE",
    "this is a live key (tvs_live_), and this is a sandbox: never send a live key to one",
  ],
  unknown: ["CREDENTIAL_INVALID", "a valid client certificate, Bearer key or x-agency-api-key is required"],
} as const satisfies Readonly<Record<string, readonly [code: ApiErrorCode, message: string]>>;

export function refusedCredentialError(fault: keyof typeof refusedCredentials): TvsError {
  const [code, message] = refusedCredentials[fault];
  return new TvsError(code, message);
}

/**
 * Finds why {@link authenticate} refused a request, by the text of the credentials alone. A caller with a well-formed
 * key does not learn whether the key exists, is live, or belongs to a disabled partner.
 */
export function credentialFaultOf(
  { certificates, keys, hasOtherAuthorization }: PresentedCredentials,
  kind: ApiKeyKind,
): keyof typeof refusedCredentials {
  const faults = keys.map((key) => faultOf(key, kind));
  if (faults.includes("unknown")) return "unknown";
  if (hasOtherAuthorization) return "otherAuthorization";
  return faults[0] ?? (certificates.length > 0 ? "unknown" : "none");
}

function faultOf(text: string, kind: ApiKeyKind): keyof typeof refusedCredentials {
  const key = readApiKey(text);
  if (key === null) return "mistyped";
  if (key.kind === kind) return "unknown";
  return key.kind === "test" ? "testKey" : "liveKey";
}

function byCertificate(certificate: PresentedCertificate, book: CredentialIndex, now: number) {
  if (now < certificate.validFrom || now > certificate.validTo) return null;
  const known = book.certificates.get(certificate.fingerprint);
  return known === undefined ? null : enabled(book, known.partnerId, certificate.fingerprint);
}

function byKey(text: string, book: CredentialIndex, options: ApiKeyOptions): AuthenticatedCaller | null {
  const keyId = parseApiKeyId(text, options.kind);
  if (keyId === null) return null;
  // The hash is computed for an unknown id too, so that the time of a refusal does not show which ids exist.
  const mac = options.secrets.mac("api-key", text);
  const record = book.apiKeys.get(keyId);
  if (record === undefined || !areBytesEqual(mac, record.mac) || !isApiKeyLive(record, options.now))
    return null;
  return enabled(book, record.partnerId, record.keyId);
}

function enabled(book: CredentialIndex, partnerId: string, credential: string): AuthenticatedCaller | null {
  const partner = book.partners.get(partnerId);
  return partner === undefined || partner.disabledAt !== null ? null : { partner, credential };
}

export function isApiKeyLive(key: ApiKey, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || now < key.expiresAt);
}

/** The time at which a partner's last credential of one kind expires, in milliseconds since the epoch. */
type CredentialExpiry = {
  readonly partnerId: string;
  readonly kind: "key" | "certificate";
  readonly endsAt: number;
};

/** Lists when each enabled partner's last key and last certificate expire. A last key that never expires is left out. */
export function listLastExpiries({ partners, apiKeys, certificates }: CredentialIndex): CredentialExpiry[] {
  const never = Number.POSITIVE_INFINITY;
  const ends = new Map<string, CredentialExpiry>();
  const add = (end: CredentialExpiry) => {
    const id = `${end.kind} ${end.partnerId}`;
    if ((ends.get(id)?.endsAt ?? 0) < end.endsAt) ends.set(id, end);
  };
  for (const { partnerId, expiresAt, revokedAt } of apiKeys.values())
    if (revokedAt === null) add({ partnerId, kind: "key", endsAt: expiresAt ?? never });
  for (const { partnerId, validTo } of certificates.values())
    add({ partnerId, kind: "certificate", endsAt: validTo });
  return [...ends.values()].filter(
    ({ partnerId, endsAt }) => endsAt !== never && partners.get(partnerId)?.disabledAt === null,
  );
}

/** Describes an API key for the commands, without its hash; times in ISO 8601. */
export function describeApiKey(key: ApiKey, now: number) {
  const { keyId, partnerId, createdAt, expiresAt, revokedAt } = key;
  const state = isApiKeyLive(key, now) ? "live" : revokedAt === null ? "expired" : "revoked";
  return { keyId, partnerId, state, ...isoTimes({ createdAt, expiresAt, revokedAt }) };
}

async function liveKeys(store: PartnerStore, partnerId: string, now: number): Promise<ApiKey[]> {
  return (await store.apiKeys()).filter((key) => key.partnerId === partnerId && isApiKeyLive(key, now));
}

function tooManyKeys(partnerId: string, live: readonly ApiKey[]): TvsError {
  const found = `partner "${partnerId}" has two live keys (${live.map((key) => key.keyId).join(", ")})`;
  return new TvsError("REFUSED", `${found}; revoke one first: tvs partners key revoke ${live[0]?.keyId}`);
}

/** Issues a new API key. The old key expires after the overlap. @throws TvsError REFUSED if two keys are live */
export async function issueApiKey(
  store: PartnerStore,
  partnerId: string,
  options: ApiKeyOptions & { readonly overlapMs: number },
) {
  const { text, record } = mintApiKey(partnerId, options);
  const [current] = await liveKeys(store, partnerId, options.now);
  const expiresAt = Math.min(current?.expiresAt ?? Number.POSITIVE_INFINITY, options.now + options.overlapMs);
  const previous: ApiKeyExpiry | null = current === undefined ? null : { keyId: current.keyId, expiresAt };
  if (await store.addKey(record, { shortened: previous, maxLive: maxLiveApiKeys }))
    return { text, record, previous };
  throw tooManyKeys(partnerId, await liveKeys(store, partnerId, options.now));
}

/** Revokes a key. @returns the key; `isLast` is true if its partner has no live key left. @throws TvsError NOT_KNOWN */
export async function revokeApiKey(store: PartnerStore, keyId: string, now: number) {
  const record = await store.revokeKey(keyId, now);
  const unknown =
    "no API key has this id (the 12 characters after the prefix); `tvs partners key list ID` shows them";
  if (record === null) throw new TvsError("NOT_KNOWN", unknown);
  return { record, isLast: (await liveKeys(store, record.partnerId, now)).length === 0 };
}

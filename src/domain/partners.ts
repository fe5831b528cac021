import { type Purpose, purposes } from "../partner/contract.ts";
import { TvsError } from "./errors.ts";

export const scopes = ["eligibility", "lookup_by_reg_no", "lookup_by_tid", "lookup_by_nin", "batch"] as const;
export type Scope = (typeof scopes)[number];

/** What a batch costs: one call, or one call an item. */
export const batchCosts = ["call", "item"] as const;
export type BatchCost = (typeof batchCosts)[number];

/** An onboarded agency. `partnerId` becomes the envelope's `audience`. Times are milliseconds since the epoch. */
export type Partner = {
  readonly partnerId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly purposes: readonly Purpose[];
  readonly perMinute: number;
  readonly perDay: number;
  readonly batchCost: BatchCost;
  readonly createdAt: number;
  readonly disabledAt: number | null;
};

/** Quota and idempotency belong to the partner; keys and certificates only lead to it. */
export type ApiKey = {
  readonly keyId: string;
  readonly partnerId: string;
  readonly mac: Uint8Array;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
};

export type ClientCertificate = {
  /** SHA-256 of the DER, lower-case hexadecimal. */
  readonly fingerprint: string;
  readonly partnerId: string;
  readonly subject: string;
  readonly validFrom: number;
  readonly validTo: number;
  readonly addedAt: number;
};

export type PartnerStore = {
  partners(): Promise<Partner[]>;
  apiKeys(): Promise<ApiKey[]>;
  certificates(): Promise<ClientCertificate[]>;
  /** @throws TvsError REFUSED when the id is taken */
  add(partner: Partner, key: ApiKey): Promise<void>;
  /** @throws TvsError NOT_KNOWN */
  update(partner: Partner): Promise<void>;
  /** Adds a key and shortens another's life, in one act. */
  addKey(key: ApiKey, shortened: { keyId: string; expiresAt: number } | null): Promise<void>;
  revokeKey(keyId: string, at: number): Promise<boolean>;
  /** @throws TvsError REFUSED when the certificate belongs to a partner already */
  addCertificate(certificate: ClientCertificate): Promise<void>;
  removeCertificate(partnerId: string, fingerprint: string): Promise<boolean>;
};

export type PartnerChange = Partial<Pick<Partner, "name" | "scopes" | "purposes" | "perMinute" | "perDay" | "batchCost">>;

/** The highest quota: far above what one machine can sign. */
const maxQuota = 1_000_000_000;

/**
 * Checks a partner record before it is stored.
 * @throws TvsError USAGE naming the field
 */
export function checkPartner(partner: Partner): Partner {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(partner.partnerId)) {
    throw new TvsError("USAGE", "the partner id must be 1 to 64 letters, digits, dots, dashes or underscores");
  }
  if (partner.name.trim() === "" || partner.name.length > 200) {
    throw new TvsError("USAGE", "--name must be 1 to 200 characters");
  }
  checkQuota("--per-minute", partner.perMinute);
  checkQuota("--per-day", partner.perDay);
  return partner;
}

function checkQuota(flag: string, value: number): void {
  if (!Number.isInteger(value) || value < 0 || value > maxQuota) {
    throw new TvsError("USAGE", `${flag} must be a whole number from 0 to ${maxQuota}`);
  }
}

/**
 * Reads `all`, or names separated by commas.
 * @throws TvsError USAGE naming the flag and what it takes
 */
export function parseList<T extends string>(flag: string, text: string, known: readonly T[]): T[] {
  if (text === "all") return [...known];
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.some((one) => one === name));
  if (unknown !== undefined) {
    throw new TvsError("USAGE", `${flag}: "${unknown}" is not one of all, ${known.join(", ")}`);
  }
  return known.filter((one) => names.includes(one));
}

export function parseScopes(text: string): Scope[] {
  return parseList("--scopes", text, scopes);
}

export function parsePurposes(text: string): Purpose[] {
  return parseList("--purposes", text, purposes);
}

/** @throws TvsError NOT_KNOWN */
export async function requirePartner(store: PartnerStore, partnerId: string): Promise<Partner> {
  const partner = (await store.partners()).find((one) => one.partnerId === partnerId);
  if (partner === undefined) {
    throw new TvsError("NOT_KNOWN", `no partner "${partnerId}"; \`tvs partners list\` shows them`);
  }
  return partner;
}

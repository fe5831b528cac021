import type { Purpose } from "../partner/contract.ts";
import type { PartnerStore } from "../store/partners.ts";
import { isoTimes } from "./clock.ts";
import { TvsError } from "./errors.ts";
import type { EventFilter } from "./event-filter.ts";
import { holdsPersonalData } from "./personal-data.ts";
import { hasHiddenCharacter } from "./plain-text.ts";

/** The operation of each scope, as the evidence log, the metrics and the console name it. */
export const operationOfScope = {
  eligibility: "eligibility-check",
  lookup_by_reg_no: "lookup-by-reg-no",
  lookup_by_tid: "lookup-by-tid",
  lookup_by_nin: "lookup-by-nin",
  batch: "batch",
  roster: "roster",
} as const;
export type Scope = keyof typeof operationOfScope;
export const scopes = Object.keys(operationOfScope) as readonly Scope[];

/** The charge of a batch to the quota: one call, or one call per item. */
export const batchCostUnits = ["call", "item"] as const;
type BatchCost = (typeof batchCostUnits)[number];

/** An onboarded agency. `partnerId` becomes the envelope's `audience`. Times are milliseconds since the epoch. */
export type Partner = {
  readonly partnerId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly purposes: readonly Purpose[];
  readonly perMinute: number;
  readonly perDay: number;
  readonly batchCost: BatchCost;
  readonly watchLimit: number;
  readonly eventFilter: EventFilter;
  readonly createdAt: number;
  readonly disabledAt: number | null;
};

/** An API key of a partner. Quotas and idempotency keys are per partner, not per API key. */
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

export type ApiKeyExpiry = { readonly keyId: string; readonly expiresAt: number };

type PartnerTerms = Omit<Partner, "partnerId" | "createdAt" | "disabledAt" | "eventFilter">;
export type PartnerChange = Partial<PartnerTerms> & { readonly eventFilter?: Partial<EventFilter> };

/** The highest quota: far above what one machine can sign. */
const maxQuota = 1_000_000_000;
export const defaultWatchLimit = 100_000;
/** The highest watch limit: more teachers than any country has. */
const maxWatchLimit = 10_000_000;

/** Checks a partner's record before it is stored. @throws TvsError USAGE naming the wrong field */
export function checkPartner(partner: Partner): Partner {
  const wanted = "the partner id must be 1 to 64 letters, digits, dots, dashes or underscores";
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(partner.partnerId)) throw new TvsError("USAGE", wanted);
  checkPartnerChange(partner);
  return partner;
}

/** Checks a change of a partner. @throws TvsError USAGE naming the wrong option, or if the change is empty */
export function checkPartnerChange(change: PartnerChange): void {
  const { name, perMinute, perDay, watchLimit } = change;
  if (Object.keys(change).length === 0) {
    const flags =
      "--name, --scopes, --purposes, --per-minute, --per-day, --batch-cost, --events, --teachers or --watch-limit";
    throw new TvsError("USAGE", `nothing to change: give at least one of ${flags}`);
  }
  if (name !== undefined && (name.trim() === "" || name.length > 200 || hasHiddenCharacter(name)))
    throw new TvsError("USAGE", "--name must be 1 to 200 printable characters, in one line");
  if (name !== undefined && holdsPersonalData(name))
    throw new TvsError("USAGE", "--name must not hold an e-mail address or a phone number; name the agency");
  if (perMinute !== undefined) checkCount("--per-minute", perMinute, maxQuota);
  if (perDay !== undefined) checkCount("--per-day", perDay, maxQuota);
  if (watchLimit !== undefined) checkCount("--watch-limit", watchLimit, maxWatchLimit);
}

function checkCount(option: string, value: number, most: number): void {
  if (!Number.isInteger(value) || value < 0 || value > most)
    throw new TvsError("USAGE", `${option} must be a whole number from 0 to ${most}`);
}

/** Reads a partner. @throws TvsError NOT_KNOWN */
export async function requirePartner(store: PartnerStore, partnerId: string): Promise<Partner> {
  const partner = (await store.partners()).find((one) => one.partnerId === partnerId);
  if (partner === undefined)
    throw new TvsError("NOT_KNOWN", `no partner "${partnerId}"; \`tvs partners list\` shows them`);
  return partner;
}

export function describePartner(partner: Partner) {
  const { createdAt, disabledAt, ...terms } = partner;
  return { ...terms, ...isoTimes({ createdAt, disabledAt }) };
}

export function describeCertificate({ validFrom, validTo, addedAt, ...named }: ClientCertificate) {
  return { ...named, ...isoTimes({ validFrom, validTo, addedAt }) };
}

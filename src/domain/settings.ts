/**
 * The table of all settings. Options, environment variables, the questions of `tvs init` and the stored settings
 * (decision D1.5) are derived from this table.
 */

import * as v from "valibot";
import { foreverRetention } from "./evidence/retention.ts";
import { hasWildcardHost, parseNetwork } from "./networks.ts";
import { type Policy, parsePolicy } from "./policy.ts";
import { readStoredSite, type SiteDetails } from "./site.ts";

export type SettingRow = {
  /** The schema that parses the setting's text. Its error message says what the text must be. */
  readonly kind: v.GenericSchema;
  /** The name of the option's value in `--help`; absent for an option without a value. */
  readonly hint?: string;
  /** The default as text; absent without a default. */
  readonly usual?: string;
  /** The command that stores the value: each `serve` that gets the option, or `init`. Absent if no command stores it. */
  readonly remembered?: "serve" | "init";
  /** Present if `tvs init` asks for the setting. A text is the question's default answer, instead of `usual`. */
  readonly init?: true | string;
};

const text = v.pipe(v.string(), v.trim(), v.nonEmpty("must not be empty"));
const count = (max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, "must be a whole number"),
    v.transform(Number),
    v.maxValue(max, `must be at most ${max}`),
  );
const booleanText = v.union(
  [
    v.boolean(),
    v.pipe(
      v.picklist(["1", "0", "true", "false", "yes", "no", "on", "off"]),
      v.transform((word) => ["1", "true", "yes", "on"].includes(word)),
    ),
  ],
  "must be true or false",
);
const timeZone = v.pipe(text, v.check(isTimeZone, "must be an IANA time zone such as Africa/Lagos"));
const issuer = v.pipe(
  text,
  v.check(isHttpAddress, "must be an http or https URL without user, query or fragment"),
  v.check((address) => !hasWildcardHost(address), "must be the URL at which others reach the service"),
  v.transform((address) => address.replace(/\/+$/, "")),
);
/** IP addresses and CIDR blocks: one text with commas, or several texts. */
const networks = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((given) => {
    const entries = [given].flat().join(",").split(",");
    const named = entries.map((entry) => entry.trim()).filter((entry) => entry !== "");
    named.forEach(parseNetwork);
    return named;
  }),
);

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Checks the text, because a URL parser corrects flaws of a text, and partners compare issuers as texts. */
function isHttpAddress(address: string): boolean {
  return /^https?:\/\/[^\s?#@\\/][^\s?#@\\]*$/i.test(address) && URL.canParse(address);
}

const signingEngines = ["auto", "crypto_mb", "openssl", "webcrypto"] as const;

/** The register's location and master key. Each is an option of every command, or only an environment variable. */
export const registerAccessSettings = {
  data: { kind: text, usual: "./data" },
  database: { kind: text },
  databaseToken: { kind: text },
  sandbox: { kind: booleanText, usual: "off" },
  masterKey: { kind: text },
} as const satisfies Readonly<Record<string, SettingRow>>;

export const sharedSettings = {
  issuer: { kind: issuer, hint: "URL", remembered: "serve", init: true },
  timeZone: { kind: timeZone, hint: "ZONE", usual: "Africa/Lagos", remembered: "serve", init: true },
  policy: { kind: text, hint: "FILE", remembered: "serve" },
  site: { kind: text, hint: "FILE", remembered: "serve" },
  keepAttestations: { kind: text, hint: "TIME", usual: foreverRetention, remembered: "serve", init: true },
  statusList: { kind: booleanText, hint: "on|off", remembered: "serve", init: "on" },
  allowPrivateWebhooks: { kind: booleanText, remembered: "serve" },
  signingEngine: {
    kind: v.picklist(signingEngines, "must be auto, crypto_mb, openssl or webcrypto"),
    hint: signingEngines.join("|"),
    usual: "auto",
  },
  cryptoMb: { kind: text, hint: "FILE" },
} as const satisfies Readonly<Record<string, SettingRow>>;

/** The most signer threads. Each thread needs memory, and more threads showed no gain in measurements. */
export const maxSignerThreads = 64;

export const serveSettings = {
  host: { kind: text, hint: "ADDRESS", usual: "127.0.0.1", remembered: "init", init: true },
  port: { kind: count(65_535), hint: "N", usual: "8080", remembered: "init", init: true },
  signers: { kind: count(maxSignerThreads), hint: "N" },
  accessLog: { kind: booleanText, usual: "off", remembered: "init", init: "on" },
  publicPerMinute: { kind: count(100_000_000), hint: "N", usual: "60" },
  trustedProxy: { kind: networks, hint: "CIDR", usual: "" },
  clientCertFrom: { kind: networks, hint: "CIDR", usual: "" },
  adminPort: { kind: count(65_535), hint: "N" },
  tlsPort: { kind: count(65_535), hint: "N" },
  tlsCert: { kind: text, hint: "FILE" },
  tlsKey: { kind: text, hint: "FILE" },
} as const satisfies Readonly<Record<string, SettingRow>>;

export function optionNameOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function envVariableOf(option: string): string {
  return `TVS_${option.toUpperCase().replaceAll("-", "_")}`;
}

export function storedNameOf(name: string): string {
  return optionNameOf(name).replaceAll("-", "_");
}

/** The stored names of the settings whose values the table `changes` records. Contents of files may be too long. */
export const namesOfLoggedSettings = Object.entries<SettingRow>({ ...sharedSettings, ...serveSettings })
  .filter(([, { remembered, hint }]) => remembered !== undefined && hint !== "FILE")
  .map(([name]) => storedNameOf(name));

/** The settings that the service runs with, and that `serve` stores in the database. */
export type Settings = {
  readonly issuer: string;
  readonly timeZone: string;
  readonly policy: Policy;
  readonly allowPrivateWebhooks: boolean;
  /** True if envelopes name a status list, and the service publishes signed status lists. */
  readonly statusList: boolean;
  readonly site: SiteDetails;
};

/** Reads the stored settings. A setting that is not stored gets its value from `defaults`. */
export function readSettings(stored: ReadonlyMap<string, string>, defaults: Settings): Settings {
  const policy = stored.get("policy");
  const site = stored.get("site");
  const isOn = (name: string, usual: boolean) => (stored.get(name) ?? onOff(usual)) === "on";
  return {
    issuer: stored.get("issuer") ?? defaults.issuer,
    timeZone: stored.get("time_zone") ?? defaults.timeZone,
    policy: policy === undefined ? defaults.policy : parsePolicy(policy),
    allowPrivateWebhooks: isOn("allow_private_webhooks", defaults.allowPrivateWebhooks),
    statusList: isOn("status_list", defaults.statusList),
    site: site === undefined ? defaults.site : readStoredSite(site),
  };
}

export function serializeSettings(settings: Settings): Record<string, string> {
  const stored = Object.entries(settings).map(([name, value]) => [
    storedNameOf(name),
    serializeSetting(value),
  ]);
  return Object.fromEntries(stored);
}

export function serializeSetting(value: Settings[keyof Settings]): string {
  if (typeof value === "boolean") return onOff(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function onOff(isOn: boolean): "on" | "off" {
  return isOn ? "on" : "off";
}

/** Finds the settings that differ from their stored values. Writing an equal value could undo another node's change. */
export function findChangedSettings(
  settings: Readonly<Record<string, string>>,
  remembered: ReadonlyMap<string, string>,
): Record<string, string> {
  const changed = Object.entries(settings).filter(([name, value]) => remembered.get(name) !== value);
  return Object.fromEntries(changed);
}

export function isSandbox(stored: ReadonlyMap<string, string>): boolean {
  return stored.get("environment") === "sandbox";
}

/** The issuer of a register on which no service has run yet. */
export const initialIssuer = "http://127.0.0.1:8080";

/** The setting is `true` if an operator chose the issuer. If not, the issuer is the URL at which a service listened. */
export const issuerIsSetSettingName = "issuer_set";

export function isIssuerSet(stored: ReadonlyMap<string, string>): boolean {
  return stored.get(issuerIsSetSettingName) === "true";
}

/** The setting that is `true` while all webhooks are held, after `tvs restore --hold-webhooks`. */
export const holdWebhooksSettingName = "hold_webhooks";

/** The setting with the time of a proxy's last unreadable `Client-Cert`, which `tvs doctor` reports. */
export const unreadableCertificateSettingName = "client_cert_unreadable_at";

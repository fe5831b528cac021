/** What `serve` and the commands must agree on, as the database remembers it (decision D1.5). */

import { issuerFlaw } from "./networks.ts";
import { type Policy, parsePolicy } from "./policy.ts";
import { rememberedSite, type Site, storedSite } from "./site.ts";

/** What `serve` and the commands must agree on; `serve` remembers it in the database. */
export type Settings = {
  readonly issuer: string;
  readonly timeZone: string;
  readonly policy: Policy;
  readonly allowPrivateWebhooks: boolean;
  /** Whether envelopes say where to look whether they were withdrawn, and signed status lists are served. */
  readonly statusList: boolean;
  readonly site: Site;
};

/** What a database says that it is. */
export function isSandbox(stored: ReadonlyMap<string, string>): boolean {
  return stored.get("environment") === "sandbox";
}

/** Remembered settings, with `defaults` for what was never said. */
export function readSettings(stored: ReadonlyMap<string, string>, defaults: Settings): Settings {
  const policy = stored.get("policy");
  const site = stored.get("site");
  return {
    issuer: stored.get("issuer") ?? defaults.issuer,
    timeZone: stored.get("time_zone") ?? defaults.timeZone,
    policy: policy === undefined ? defaults.policy : parsePolicy(policy),
    allowPrivateWebhooks:
      (stored.get("allow_private_webhooks") ?? String(defaults.allowPrivateWebhooks)) === "true",
    statusList: (stored.get(statusListName) ?? onOff(defaults.statusList)) === "on",
    site: site === undefined ? defaults.site : rememberedSite(site),
  };
}

/** What `tvs init` was told for every `serve` that is not: its options, and the settings that remember them. */
export const initSettings = {
  host: "listen_host",
  port: "listen_port",
  "access-log": "access_log",
} as const;

/** The setting that remembers whether there are status lists, as {@link onOff} writes it. */
export const statusListName = "status_list";

/** The note of when a proxy last sent a `Client-Cert` that could not be read, which `tvs doctor` reports. */
export const unreadableCertificateName = "client_cert_unreadable_at";

export function onOff(isOn: boolean): "on" | "off" {
  return isOn ? "on" : "off";
}

/** The setting that tells whether somebody chose the issuer. */
export const issuerToldName = "issuer_told";

/**
 * Whether somebody chose the remembered issuer. One that nobody chose is the address at which a service happened to
 * listen; before that was told apart, it was kept as if it had been chosen.
 */
export function isIssuerTold(stored: ReadonlyMap<string, string>): boolean {
  const issuer = stored.get("issuer");
  if (issuer === undefined || issuerFlaw(issuer) === "wildcard") return false;
  const told = stored.get(issuerToldName);
  return told === undefined ? issuerFlaw(issuer) !== "loopback" : told === "true";
}

/** The form in which settings are remembered. */
export function storedSettings(settings: Settings): Record<string, string> {
  return {
    issuer: settings.issuer,
    time_zone: settings.timeZone,
    policy: JSON.stringify(settings.policy),
    allow_private_webhooks: String(settings.allowPrivateWebhooks),
    [statusListName]: onOff(settings.statusList),
    site: storedSite(settings.site),
  };
}

/**
 * What is to be remembered anew. Nothing that was so already is written again: between the reading and the writing
 * another node may have been told something else.
 */
export function newSettings(
  settings: Readonly<Record<string, string>>,
  remembered: ReadonlyMap<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).filter(([name, value]) => remembered.get(name) !== value),
  );
}

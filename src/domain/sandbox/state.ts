/**
 * The state of a sandbox that a partner's engineer can move: the day, and who listens to the deliveries. It stands in
 * the settings of a sandbox. A live register has none of it, whatever is written into its database.
 */

import type { MovedDay } from "../clock.ts";
import type { SettingsStore } from "../settings.ts";
import type { WebhookEndpoint } from "../webhooks.ts";

/** What a running service keeps of it in memory. */
type SandboxState = {
  /** By how much the sandbox's calendar was moved (decision D9.3). */
  readonly day: MovedDay;
  /** The address of a `tvs listen` on this machine, to which deliveries go although it is private (decision D9.2). */
  readonly relayUrl: string | null;
  /** How the demo partner's receiver last answered forged deliveries (decision D14.3). */
  readonly forgeryTrial: ForgeryTrial | null;
};

/** The endpoint of the demo partner before somebody listened. */
export type EndpointBefore = Pick<WebhookEndpoint, "url"> & {
  readonly isDisabled: boolean;
};

/** Who listens, and what is to be put back afterwards: a killed one cannot do it itself. */
export type Relay = {
  readonly url: string;
  readonly pid: number;
  /** Whether it hands deliveries on to a receiver, or acknowledges them itself. */
  readonly forwards: boolean;
  /** Null when there was no endpoint. */
  readonly before: EndpointBefore | null;
};

/** How the demo partner's receiver answered forged deliveries. */
export type ForgeryTrial = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Whether it refused every one of them with 4xx. */
  readonly refusedAll: boolean;
};

/** The partner in whose name a sandbox is tried. */
export const demoPartner = "demo";

type Stored = ReadonlyMap<string, string>;

const today: MovedDay = { aheadDays: 0, movedAt: 0 };
const dayName = "sandbox_day";
const relayName = "sandbox_relay";
const trialName = "sandbox_forgery_trial";

/** Whether an address can be that of a `tvs listen`: it listens on this machine and nowhere else. */
export function mayBeRelay(url: string): boolean {
  // By its origin: the beginning of the text may be a user and a password before another host.
  // Only that address is wanted: the host of another need not be read, which takes the square of its length.
  return (
    url.startsWith("http://127.0.0.1:") &&
    URL.canParse(url) &&
    new URL(url).origin.startsWith("http://127.0.0.1:")
  );
}

/** The settings' own word for what a database is. */
export function isSandbox(stored: Stored): boolean {
  return stored.get("environment") === "sandbox";
}

/** @param stored all settings */
export function readSandboxState(stored: Stored): SandboxState {
  if (!isSandbox(stored)) return { day: today, relayUrl: null, forgeryTrial: null };
  return {
    day: read<MovedDay>(stored, dayName) ?? today,
    relayUrl: relayUrl(readRelay(stored)),
    forgeryTrial: read<ForgeryTrial>(stored, trialName),
  };
}

function relayUrl(relay: Relay | null): string | null {
  return relay !== null && mayBeRelay(relay.url) ? relay.url : null;
}

export function readRelay(stored: Stored): Relay | null {
  return read<Relay>(stored, relayName);
}

function read<T>(stored: Stored, name: string): T | null {
  const text = stored.get(name) ?? "";
  return text === "" || !isSandbox(stored) ? null : (JSON.parse(text) as T);
}

export function writeDay(settings: SettingsStore, day: MovedDay): Promise<void> {
  return settings.write({ [dayName]: JSON.stringify(day) });
}

/** @param relay null when nobody listens any more */
export function writeRelay(settings: SettingsStore, relay: Relay | null): Promise<void> {
  return settings.write({ [relayName]: relay === null ? "" : JSON.stringify(relay) });
}

export function writeForgeryTrial(settings: SettingsStore, trial: ForgeryTrial): Promise<void> {
  return settings.write({ [trialName]: JSON.stringify(trial) });
}

import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { TvsError } from "./errors.ts";
import type { SettingsStore } from "./live.ts";
import { equalBytes, type Secrets } from "./secrets.ts";

/** How long a link may wait to be opened. */
export const linkLifeMs = 5 * 60_000;

/** The setting by which a service tells the commands where its console is. */
const consoleSetting = "console";

/**
 * Where a running service has its console. `run` is made anew at each start and is part of every link, so that a link
 * which was used before a restart is not good again after it.
 */
type ConsolePlace = { readonly port: number; readonly run: string };

export type LinkVerdict = "good" | "expired" | "unknown";

/** Remembers where the console is, or that there is none. */
export async function rememberConsole(settings: SettingsStore, place: ConsolePlace | null): Promise<void> {
  const value = place === null ? "" : JSON.stringify(place);
  if (((await settings.read()).get(consoleSetting) ?? "") !== value) {
    await settings.write({ [consoleSetting]: value });
  }
}

/** @throws TvsError REFUSED when the service that ran last has no console */
export async function findConsole(settings: SettingsStore): Promise<ConsolePlace> {
  const stored = (await settings.read()).get(consoleSetting) ?? "";
  if (stored !== "") return JSON.parse(stored) as ConsolePlace;
  throw new TvsError(
    "REFUSED",
    "the running service has no console; restart it with `tvs serve --admin-port 9464`",
  );
}

export function newRun(): string {
  return randomBytes(9).toString("base64url");
}

/**
 * Makes a link that opens the console once. Its token is a message authentication code under a key derived from the
 * master key, so only who can read the master key and the database can make one, and nothing is stored for it.
 * @returns the address, and when it ends in milliseconds since the epoch
 */
export function mintLink(
  secrets: Secrets,
  place: ConsolePlace,
  now: number,
): { url: string; expiresAt: number } {
  const expiresAt = now + linkLifeMs;
  const content = `${expiresAt.toString(36)}.${randomBytes(12).toString("base64url")}`;
  const token = `${content}.${base64url(macOf(secrets, place.run, content))}`;
  return { url: `http://127.0.0.1:${place.port}/open?token=${token}`, expiresAt };
}

/**
 * Judges a token. Whether it was used before is not known here.
 * @returns `expired` only for a token that was good once
 */
export function checkToken(token: string, { secrets, run, now }: CheckOptions): LinkVerdict {
  const match = /^([0-9a-z]{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token);
  if (match === null) return "unknown";
  const [, expiry = "", nonce = "", mac = ""] = match;
  const expected = base64url(macOf(secrets, run, `${expiry}.${nonce}`));
  // As text: the same bytes have four spellings in base64url, and a link that was used would be good in the others.
  if (!equalBytes(asciiBytes(expected), asciiBytes(mac))) return "unknown";
  return now < Number.parseInt(expiry, 36) ? "good" : "expired";
}

type CheckOptions = { readonly secrets: Secrets; readonly run: string; readonly now: number };

function macOf(secrets: Secrets, run: string, content: string): Uint8Array {
  return secrets.mac("console-link", `${run}.${content}`);
}

function asciiBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "ascii"));
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

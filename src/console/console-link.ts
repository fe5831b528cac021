import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import { equalBytes, type Secrets } from "../domain/secrets.ts";

/** How long a link may wait to be opened. */
export const linkLifeMs = 5 * 60_000;

/**
 * Where a running service has its console. The id, another one at each start, is part of every link, which ends with it;
 * so is the port, so that a file that names another one leads nobody with a token to whoever listens there.
 */
export type ConsolePlace = { readonly port: number; readonly id: string };

export type LinkVerdict = "good" | "expired" | "unknown";

/**
 * Reads what a service has kept of its console.
 * @param text of its file; null when there is none
 * @throws TvsError REFUSED
 */
export function readPlace(text: string | null): ConsolePlace {
  const match = /^(\d{1,5}) ([0-9a-f-]{36})\n$/.exec(text ?? "");
  if (match !== null) return { port: Number(match[1]), id: match[2] ?? "" };
  const message =
    "the running service has no console, or keeps its data elsewhere; restart it with `tvs serve --admin-port 9464`";
  throw new TvsError("REFUSED", message);
}

export function writePlace({ port, id }: ConsolePlace): string {
  return `${port} ${id}\n`;
}

/**
 * Makes a link that opens the console once. Its token is a message authentication code under a key derived from the
 * master key, so only who can read the master key can make one, and nothing is stored for it.
 * @returns the address, and when it ends in milliseconds since the epoch
 */
export function mintLink(secrets: Secrets, place: ConsolePlace, now: number) {
  const expiresAt = now + linkLifeMs;
  const content = `${expiresAt.toString(36)}.${randomBytes(12).toString("base64url")}`;
  const token = `${content}.${macOf(secrets, place, content)}`;
  return { url: `http://127.0.0.1:${place.port}/open?token=${token}`, expiresAt };
}

/**
 * Judges a token. Whether it was used before is not known here.
 * @returns `expired` only for a token that was good once
 */
export function checkToken(token: string, { secrets, place, now }: CheckOptions): LinkVerdict {
  const match = /^([0-9a-z]{1,12})\.([\w-]{16})\.([\w-]{43})$/.exec(token);
  if (match === null) return "unknown";
  const [, expiry = "", nonce = "", mac = ""] = match;
  const expected = macOf(secrets, place, `${expiry}.${nonce}`);
  // As text: the same bytes have four spellings in base64url, and a link that was used would be good in the others.
  if (!equalBytes(Buffer.from(expected), Buffer.from(mac))) return "unknown";
  return now < Number.parseInt(expiry, 36) ? "good" : "expired";
}

/** `place` is the console's own, whatever the database says of it. */
type CheckOptions = { readonly secrets: Secrets; readonly place: ConsolePlace; readonly now: number };

function macOf(secrets: Secrets, { id, port }: ConsolePlace, content: string): string {
  return Buffer.from(secrets.mac("console-link", `${id}.${port}.${content}`)).toString("base64url");
}

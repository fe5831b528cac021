import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import type { Node } from "../domain/nodes.ts";
import { equalBytes, type Secrets } from "../domain/secrets.ts";

export const linkLifeMs = 5 * 60_000;

/**
 * Where a running node has its console. Its id, another one at each start, is part of every link, which ends with it;
 * so is the port, so that a row that names another one leads nobody with a token to whoever listens there.
 */
export type ConsolePlace = { readonly port: number; readonly nodeId: string };

export type LinkVerdict = "good" | "expired" | "unknown";

/**
 * Finds the console that can be opened from here: each is reached from its node's own machine alone.
 * @param nodes of which those that live count
 * @param options `host` is this machine's name, null where every node runs on it; `port` chooses among several consoles
 * @throws TvsError REFUSED when there is none here, USAGE when there are several and none was chosen
 */
export function findConsole(nodes: readonly Node[], options: Whereabouts): ConsolePlace {
  const live = nodes.filter(({ state }) => state === "live");
  const here = live.filter((node) => options.host === null || node.host === options.host);
  const places = here.flatMap(({ nodeId, consolePort: port }) => (port === null ? [] : [{ nodeId, port }]));
  const [place, ...others] = places.filter(({ port }) => (options.port ?? port) === port);
  const ports = places.map(({ port }) => port);
  if (place === undefined) throw noConsole(live, here, ports);
  if (others.length === 0) return place;
  const message = `several nodes on this machine have a console; say which: --port ${ports.join(" or ")}`;
  throw new TvsError("USAGE", message);
}

type Whereabouts = { readonly host: string | null; readonly port?: number | undefined };

function noConsole(live: readonly Node[], here: readonly Node[], ports: readonly number[]): TvsError {
  const refused = (message: string) => new TvsError("REFUSED", message);
  if (live.length === 0)
    return refused("no service is running on this data; start `tvs serve --admin-port 9464`");
  if (ports.length > 0) return refused(`no console has this port; --port may be ${ports.join(" or ")}`);
  if (here.length > 0)
    return refused("the running service has no console; restart it with `tvs serve --admin-port 9464`");
  const hosts = [...new Set(live.map(({ host }) => host))].join(", ");
  return refused(`no node runs on this machine, and a console opens on its node's own: ${hosts}`);
}

/**
 * Makes a link that opens the console once. Its token is a message authentication code under a key derived from the
 * master key, so only who can read the master key and the database can make one, and nothing is stored for it.
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

function macOf(secrets: Secrets, { nodeId, port }: ConsolePlace, content: string): string {
  return Buffer.from(secrets.mac("console-link", `${nodeId}.${port}.${content}`)).toString("base64url");
}

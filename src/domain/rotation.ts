/** When the pending key takes over, and what has to be so before it does. */

import { setTimeout as sleep } from "node:timers/promises";
import { isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import { generateKey, type KeyRing, type KeyStore, keyRing, type SigningKey } from "./keys.ts";
import { type Node, type NodeStore, nodeTimes } from "./nodes.ts";
import type { Secrets } from "./secrets.ts";

/** How long a pending key must have been public before it may sign: partners cache the JWKS. */
export const publishAheadMs = 24 * 3_600_000;

/** How long a rotation waits for nodes, and how often it looks. One that was killed is gone by then. */
const patience = { forMs: nodeTimes.goneMs + 500, everyMs: 200 };

type RotationStores = { readonly keys: KeyStore; readonly nodes: Pick<NodeStore, "list"> };

type RotationOptions = {
  /** Without waiting for the pending key to have been public for a day. */
  readonly immediately: boolean;
  readonly now: number;
  /** Told once, when nodes are waited for, which they are. */
  readonly onWait?: (nodes: readonly Node[]) => void;
  /** In milliseconds; what is usual unless given. */
  readonly wait?: { readonly forMs: number; readonly everyMs: number };
};

type Rotatable = Pick<KeyRing, "active" | "pending"> & { readonly early: boolean };

/**
 * Waits until the pending key may take over: partners can know it, and every node that lives has loaded it, so that
 * none is without a key to sign with (decisions D5.2, D12.6). Asked before an operator is, who need not confirm in vain.
 * @returns the two keys, and whether partners may not have seen the pending one yet, which only `immediately` allows
 * @throws TvsError REFUSED while partners may not have seen the pending key yet, and when nodes have still not loaded it
 */
export async function untilRotatable(
  { keys, nodes }: RotationStores,
  { onWait, wait = patience, ...options }: RotationOptions,
): Promise<Rotatable> {
  const begunMs = performance.now();
  for (let looks = 0; ; looks++) {
    const { active, pending } = keyRing(await keys.list());
    const early = requirePublic(pending, options);
    const behind = nodesWithout(pending.kid, await nodes.list());
    if (behind.length === 0) return { active, pending, early };
    if (performance.now() - begunMs >= wait.forMs) throw notLoaded(pending, behind);
    if (looks === 0) onWait?.(behind);
    await sleep(wait.everyMs);
  }
}

export function nodesWithout(pendingKid: string, nodes: readonly Node[]): Node[] {
  return nodes.filter((node) => node.state === "live" && node.pendingKid !== pendingKid);
}

/** @throws TvsError REFUSED */
function requirePublic(pending: SigningKey, { immediately, now }: RotationOptions): boolean {
  const early = now - pending.publishedAt < publishAheadMs;
  if (early && !immediately) {
    const from = isoTime(pending.publishedAt + publishAheadMs);
    const message =
      `the pending key has been public for less than 24 h, and partners may still hold an older key set; ` +
      `rotate after ${from}, or with --now`;
    throw new TvsError("REFUSED", message);
  }
  return early;
}

function notLoaded({ kid }: SigningKey, behind: readonly Node[]): TvsError {
  const urls = behind.map(({ url }) => url).join(", ");
  const message =
    `the pending key ${kid} is not loaded by ${urls}: nothing was changed; a node loads a key within a second, ` +
    "so look at its log, restart or stop it, and rotate again";
  return new TvsError("REFUSED", message);
}

/**
 * Promotes the pending key (decision D5.2).
 * @throws TvsError as {@link untilRotatable} does, REFUSED also when another rotation was faster
 */
export async function rotateKeys(
  stores: RotationStores,
  secrets: Secrets,
  options: RotationOptions & { bits: number },
): Promise<{ activeKid: string; previousKid: string; pendingKid: string; early: boolean }> {
  const { active, pending, early } = await untilRotatable(stores, options);
  const next = await generateKey(secrets, options.bits, options.now);
  await stores.keys.rotate({ active: active.kid, pending: pending.kid, next, at: options.now });
  return { activeKid: pending.kid, previousKid: active.kid, pendingKid: next.kid, early };
}

/**
 * How long a signing key serves before the console and the metrics say that a rotation is due. Nothing breaks when it
 * serves longer; a habit that is practised four times a year is one that works when a key must go at once.
 */
const rotateAfterMs = 90 * 24 * 3_600_000;

/** When the next rotation is due and from when it is possible without `--now`. Milliseconds since the epoch. */
export function rotationOf({ active, pending }: KeyRing, now: number) {
  const dueAt = (active.activatedAt ?? active.createdAt) + rotateAfterMs;
  const possibleAt = pending.publishedAt + publishAheadMs;
  return { dueAt, possibleAt, isDue: now >= dueAt, isPossible: now >= possibleAt };
}

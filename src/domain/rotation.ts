/** When the pending key takes over, and what has to be so before it does. */

import type { KeyStore } from "../store/keys.ts";
import { isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import { generateKey, type KeyRing, keyRing, type SigningKey } from "./keys.ts";
import type { Secrets } from "./secrets.ts";

/** How long a pending key must have been public before it may sign: partners cache the JWKS. */
export const publishAheadMs = 24 * 3_600_000;

type RotationOptions = {
  /** Without waiting for the pending key to have been public for a day. */
  readonly immediately: boolean;
  readonly now: number;
};

/**
 * Reads the two keys of a rotation, before an operator is asked to confirm it (decision D5.2).
 * @returns also `early`: partners may not have seen the pending key yet, which only `immediately` allows
 * @throws TvsError REFUSED while they may not have seen it
 */
export async function requireRotatable(keys: KeyStore, options: RotationOptions) {
  const { active, pending } = keyRing(await keys.list());
  return { active, pending, early: requirePublic(pending, options) };
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

/** Promotes the pending key (decision D5.2). @throws TvsError as {@link requireRotatable}, and if another was faster */
export async function rotateKeys(
  keys: KeyStore,
  secrets: Secrets,
  options: RotationOptions & { bits: number },
): Promise<{ activeKid: string; previousKid: string; pendingKid: string; early: boolean }> {
  const { active, pending, early } = await requireRotatable(keys, options);
  const next = await generateKey(secrets, options.bits, options.now);
  await keys.rotate({ active: active.kid, pending: pending.kid, next, at: options.now });
  return { activeKid: pending.kid, previousKid: active.kid, pendingKid: next.kid, early };
}

/** How long a signing key serves before a rotation is due. Nothing breaks later; practised habits work in need. */
const rotateAfterMs = 90 * 24 * 3_600_000;

/** When the next rotation is due and from when it is possible without `--now`. Milliseconds since the epoch. */
export function rotationOf({ active, pending }: KeyRing, now: number) {
  const dueAt = (active.activatedAt ?? active.createdAt) + rotateAfterMs;
  const possibleAt = pending.publishedAt + publishAheadMs;
  return { dueAt, possibleAt, isDue: now >= dueAt, isPossible: now >= possibleAt };
}

/** Rotation of the signing keys (decision D5.2). */

import type { KeyStore } from "../store/keys.ts";
import { isoTime } from "./clock.ts";
import { TvsError } from "./errors.ts";
import { generateSigningKey, type KeyRing, keyRingOf } from "./keys.ts";
import type { Secrets } from "./secrets.ts";

/** A pending key is public for at least this long before it signs, because partners cache the JWKS. */
export const minKeyPublicationMs = 24 * 3_600_000;

type RotationOptions = {
  /** Allows a pending key that has been public for less than {@link minKeyPublicationMs}. */
  readonly immediately: boolean;
  readonly now: number;
};

/**
 * Reads the active and the pending key, and checks that they may rotate, before an operator is asked to confirm.
 * @returns `early` is true if partners may not have seen the pending key yet
 * @throws TvsError REFUSED for an early rotation without `immediately`
 */
export async function readRotatableKeys(keys: KeyStore, { immediately, now }: RotationOptions) {
  const { active, pending } = keyRingOf(await keys.list());
  const early = now - pending.publishedAt < minKeyPublicationMs;
  if (early && !immediately) {
    const from = isoTime(pending.publishedAt + minKeyPublicationMs);
    const message =
      `the pending key has been public for less than 24 h, and partners may still hold an older key set; ` +
      `rotate after ${from}, or with --now`;
    throw new TvsError("REFUSED", message);
  }
  return { active, pending, early };
}

/** Makes the pending key active. @throws TvsError REFUSED as {@link readRotatableKeys}, and for a concurrent rotation */
export async function rotateSigningKeys(
  keys: KeyStore,
  secrets: Secrets,
  options: RotationOptions & { bits: number },
): Promise<{ activeKid: string; previousKid: string; pendingKid: string; early: boolean }> {
  const { active, pending, early } = await readRotatableKeys(keys, options);
  const next = await generateSigningKey(secrets, options.bits, options.now);
  await keys.rotate({ active: active.kid, pending: pending.kid, next, at: options.now });
  return { activeKid: pending.kid, previousKid: active.kid, pendingKid: next.kid, early };
}

/** A rotation is due when the signing key has been active for this long. A later rotation breaks nothing. */
const rotateAfterMs = 90 * 24 * 3_600_000;

/** Computes when a rotation is due, and when it is possible without `--now`; in milliseconds since the epoch. */
export function rotationTimes({ active, pending }: KeyRing, now: number) {
  const dueAt = (active.activatedAt ?? active.createdAt) + rotateAfterMs;
  const possibleAt = pending.publishedAt + minKeyPublicationMs;
  return { dueAt, possibleAt, isDue: now >= dueAt, isPossible: now >= possibleAt };
}

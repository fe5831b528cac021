/** When a signing key was in use, and what that means for a signature of a given second. */

import { type Refusal, refuse } from "./reasons.ts";
import { type Passed, passed, skipped } from "./verification.ts";

export const keyStates = ["pending", "active", "retired", "compromised"] as const;
export type KeyState = (typeof keyStates)[number];

/** When a key was in use; times in milliseconds since the Unix epoch. */
export type KeyWindow = {
  readonly state: KeyState;
  readonly activatedAtMs: number | null;
  readonly retiredAtMs: number | null;
  readonly compromisedSinceMs: number | null;
};

/** Whether a key was compromised, at the whole second of a signature. */
export function isCompromisedAt(window: KeyWindow, seconds: number): boolean {
  return window.compromisedSinceMs !== null && seconds >= Math.floor(window.compromisedSinceMs / 1000);
}

const unknown = skipped("No key history tells when this key was in use.");
const neverCompromised = passed("The key history flags no compromise of this key.");
const beforeCompromise = passed("The key was compromised later; signed before that time, this still counts.");
const inUse = passed("The key was in use at the time of signing.");

/**
 * Refuses what a compromised key signed at or after its time.
 *
 * @param window the key's window, null when no key history is known
 * @param seconds the time of signing
 */
export function checkCompromise(window: KeyWindow | null, seconds: number): Passed | Refusal {
  if (window === null) return unknown;
  if (isCompromisedAt(window, seconds)) return refuse("KEY_COMPROMISED");
  return window.compromisedSinceMs === null ? neverCompromised : beforeCompromise;
}

/**
 * Refuses what a key signed before it was activated or after it was retired, in whole seconds because
 * that is what a signature carries. A key that was never activated never signs.
 *
 * @param window the key's window, null when no key history is known
 * @param seconds the time of signing
 */
export function checkWindow(window: KeyWindow | null, seconds: number): Passed | Refusal {
  if (window === null) return unknown;
  const { activatedAtMs, retiredAtMs } = window;
  if (activatedAtMs === null || seconds < Math.floor(activatedAtMs / 1000))
    return refuse("KEY_OUTSIDE_WINDOW");
  const isRetired = retiredAtMs !== null && seconds > Math.floor(retiredAtMs / 1000);
  return isRetired ? refuse("KEY_OUTSIDE_WINDOW") : inUse;
}

import { type KeyRing, publishAheadMs } from "./keys.ts";

/**
 * How long a signing key serves before the console and the metrics say that a rotation is due. Nothing breaks when it
 * serves longer; a habit that is practised four times a year is one that works when a key must go at once.
 */
export const rotateAfterMs = 90 * 24 * 3_600_000;

/** When the next rotation is due and from when it is possible without `--now`. Milliseconds since the epoch. */
export type Rotation = {
  readonly dueAt: number;
  readonly possibleAt: number;
  readonly isDue: boolean;
  readonly isPossible: boolean;
};

export function rotationOf({ active, pending }: KeyRing, now: number): Rotation {
  const dueAt = (active.activatedAt ?? active.createdAt) + rotateAfterMs;
  const possibleAt = pending.publishedAt + publishAheadMs;
  return { dueAt, possibleAt, isDue: now >= dueAt, isPossible: now >= possibleAt };
}

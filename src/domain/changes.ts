/** The record of changes (decision D1.10). A teacher's record also has a history of its own. */

import { type Clock, isoTime, systemClock } from "./clock.ts";

/** The actor of a store's writes. */
export type WriteContext = {
  /** `cli:NAME` for an operator, or `service`. */
  readonly actor: string;
  readonly clock: Clock;
};

/** The actor of the service's own changes. */
export const serviceActor: WriteContext = { actor: "service", clock: systemClock };

export type ChangedKind = "partner" | "key" | "setting" | "import" | "log" | "teacher" | "delivery";

export type Change = {
  /** Such as `key issued`. */
  readonly action: string;
  readonly kind: ChangedKind;
  readonly id: string;
  /** The new state. It is kept permanently, so it has no secret and nothing about a teacher. */
  readonly detail?: string | null;
};

export type RecordedChange = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  /** Kind and id, with a colon between. */
  readonly subject: string;
  readonly detail: string | null;
};

/** The actor of a filter's text, in which `cli:` may be left out. */
export function actorNamed(text: string): string {
  return text === serviceActor.actor || text.startsWith("cli:") ? text : `cli:${text}`;
}

export function describeChange({ at, ...change }: RecordedChange) {
  return { at: isoTime(at), ...change };
}

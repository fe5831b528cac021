/** The record of changes that operators and the service make (decision D1.10). Each teacher also has a history. */

import { type Clock, isoTime, systemClock } from "./clock.ts";

/** The actor of a store's writes, and the clock that gives their times. */
export type ActorAndClock = {
  /** `cli:NAME` for an operator, or `service`. */
  readonly actor: string;
  readonly clock: Clock;
};

/** The actor and clock of changes that the service makes without an operator. */
export const serviceActor: ActorAndClock = { actor: "service", clock: systemClock };

export type ChangedSubjectKind = "partner" | "key" | "setting" | "import" | "log" | "teacher" | "delivery";

export type ChangeDetails = {
  /** The action in words, such as `key issued`. */
  readonly action: string;
  readonly kind: ChangedSubjectKind;
  readonly id: string;
  /** The subject's new state, without secrets and teachers' data, because records of changes are never deleted. */
  readonly detail?: string | null;
};

export type RecordedChange = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  /** `KIND:ID`, such as `partner:acme`. */
  readonly subject: string;
  readonly detail: string | null;
};

/** Adds `cli:` to an actor's name that an operator typed without this prefix. */
export function addActorPrefix(text: string): string {
  return text === serviceActor.actor || text.startsWith("cli:") ? text : `cli:${text}`;
}

export function describeChange({ at, ...change }: RecordedChange) {
  return { at: isoTime(at), ...change };
}

/** The record of changes by operators and service (decision D1.10). A teacher also has a history. */

import { type Clock, isoTime, systemClock } from "./clock.ts";

/** The actor and the clock that a store records with its writes. */
export type ActorAndClock = {
  /** `cli:NAME` for an operator, or `service`. */
  readonly actor: string;
  readonly clock: Clock;
};

/** The actor of changes that the service makes without an operator. */
export const serviceActor: ActorAndClock = { actor: "service", clock: systemClock };

export type ChangedSubjectKind = "partner" | "key" | "setting" | "import" | "log" | "teacher" | "delivery";

export type ChangeDetails = {
  /** Such as `key issued`. */
  readonly action: string;
  readonly kind: ChangedSubjectKind;
  readonly id: string;
  /** The subject's new state. Records of changes are never deleted, so it has no secret and nothing about a teacher. */
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

/** Completes an actor that an operator typed without `cli:`. */
export function addActorPrefix(text: string): string {
  return text === serviceActor.actor || text.startsWith("cli:") ? text : `cli:${text}`;
}

export function describeChange({ at, ...change }: RecordedChange) {
  return { at: isoTime(at), ...change };
}

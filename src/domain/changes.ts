/** Who changed what (decision D1.10). What happened to a teacher's record stands in that teacher's history besides. */

import { type Clock, isoTime, systemClock } from "./clock.ts";

/** In whose name a store writes. */
export type Acting = {
  /** `cli:NAME` for an operator, or `service`. */
  readonly actor: string;
  readonly clock: Clock;
};

/** What a service does by itself. */
export const service: Acting = { actor: "service", clock: systemClock };

type ChangedKind = "partner" | "key" | "setting" | "import" | "log" | "teacher" | "delivery";

export type Change = {
  /** What was done, in a word or two: `key issued`. */
  readonly action: string;
  readonly kind: ChangedKind;
  /** Null for the row that was inserted just before, whose number nobody knows yet. */
  readonly id: string | null;
  /** What is so now, as far as it may be kept for ever: no secret, and nothing about a teacher. */
  readonly detail?: string | null;
};

export type RecordedChange = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  /** The kind of what was changed, a colon and its id. */
  readonly subject: string;
  readonly detail: string | null;
};

type ChangeFilter = {
  readonly subject?: string | undefined;
  readonly actor?: string | undefined;
  readonly since?: number | undefined;
  readonly limit: number;
};

export type ChangeStore = {
  list(filter: ChangeFilter): Promise<RecordedChange[]>;
  /** Who changed each one of a kind last, by its id. */
  lastActors(kind: ChangedKind): Promise<ReadonlyMap<string, string>>;
};

/** The actor that a filter means: an operator's name needs no `cli:` before it. */
export function actorNamed(text: string): string {
  return text === service.actor || text.startsWith("cli:") ? text : `cli:${text}`;
}

/** A change as the commands show it; its time in ISO 8601. */
export function describeChange({ at, ...change }: RecordedChange) {
  return { at: isoTime(at), ...change };
}

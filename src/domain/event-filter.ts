/** A partner's event filter selects the events that the webhook sends or the partner fetches (decision D17.1). */

import { type EventType, eventTypes } from "../partner/contract.ts";
import type { PartnerEventStore } from "../store/partner-events.ts";
import type { Clock } from "./clock.ts";
import { runAndPause } from "./serial.ts";

/** The choices of teachers: all, those whom the partner has verified, or those on the partner's watch list. */
export const teacherFilters = ["all", "verified", "watched"] as const;

/** The types of events and the teachers about which a partner is notified. `src/store/events.ts` applies the filter. */
export type EventFilter = {
  readonly events: readonly EventType[];
  readonly teachers: (typeof teacherFilters)[number];
};

export const defaultEventFilter: EventFilter = { events: eventTypes, teachers: "all" };

export const partnerEventRetentionMs = 30 * 86_400_000;
/** The most rows deleted in one commit, which then takes a few milliseconds and hardly delays other writes. */
const prunedRows = 500;

/** Deletes partners' events that are older than 30 days, in short commits with pauses between them. */
export async function prunePartnerEvents(eventFilter: PartnerEventStore, clock: Clock): Promise<void> {
  const before = clock.now() - partnerEventRetentionMs;
  for (const partnerId of await eventFilter.prunable(before)) {
    const step = () => eventFilter.prune(partnerId, { before, limit: prunedRows });
    while ((await runAndPause(step)) === prunedRows);
  }
}

/** Describes a filter for its partner; a list of all event types becomes the word `all`. */
export function describeEventFilter({ events, teachers }: EventFilter) {
  return { events: events.length === eventTypes.length ? ("all" as const) : events, teachers };
}

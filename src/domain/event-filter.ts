/** What a partner is told of: one filter, for what its webhook is sent and for what it fetches. */

import { type EventType, eventTypes } from "../partner/contract.ts";
import type { PartnerEventStore } from "../store/partner-events.ts";
import type { Clock } from "./clock.ts";
import { runAndPause } from "./serial.ts";

/** Of which teachers: of all, or only of those whom the partner has verified, or of those whom it watches. */
export const teacherChoices = ["all", "verified", "watched"] as const;
type TeacherChoice = (typeof teacherChoices)[number];

export type EventFilter = { readonly events: readonly EventType[]; readonly teachers: TeacherChoice };

/** What a new partner is told of. */
export const allEvents: EventFilter = { events: eventTypes, teachers: "all" };

/**
 * Whether a partner is told of an event, with a webhook or without one; the deliveries to a disabled endpoint are held
 * until it is enabled. A test event names nobody, and its one delivery is made beside it. The database asks the same of
 * many events at once (store/events.ts).
 * @param teacherId whom the event is about; null in a test
 * @param to `hasVerified` whether the partner has ever verified this teacher, `isWatching` whether it watches the number
 */
export function isPublishedTo(
  { eventType, teacherId }: { readonly eventType: EventType; readonly teacherId: number | null },
  to: {
    readonly partner: { readonly disabledAt: number | null; readonly eventFilter: EventFilter };
    readonly hasVerified: boolean;
    readonly isWatching: boolean;
  },
): boolean {
  const { eventFilter, disabledAt } = to.partner;
  if (teacherId === null || disabledAt !== null || !eventFilter.events.includes(eventType)) return false;
  const isChosen = { all: true, verified: to.hasVerified, watched: to.isWatching };
  return isChosen[eventFilter.teachers];
}

export const keepPartnerEventsMs = 30 * 86_400_000;
/** Rows in one commit: short enough that a call which waits for the disk does not notice. */
const prunedRows = 500;

/** Forgets what partners were told longer ago than it is kept, in short commits with rests between them. */
export async function prunePartnerEvents(eventFilter: PartnerEventStore, clock: Clock): Promise<void> {
  const before = clock.now() - keepPartnerEventsMs;
  for (const partnerId of await eventFilter.prunable(before)) {
    const step = () => eventFilter.prune(partnerId, { before, limit: prunedRows });
    while ((await runAndPause(step, clock)) === prunedRows);
  }
}

/** The filter in the words of those whom it is for: a list of all types of events is `all`, also when there are more. */
export function describeEventFilter({ events, teachers }: EventFilter) {
  return { events: events.length === eventTypes.length ? ("all" as const) : events, teachers };
}

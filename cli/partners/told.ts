/** What a partner is told of, as options and as text. */

import { type Told, teacherChoices } from "../../src/domain/told.ts";
import { eventTypes } from "../../src/partner/contract.ts";
import type { ArgsOf } from "../command.ts";
import { choice, someOf } from "../terminal/lists.ts";

export const toldArgs = {
  events: someOf(
    eventTypes,
    `Which events it is told of: all (default), or some of ${eventTypes.join(", ")}`,
  ),
  teachers: choice(
    teacherChoices,
    "Events about which teachers: all (default), or only those whom it has verified, or those whom it watches",
  ),
} as const;

export function toldOf({ events, teachers }: ArgsOf<typeof toldArgs>): Partial<Told> {
  return { ...(events && { events }), ...(teachers && { teachers }) };
}

export function toldText({ events, teachers }: Told) {
  return { events: events.length === eventTypes.length ? "all" : events.join(", "), teachers };
}

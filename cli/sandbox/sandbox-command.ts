/** `tvs sandbox`: its teachers, its day, and its beginning anew (decisions D9.3 and D9.4). */

import words from "../../data/commands.json" with { type: "json" };
import { createCalendar } from "../../src/domain/clock.ts";
import { type MovedClock, moveClock, parseClock } from "../../src/domain/sandbox/clock.ts";
import { putBackEndpoint } from "../../src/domain/sandbox/endpoint.ts";
import { demoPartner, readRelay, readSandboxState, writeRelay } from "../../src/domain/sandbox/state.ts";
import { sandboxTeachers, stateTeachers } from "../../src/domain/sandbox/teachers.ts";
import { toldOfAll } from "../../src/domain/told.ts";
import { removeWebhook } from "../../src/domain/webhooks.ts";
import { command, group, operand } from "../command.ts";
import type { Operator } from "../open.ts";
import { hint, print, printList, record } from "../terminal/output.ts";
import { isListening } from "./listen-relay.ts";
import { withSandbox } from "./sandbox-register.ts";
import { putTeachersBack } from "./sandbox-sample.ts";

const clockCommand = command({
  ...words["sandbox clock"],
  args: {
    to: {
      ...operand(),
      required: false,
      valueHint: "+Nd|DATE|real",
    },
  },
  async run({ args }) {
    await withSandbox(args, async (operator) => {
      const { to } = args;
      if (to === undefined) return showClock(operator, args);
      const { calendar, clock } = operator;
      const real = createCalendar(calendar.timeZone).dateAt(clock.now());
      const aheadDays = parseClock(to, { real, present: calendar.dateAt(clock.now()) });
      const moved = await moveClock({ ...operator, timeZone: operator.calendar.timeZone }, aheadDays);
      print(args, moved, () => clockText(moved));
      if (moved.events > 0) hint(args, "tvs webhooks list --sandbox shows which partners were told");
      if (aheadDays !== 0) hint(args, "tvs sandbox clock real brings the true day back");
    });
  },
});

async function showClock({ settings, calendar, clock }: Operator, args: { json?: boolean | undefined }) {
  const { aheadDays } = readSandboxState(await settings.read()).day;
  const value = { date: calendar.dateAt(clock.now()), aheadDays };
  print(args, value, () => record(dayOf(value)));
}

function dayOf({ date, aheadDays }: Pick<MovedClock, "date" | "aheadDays">): Record<string, string> {
  const ahead = `${Math.abs(aheadDays)} days ${aheadDays > 0 ? "ahead of" : "behind"} the true day`;
  return { "the sandbox's day": date, moved: aheadDays === 0 ? "no" : ahead };
}

function clockText(moved: MovedClock): string {
  const { expired, started, takenBack, events } = moved;
  return record({
    ...dayOf(moved),
    "licences that ended": expired,
    "licences that began": started,
    "licences put back": takenBack,
    "events announced": events,
  });
}

const resetCommand = command({
  ...words["sandbox reset"],
  async run({ args }) {
    await withSandbox(args, async (operator) => {
      const { timeZone } = operator.calendar;
      await moveClock({ ...operator, timeZone }, 0, { announce: false });
      // Opened by the day that was; what is put back is judged by the true one.
      const teachers = await putTeachersBack({ ...operator, calendar: createCalendar(timeZone) });
      const endpoint = await resetEndpoint(operator);
      await resetTold(operator);
      const value = { date: createCalendar(timeZone).dateAt(operator.clock.now()), teachers, endpoint };
      print(args, value, () =>
        record({
          date: value.date,
          "teachers put back": teachers,
          [`endpoint of ${demoPartner}`]: endpoint,
        }),
      );
    });
  },
});

/** @returns what became of the demo partner's endpoint, which it has none of at first */
async function resetEndpoint(operator: Operator): Promise<"none" | "removed" | "listening"> {
  const { settings, webhooks } = operator;
  const relay = readRelay(await settings.read());
  if (relay !== null && (await isListening(relay.url))) {
    await writeRelay(settings, { ...relay, before: null });
    return "listening";
  }
  await putBackEndpoint(operator, demoPartner);
  if ((await webhooks.endpoint(demoPartner)) === null) return "none";
  await removeWebhook(operator, demoPartner);
  return "removed";
}

async function resetTold({ partners, watches }: Operator): Promise<void> {
  // The first service that is started over a sandbox makes the demo partner.
  if ((await partners.partners()).every(({ partnerId }) => partnerId !== demoPartner)) return;
  const { watchLimit } = await partners.update({ partnerId: demoPartner, told: toldOfAll });
  const watched = await watches.page(demoPartner, { after: "", limit: watchLimit });
  await watches.change(demoPartner, { add: [], remove: watched });
}

const teachersCommand = command({
  ...words["sandbox teachers"],
  async run({ args }) {
    const [first] = stateTeachers;
    const shown = sandboxTeachers.map(({ regNo, tId, nin, shows }) => ({ regNo, tId, nin, shows }));
    printList(args, shown, {
      "REGISTRATION NUMBER": "regNo",
      "TEACHER ID": "tId",
      NIN: "nin",
      SHOWS: "shows",
    });
    // Phones are typed as people type them; the country code is the service's business.
    const phone = first?.phone?.replace(/^\+234(\d{3})(\d{3})/, "0$1 $2 ");
    hint(args, `the first can also be looked up by ${first?.email} and by ${phone}, the others likewise`);
  },
});

export const sandboxCommand = group("List the sandbox's teachers, move its day, or begin anew", {
  teachers: async () => teachersCommand,
  clock: async () => clockCommand,
  reset: async () => resetCommand,
});

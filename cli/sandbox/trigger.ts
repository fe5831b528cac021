import { defaultTeacher, demoPartner, sandboxTeachers } from "../../src/domain/sandbox/teachers.ts";
import { type TriggeredEvent, triggerEvent } from "../../src/domain/sandbox/trigger.ts";
import { parseTeacherReference } from "../../src/domain/teachers/changes.ts";
import { eventTypes } from "../../src/partner/contract.ts";
import { operand } from "../command.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { printNoteIfNoService } from "../partners/delivery-advice.ts";
import { formatMembers, hint, parseChoice, printNote, printResult } from "../terminal/output.ts";
import { withSandbox } from "./sandbox.ts";

/** How many of the newest deliveries are searched for the event's deliveries. In a sandbox an event has fewer. */
const maxDeliveries = 100;

export const triggerCommand = defineTvsCommand("trigger", {
  args: {
    event: {
      ...operand(eventTypes.join(", "), (text, flag) => parseChoice(text, flag, eventTypes)),
      values: { oneOf: [...eventTypes] },
    },
    ref: {
      ...operand(
        `Registration number or teacher id (default ${defaultTeacher.regNo}, who is there to be changed)`,
        parseTeacherReference,
      ),
      required: false,
      default: defaultTeacher.regNo,
      values: { oneOf: sandboxTeachers.map(({ regNo }) => regNo) },
    },
  },
  async run({ args }) {
    await withSandbox(args, async (operator) => {
      const done = await triggerEvent(operator, { eventType: args.event, key: args.ref });
      const { eventType, eventId } = done.event;
      const deliveries = (await operator.webhooks.deliveries({ limit: maxDeliveries }))
        .filter((delivery) => delivery.eventId === eventId)
        .map(({ deliveryId, partnerId, state }) => ({ deliveryId, partnerId, state }));
      const notified = await operator.partnerEvents.partnersOf(eventId);
      const { regNo, tId, name } = done.teacher;
      const before = done.before.map((event) => ({ eventType: event.eventType, eventId: event.eventId }));
      printResult(args, { eventType, eventId, regNo, tId, before, told: notified, deliveries }, () =>
        formatMembers({
          event: `${eventType} (${eventId})`,
          teacher: `${regNo}, ${name}`,
          ...changeOf(done),
          "caused before": before.map((event) => event.eventType).join(", ") || "nothing",
          told: notified.join(", ") || "nobody",
          "deliveries to": deliveries.map(({ partnerId }) => partnerId).join(", ") || "nobody",
        }),
      );
      if (deliveries.length > 0) await printNoteIfNoService(operator);
      else
        printNote(
          `no delivery is made: tvs partners webhook set ${demoPartner} URL --sandbox sets an endpoint`,
        );
      for (const { deliveryId } of deliveries)
        hint(args, `tvs webhooks show ${deliveryId} --sandbox shows what became of it`);
    });
  },
});

function changeOf({ from, to }: TriggeredEvent): Record<string, string> {
  const moved = (before: string, after: string) => (before === after ? after : `${before} -> ${after}`);
  return {
    licence: moved(from.license, to.license),
    certificate: moved(from.certificate, to.certificate),
    active: moved(from.active ? "yes" : "no", to.active ? "yes" : "no"),
  };
}

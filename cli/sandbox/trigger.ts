/** `tvs trigger`: a partner's engineer causes an event in the sandbox (decision D9.2). */

import words from "../../data/commands.json" with { type: "json" };
import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { createExchange } from "../../src/delivery/exchange.ts";
import { type ForgeryAnswer, forge, forgeries, sendForgeries } from "../../src/delivery/forgeries.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { createEvent } from "../../src/domain/events.ts";
import { demoPartner, readRelay, writeForgeryTrial } from "../../src/domain/sandbox/state.ts";
import { sandboxTeachers, triggered } from "../../src/domain/sandbox/teachers.ts";
import { type Triggered, triggerEvent } from "../../src/domain/sandbox/trigger.ts";
import { requireTeacher, teacherKeyOf } from "../../src/domain/teachers/changes.ts";
import type { TeacherKey } from "../../src/domain/teachers/teachers.ts";
import { signingSecrets } from "../../src/domain/webhooks.ts";
import { type EventType, eventTypes } from "../../src/partner/contract.ts";
import { command, operand, version } from "../command.ts";
import type { Operator } from "../open.ts";
import { noteWithoutService } from "../partners/delivery-advice.ts";
import { exitCodes, hint, listing, note, parseChoice, print, record } from "../terminal/output.ts";
import { withSandbox } from "./sandbox-register.ts";

const forged = "forged";
const choices = [...eventTypes, forged] as const;
/** More deliveries than one event has in any sandbox that somebody has made by hand. */
const maxDeliveries = 100;

export const triggerCommand = command({
  ...words.trigger,
  args: {
    event: {
      ...operand(`${eventTypes.join(", ")} or ${forged}`, (text, flag) => parseChoice(text, flag, choices)),
      values: { oneOf: [...choices] },
    },
    ref: {
      ...operand(
        `Registration number or teacher id (default ${triggered.regNo}, who is there to be changed)`,
        teacherKeyOf,
      ),
      required: false,
      default: triggered.regNo,
      values: { oneOf: sandboxTeachers.map(({ regNo }) => regNo) },
    },
  },
  async run({ args }) {
    const { event: eventType, ref: key } = args;
    await withSandbox(args, (operator) =>
      eventType === forged ? sendForged(operator, args, key) : cause(operator, args, { eventType, key }),
    );
  },
});

type Printing = { readonly json?: boolean | undefined };

async function cause(operator: Operator, args: Printing, wanted: { eventType: EventType; key: TeacherKey }) {
  const done = await triggerEvent(operator, wanted);
  const deliveries = (await operator.webhooks.deliveries({ limit: maxDeliveries }))
    .filter(({ eventId }) => eventId === done.event.eventId)
    .map(({ deliveryId, partnerId, state }) => ({ deliveryId, partnerId, state }));
  const told = await operator.told.partnersOf(done.event.eventId);
  const { regNo, tId, name } = done.teacher;
  const value = {
    eventType: done.event.eventType,
    eventId: done.event.eventId,
    regNo,
    tId,
    before: done.before.map(({ eventType, eventId }) => ({ eventType, eventId })),
    told,
    deliveries,
  };
  print(args, value, () =>
    record({
      event: `${value.eventType} (${value.eventId})`,
      teacher: `${regNo}, ${name}`,
      ...changeOf(done),
      "caused before": value.before.map(({ eventType }) => eventType).join(", ") || "nothing",
      told: told.join(", ") || "nobody",
      "deliveries to": deliveries.map(({ partnerId }) => partnerId).join(", ") || "nobody",
    }),
  );
  if (deliveries.length === 0)
    note("no delivery is made: tvs listen --forward URL makes your receiver an endpoint");
  else await noteWithoutService(operator);
  for (const { deliveryId } of deliveries)
    hint(args, `tvs webhooks show ${deliveryId} --sandbox shows what became of it`);
}

function changeOf({ from, to }: Triggered): Record<string, string> {
  const moved = (before: string, after: string) => (before === after ? after : `${before} -> ${after}`);
  return {
    licence: moved(from.license, to.license),
    certificate: moved(from.certificate, to.certificate),
    active: moved(from.active ? "yes" : "no", to.active ? "yes" : "no"),
  };
}

/**
 * Sends forged deliveries to the demo partner's endpoint itself, at once and only once: they are nobody's, and no
 * delivery is kept of them. Exit 1 when one was not refused, 2 when the receiver gave no answer.
 */
async function sendForged(operator: Operator, args: Printing, key: TeacherKey): Promise<void> {
  const { settings, clock } = operator;
  const endpoint = await operator.webhooks.endpoint(demoPartner);
  if (endpoint === null)
    throw new TvsError(
      "NOT_KNOWN",
      `${demoPartner} has no endpoint yet; run tvs listen --forward URL beside this`,
    );
  const relay = readRelay(await settings.read());
  if (relay?.url === endpoint.url && !relay.forwards)
    throw new TvsError(
      "REFUSED",
      "tvs listen runs without --forward: there is no receiver that could refuse",
    );
  const { regNo, tId } = await requireTeacher(operator.teachers, key);
  const event = createEvent("license.revoked", {
    regNo,
    tId,
    occurredAt: clock.now(),
    statuses: { license: "REVOKED", certificate: "VERIFIED", active: true },
    previousStatus: "VALID",
  });
  const secrets = signingSecrets(operator.secrets, endpoint, clock.now());
  const deliveries = forge(event, { version, secrets, nowSeconds: Math.floor(clock.now() / 1000) });
  const allowPrivate = operator.settingsInForce.allowPrivateWebhooks || relay?.url === endpoint.url;
  const answered = await exchangeAll(endpoint.url, allowPrivate, deliveries);
  const answers = relay?.url === endpoint.url ? answered.map(withoutRelay) : answered;
  const refusedAll = answers.every(({ refused }) => refused);
  const isAnswered = answers.every(({ status }) => status !== null);
  if (isAnswered) await writeForgeryTrial(settings, { at: clock.now(), refusedAll });
  print(args, { refusedAll, answers }, () => forgedText(answers));
  if (refusedAll) return;
  process.exitCode = isAnswered ? exitCodes.refused : exitCodes.undecided;
}

/** What the relay answers where the receiver does not is no answer of a receiver. */
function withoutRelay(answer: ForgeryAnswer): ForgeryAnswer {
  return answer.status === 502 ? { ...answer, status: null, error: "CONNECT_FAILED" } : answer;
}

async function exchangeAll(url: string, allowPrivate: boolean, deliveries: ReturnType<typeof forge>) {
  const exchange = createExchange();
  try {
    const { url: resolved, addresses } = await resolveEndpoint(url, { allowPrivate });
    const to = { url: resolved, address: addresses[0] ?? "", allowPrivate };
    return await sendForgeries(deliveries, { exchange, to });
  } finally {
    exchange.close();
  }
}

function forgedText(answers: readonly ForgeryAnswer[]): string {
  const rows = listing(answers, {
    FORGED: "forgery",
    HOW: ({ forgery }) => forgeries[forgery],
    ANSWER: ({ status, error }) => status ?? error,
    VERDICT: ({ status, refused }) =>
      refused ? "refused, as it must be" : status === null ? "no answer" : "NOT REFUSED",
  });
  const last = answers.every(({ refused }) => refused)
    ? "Your receiver refuses what is forged."
    : answers.every(({ status }) => status === null)
      ? "Your receiver did not answer; is it running?"
      : "Your receiver must answer each of these with 4xx, and must not act on it.";
  return `${rows}\n\n${last}`;
}

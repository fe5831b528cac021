import {
  type DeliveryDetail,
  deliveryStates,
  describeAttempt,
  describeDelivery,
  releaseHeldWebhooks,
  requireDelivery,
  retryDelivery,
} from "../../src/domain/deliveries.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import { byName, makeGroup, operand, toggle } from "../command.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { actorArg } from "../register/operator-name.ts";
import { choiceOption, limitOption, sinceOption } from "../terminal/lists.ts";
import {
  formatListTable,
  formatMembers,
  hint,
  printList,
  printNote,
  printResult,
  type TableColumns,
  wrapAtTerminal,
} from "../terminal/output.ts";
import { partnerOption } from "./credentials.ts";
import {
  adviseNextStep,
  explainDeliveryAttempt,
  explainHeldDelivery,
  printHeldDeliveries,
  printNoteIfNoService,
} from "./delivery-advice.ts";

const listCommand = defineRegisterCommand("webhooks list", {
  args: {
    state: choiceOption(deliveryStates),
    partner: partnerOption,
    since: sinceOption("Only those made"),
    limit: limitOption(50),
  },
  async act({ webhooks, partners }, args) {
    const { state, partner: partnerId, since, limit } = args;
    if (partnerId !== undefined) await requirePartner(partners, partnerId);
    const shown = (await webhooks.deliveries({ state, partnerId, since, limit })).map(describeDelivery);
    printList(args, shown, deliveryColumns, "no deliveries");
    if (args.json !== true && shown.some((one) => one.state === "dead")) {
      printNote(
        "tvs webhooks show DELIVERY shows why it is dead; tvs webhooks retry DELIVERY sends it again",
      );
    }
  },
});

const deliveryColumns: TableColumns<ReturnType<typeof describeDelivery>> = {
  DELIVERY: "deliveryId",
  STATE: "state",
  PARTNER: "partnerId",
  EVENT: "eventType",
  ATTEMPTS: "attempts",
  LAST: ({ lastError, lastStatus }) => [lastError, lastStatus].filter((part) => part !== null).join(" "),
  CREATED: "createdAt",
  NEXT: ({ heldBy, dueAt }) => (heldBy === null ? dueAt : `held by ${heldBy}`),
};

async function deliveryIds({ webhooks }: OpenedRegister, limit: number) {
  const found = await webhooks.deliveries({ state: undefined, partnerId: undefined, limit });
  return found.map((one) => [one.deliveryId, `${one.state}, ${one.partnerId}, ${one.eventType}`] as const);
}

const deliveryArg = {
  ...operand("The delivery's id; `tvs webhooks list` shows them"),
  values: { ids: deliveryIds },
} as const;

const showCommand = defineRegisterCommand("webhooks show", {
  args: { delivery: deliveryArg },
  async act(operator, args) {
    const delivery = await requireDelivery(operator.webhooks, args.delivery.toLowerCase());
    const shown = await describeWhole(operator, delivery);
    printResult(args, shown, () => wholeText(shown));
  },
});

async function describeWhole({ webhooks, driver, clock }: OpenedRegister, delivery: DeliveryDetail) {
  const endpoint = await webhooks.endpoint(delivery.partnerId);
  const situation = { endpoint, serviceRunning: await driver.serviceRunning(), now: clock.now() };
  return {
    ...describeDelivery(delivery),
    url: endpoint?.url ?? null,
    nextStep: adviseNextStep(delivery, situation),
    attemptList: delivery.attemptList.map((one) => ({
      ...describeAttempt(one),
      explanation: explainDeliveryAttempt(one),
    })),
    // The body is the text that was sent. If its JSON were parsed and written again, the signature could be wrong.
    body: delivery.body,
  };
}

function wholeText(shown: Awaited<ReturnType<typeof describeWhole>>): string {
  const { attemptList, body, nextStep: next, ...members } = shown;
  const columns: TableColumns<(typeof attemptList)[number]> = {
    ATTEMPT: "number",
    AT: "at",
    OUTCOME: ({ error }) => error ?? "acknowledged",
    STATUS: "status",
    TOOK: ({ durationMs }) => `${durationMs} ms`,
    MEANS: "explanation",
  };
  const attempts = attemptList.length === 0 ? "no attempt yet" : formatListTable(attemptList, columns);
  return `${formatMembers(members)}\n\n${attempts}\n\nbody\n${body}\n\nnext\n${wrapAtTerminal(next)}`;
}

const retryCommand = defineRegisterCommand("webhooks retry", {
  args: {
    delivery: { ...deliveryArg, required: false },
    dead: toggle(),
    partner: { ...partnerOption, description: "With --dead: only this partner's" },
    since: sinceOption("With --dead: only those that became dead"),
    ...actorArg,
  },
  check({ delivery, dead: isAll = false, partner, since }) {
    const message = "name one delivery, or give --dead; `tvs webhooks list --state dead` shows them";
    if (isAll === (delivery !== undefined)) throw new TvsError("USAGE", message);
    if (!isAll && (partner !== undefined || since !== undefined))
      throw new TvsError("USAGE", "--partner and --since go with --dead");
  },
  async act(operator, args) {
    const { delivery: deliveryId, partner: partnerId, since } = args;
    const retried =
      deliveryId === undefined
        ? await retryDead(operator, { partnerId, since })
        : await retryOne(operator, deliveryId.toLowerCase());
    const words = retried === 1 ? "delivery is" : "deliveries are";
    printResult(args, { retried }, () => `${retried} ${words} due now`);
    if (retried > 0) await printNoteIfNoService(operator);
    if (deliveryId !== undefined) hint(args, `tvs webhooks show ${deliveryId} shows the result`);
  },
});

async function retryOne({ webhooks, clock }: OpenedRegister, deliveryId: string): Promise<number> {
  const delivery = await retryDelivery({ webhooks, clock }, deliveryId);
  const endpoint = await webhooks.endpoint(delivery.partnerId);
  const held = explainHeldDelivery(delivery, { endpoint });
  if (held !== null) printNote(held);
  return 1;
}

async function retryDead(
  operator: OpenedRegister,
  filter: { partnerId: string | undefined; since: number | undefined },
): Promise<number> {
  const { webhooks, partners, clock } = operator;
  if (filter.partnerId !== undefined) await requirePartner(partners, filter.partnerId);
  const retried = await webhooks.retryDead(clock.now(), filter);
  await printHeldDeliveries(operator, filter.partnerId);
  const endpoints = new Set((await webhooks.endpoints()).map((one) => one.partnerId));
  for (const { partnerId, dead } of await webhooks.backlog(clock.now())) {
    const isAsked = partnerId === (filter.partnerId ?? partnerId);
    if (dead === 0 || endpoints.has(partnerId) || !isAsked) continue;
    const why = `because it has no endpoint: tvs partners webhook set ${partnerId} URL`;
    printNote(`${dead} dead deliveries of ${partnerId} stay dead, ${why}`);
  }
  return retried;
}

const releaseCommand = defineRegisterCommand("webhooks release", {
  args: actorArg,
  async act(operator, args) {
    const released = await releaseHeldWebhooks(operator.settings);
    printResult(args, { released }, () => (released ? "webhooks are sent again" : "webhooks were not held"));
    if (released) await printNoteIfNoService(operator);
  },
});

export const webhooksCommand = makeGroup(
  "Follow, retry and release webhook deliveries to partners",
  byName(listCommand, showCommand, retryCommand, releaseCommand),
);

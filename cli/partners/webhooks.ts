import {
  type DeliveryDetail,
  deliveryStates,
  describeAttempt,
  describeDelivery,
  releaseWebhooks,
  requireDelivery,
  retryDelivery,
} from "../../src/domain/deliveries.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import { command, configOf, flag, group, operand, option } from "../command.ts";
import { type Operator, withOperator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { byArg } from "../register/operator-name.ts";
import { limitArg, parseLimit, parseSince, sinceArg } from "../terminal/lists.ts";
import { hint, note, parseChoice, print, readable, record, table } from "../terminal/output.ts";
import { partnerArg } from "./credentials.ts";
import { explainAttempt, nextStep, noteHeld, noteWithoutService, whyHeld } from "./delivery-advice.ts";

const defaultLimit = 50;

const listCommand = command({
  description: "List deliveries, newest first: pending, delivered, or dead after the last attempt",
  example:
    "tvs webhooks list --state dead --partner exam-body-a\n" +
    "  tvs webhooks list --since 2026-01-31T12:00:00Z --limit 200",
  args: {
    state: option(deliveryStates.join("|"), "Only deliveries in this state"),
    partner: partnerArg,
    since: sinceArg("Only those made"),
    limit: limitArg(defaultLimit),
  },
  async run({ args }) {
    const state = args.state === undefined ? undefined : parseChoice("--state", args.state, deliveryStates);
    const limit = parseLimit(args.limit, defaultLimit);
    const since = parseSince("--since", args.since);
    await withOperator(configOf(args), async ({ stores: { webhooks, partners } }) => {
      if (args.partner !== undefined) await requirePartner(partners, args.partner);
      const found = await webhooks.deliveries({ state, partnerId: args.partner, since, limit });
      const shown = found.map(describeDelivery);
      print(args, shown, () => (shown.length === 0 ? "no deliveries" : listTable(shown)));
      if (args.json !== true && shown.some((one) => one.state === "dead")) {
        note("tvs webhooks show DELIVERY shows why it is dead; tvs webhooks retry DELIVERY sends it again");
      }
    });
  },
});

function listTable(shown: readonly ReturnType<typeof describeDelivery>[]): string {
  const head = ["DELIVERY", "STATE", "PARTNER", "EVENT", "ATTEMPTS", "LAST", "CREATED", "NEXT"];
  const rows = shown.map((one) => [
    one.deliveryId,
    one.state,
    one.partnerId,
    one.eventType,
    one.attempts,
    lastOutcome(one),
    one.createdAt,
    one.heldBy === null ? one.dueAt : `held by ${one.heldBy}`,
  ]);
  return table(head, rows);
}

/** The outcome of the last attempt: `BAD_STATUS 503`, `TIMEOUT`, `200`. */
function lastOutcome({ lastError, lastStatus }: { lastError: string | null; lastStatus: number | null }) {
  return [lastError, lastStatus].filter((part) => part !== null).join(" ");
}

async function deliveryIds({ stores: { webhooks } }: Operator, limit: number) {
  const found = await webhooks.deliveries({ state: undefined, partnerId: undefined, limit });
  return found.map((one) => [one.deliveryId, `${one.state}, ${one.partnerId}, ${one.eventType}`] as const);
}

const deliveryArg = {
  ...operand("The delivery's id; `tvs webhooks list` shows them"),
  values: { ids: deliveryIds },
} as const;

const showCommand = operatorCommand({
  description: "Show one delivery: every attempt and its outcome explained, the body, and what to do next",
  example: "tvs webhooks show 019aa3b4-7f11-7c22-b5d1-0c9f5b1a2c3d",
  args: { delivery: deliveryArg },
  async act(operator, args) {
    const delivery = await requireDelivery(operator.stores.webhooks, args.delivery.toLowerCase());
    const shown = await describeWhole(operator, delivery);
    print(args, shown, () => wholeText(shown));
  },
});

async function describeWhole({ stores: { webhooks }, driver, clock }: Operator, delivery: DeliveryDetail) {
  const endpoint = await webhooks.endpoint(delivery.partnerId);
  const situation = { endpoint, serviceRunning: await driver.serviceRunning(), now: clock.now() };
  return {
    ...describeDelivery(delivery),
    url: endpoint?.url ?? null,
    nextStep: nextStep(delivery, situation),
    attemptList: delivery.attemptList.map((one) => ({
      ...describeAttempt(one),
      explanation: explainAttempt(one),
    })),
    // As it is sent, to the byte: parsed and written again it would no longer fit its signature.
    body: delivery.body,
  };
}

function wholeText(shown: Awaited<ReturnType<typeof describeWhole>>): string {
  const { attemptList, body, nextStep: next, ...members } = shown;
  const rows = attemptList.map((one) => [
    one.number,
    one.at,
    one.error ?? "acknowledged",
    one.status,
    `${one.durationMs} ms`,
    one.explanation,
  ]);
  const attempts =
    rows.length === 0
      ? "no attempt yet"
      : table(["ATTEMPT", "AT", "OUTCOME", "STATUS", "TOOK", "MEANS"], rows);
  return `${record(members)}\n\n${attempts}\n\nbody\n${body}\n\nnext\n${readable(next)}`;
}

const retryCommand = command({
  description:
    "Send a delivery again now, with its full retry schedule; with --dead, every dead delivery. Prints how many",
  example:
    "tvs webhooks retry 019aa3b4-7f11-7c22-b5d1-0c9f5b1a2c3d\n" +
    "  tvs webhooks retry --dead --partner exam-body-a --since 2026-01-31T00:00:00Z",
  args: {
    delivery: { ...deliveryArg, required: false },
    dead: flag("All dead deliveries of partners that have an endpoint, instead of one delivery"),
    partner: { ...partnerArg, description: "With --dead: only this partner's" },
    since: sinceArg("With --dead: only those that became dead"),
    ...byArg,
  },
  async run({ args }) {
    const { delivery: deliveryId, partner: partnerId } = args;
    checkRetry(args);
    const since = parseSince("--since", args.since);
    await withOperator(configOf(args), async (operator) => {
      const retried =
        deliveryId === undefined
          ? await retryDead(operator, { partnerId, since })
          : await retryOne(operator, deliveryId.toLowerCase());
      print(
        args,
        { retried },
        () => `${retried} ${retried === 1 ? "delivery is" : "deliveries are"} due now`,
      );
      if (retried > 0) await noteWithoutService(operator);
      if (deliveryId !== undefined) hint(args, `tvs webhooks show ${deliveryId} shows the result`);
    });
  },
});

/** @throws TvsError USAGE */
function checkRetry(args: {
  delivery?: string | undefined;
  dead?: boolean | undefined;
  partner?: string | undefined;
  since?: string | undefined;
}): void {
  const isAll = args.dead === true;
  if (isAll === (args.delivery !== undefined)) {
    throw new TvsError(
      "USAGE",
      "name one delivery, or give --dead; `tvs webhooks list --state dead` shows them",
    );
  }
  if (!isAll && (args.partner !== undefined || args.since !== undefined)) {
    throw new TvsError("USAGE", "--partner and --since go with --dead");
  }
}

async function retryOne({ stores: { webhooks }, clock }: Operator, deliveryId: string): Promise<number> {
  const delivery = await retryDelivery({ webhooks, clock }, deliveryId);
  const endpoint = await webhooks.endpoint(delivery.partnerId);
  const held = whyHeld(delivery, { endpoint });
  if (held !== null) note(held);
  return 1;
}

async function retryDead(
  operator: Operator,
  filter: { partnerId: string | undefined; since: number | undefined },
): Promise<number> {
  const { webhooks, partners } = operator.stores;
  const { clock } = operator;
  if (filter.partnerId !== undefined) await requirePartner(partners, filter.partnerId);
  const retried = await webhooks.retryDead(clock.now(), filter);
  await noteHeld(operator, filter.partnerId);
  const endpoints = new Set((await webhooks.endpoints()).map((one) => one.partnerId));
  const left = (await webhooks.backlog(clock.now())).filter(
    (one) =>
      one.dead > 0 && !endpoints.has(one.partnerId) && one.partnerId === (filter.partnerId ?? one.partnerId),
  );
  for (const { partnerId, dead } of left) {
    note(
      `${dead} dead deliveries of ${partnerId} stay dead, because it has no endpoint: tvs partners webhook set ${partnerId} URL`,
    );
  }
  return retried;
}

const releaseCommand = operatorCommand({
  description: "Send webhooks again after `tvs restore --hold-webhooks` held those of all partners",
  example: "tvs webhooks release",
  args: byArg,
  async act(operator, args) {
    const released = await releaseWebhooks(operator.stores.settings);
    print(args, { released }, () => (released ? "webhooks are sent again" : "webhooks were not held"));
    if (released) await noteWithoutService(operator);
  },
});

export const webhooksCommand = group("Follow, retry and release webhook deliveries to partners", {
  list: async () => listCommand,
  show: async () => showCommand,
  retry: async () => retryCommand,
  release: async () => releaseCommand,
});

import { isPrivateAddressAllowed, resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import {
  describeEndpoint,
  disableWebhook,
  enableWebhook,
  queueTestEvent,
  removeWebhook,
  requireEndpoint,
  rotateWebhookSecret,
  setWebhook,
} from "../../src/domain/webhooks.ts";
import { byName, makeGroup, operand, option, toggle } from "../command.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { actorArg } from "../register/operator-name.ts";
import { requireConfirmation, yesArg } from "../terminal/confirm.ts";
import { formatMembers, hint, parseDuration, printNote, printResult } from "../terminal/output.ts";
import { eventArgs, formatEventFilter, partnerOperand, readEventFilter } from "./credentials.ts";
import { explainDisabledEndpoint, printHeldDeliveries, printNoteIfNoService } from "./delivery-advice.ts";

const secretNote = "no other command shows the secret; hand it over securely, whsec_ included";

const setCommand = defineRegisterCommand("partners webhook set", {
  args: { ...partnerOperand, url: operand(), ...eventArgs, "allow-private-webhooks": toggle(), ...actorArg },
  async act(operator, args) {
    const { keyKind, settingsInForce } = operator;
    const { allowPrivateWebhooks } = settingsInForce;
    const allowPrivate = isPrivateAddressAllowed(args.url, { keyKind, allowPrivateWebhooks });
    const check = (url: string) => resolveEndpoint(url, { allowPrivate });
    const given = { partnerId: args.id, url: args.url, eventFilter: readEventFilter(args), check };
    const { endpoint, secret } = await setWebhook(operator, given);
    const { partnerId, url } = endpoint;
    const { eventFilter } = await requirePartner(operator.partners, partnerId);
    printResult(args, { partnerId, url, secret }, () =>
      formatMembers({ partnerId, url, secret, ...formatEventFilter(eventFilter) }),
    );
    printNote(secretNote);
    if (allowPrivateWebhooks && operator.remembered.get("allow_private_webhooks") !== "on")
      printNote(
        "the service sends to a private address only when `tvs serve` has --allow-private-webhooks too",
      );
    hint(args, `tvs partners webhook test ${partnerId} sends it a first event`);
  },
});

const rotateCommand = defineRegisterCommand("partners webhook rotate-secret", {
  args: {
    ...partnerOperand,
    overlap: { ...option("DURATION", parseDuration), default: "24h" },
    ...yesArg,
    ...actorArg,
  },
  async act(operator, args) {
    await requireEndpoint(operator, args.id);
    const lost = `The old secret is deleted, and ${args.id} will refuse every delivery until it has the new one. This cannot be undone.`;
    if (args.overlap === 0) await requireConfirmation(args, lost);
    const { endpoint, secret } = await rotateWebhookSecret(operator, args.id, { overlapMs: args.overlap });
    const { partnerId, url, previousUntil } = endpoint;
    const shown = { partnerId, url, secret, previousSecretUntil: isoTime(previousUntil) };
    printResult(args, shown, () => formatMembers(shown));
    printNote(secretNote);
  },
});

const showCommand = defineRegisterCommand("partners webhook show", {
  args: partnerOperand,
  async act(operator, args) {
    const endpoint = await requireEndpoint(operator, args.id);
    const partner = await requirePartner(operator.partners, args.id);
    const backlog = await operator.webhooks.backlog(operator.clock.now());
    const { pending = 0, dead = 0 } = backlog.find((one) => one.partnerId === args.id) ?? {};
    const shown = { ...describeEndpoint(endpoint, partner), pending, dead };
    printResult(args, shown, () => formatMembers({ ...shown, ...formatEventFilter(partner.eventFilter) }));
    if (partner.disabledAt !== null)
      printNote(`the partner itself is disabled: tvs partners enable ${args.id}`);
    if (endpoint.disabledReason !== null)
      printNote(explainDisabledEndpoint(endpoint.disabledReason, args.id));
  },
});

const disableCommand = defineRegisterCommand("partners webhook disable", {
  args: { ...partnerOperand, ...actorArg },
  async act(operator, args) {
    const endpoint = await disableWebhook(operator, args.id);
    const partner = await requirePartner(operator.partners, args.id);
    const text = `the endpoint of ${args.id} is disabled; its deliveries are held`;
    printResult(args, describeEndpoint(endpoint, partner), () => text);
  },
});

const enableCommand = defineRegisterCommand("partners webhook enable", {
  args: { ...partnerOperand, ...actorArg },
  async act(operator, args) {
    const endpoint = await enableWebhook(operator, args.id);
    const partner = await requirePartner(operator.partners, args.id);
    const isHeld = await printHeldDeliveries(operator, args.id);
    const text = `the endpoint of ${args.id} is enabled${isHeld ? "" : "; what was held is due now"}`;
    printResult(args, describeEndpoint(endpoint, partner), () => text);
  },
});

const removeCommand = defineRegisterCommand("partners webhook remove", {
  args: { ...partnerOperand, ...yesArg, ...actorArg },
  async act(operator, args) {
    const question = `The endpoint of ${args.id} and its secret are deleted, and its pending deliveries become dead. This cannot be undone; tvs partners webhook disable ${args.id} keeps them.`;
    // Without an endpoint no confirmation is needed. The removal still runs: a killed removal can have left pending deliveries.
    if ((await operator.stores.webhooks.endpoint(args.id)) !== null)
      await requireConfirmation(args, question);
    const dead = await removeWebhook(operator, args.id);
    const text = `the endpoint of ${args.id} is removed; ${dead} pending deliveries became dead`;
    printResult(args, { partnerId: args.id, removed: true, dead }, () => text);
  },
});

const testCommand = defineRegisterCommand("partners webhook test", {
  args: { ...partnerOperand, ...actorArg },
  async act(operator, args) {
    const { deliveryId, event } = await queueTestEvent(operator, args.id);
    const { eventId, eventType } = event;
    const shown = { partnerId: args.id, deliveryId, eventId, eventType };
    printResult(args, shown, () => formatMembers({ ...shown, next: `tvs webhooks show ${deliveryId}` }));
    await printHeldDeliveries(operator, args.id);
    await printNoteIfNoService(operator);
  },
});

export const partnerWebhookCommand = makeGroup(
  "Manage a partner's webhook endpoint",
  byName(setCommand, rotateCommand, showCommand, disableCommand, enableCommand, removeCommand, testCommand),
);

import { resolveEndpoint } from "../../src/delivery/address-guard.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import {
  describeEndpoint,
  disableWebhook,
  enableWebhook,
  removeWebhook,
  requireEndpoint,
  rotateWebhookSecret,
  setWebhook,
  testWebhook,
} from "../../src/domain/webhooks.ts";
import { flag, group, operand, option } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { byArg } from "../register/operator-name.ts";
import { confirm, yesArg } from "../terminal/confirm.ts";
import { hint, note, parseDuration, print, record } from "../terminal/output.ts";
import { partnerIdArg } from "./credentials.ts";
import { noteHeld, noteWithoutService, whyDisabled } from "./delivery-advice.ts";
import { toldArgs, toldOf, toldText } from "./told.ts";

const secretNote = "no other command shows the secret; hand it over securely, whsec_ included";

const setCommand = operatorCommand({
  description:
    "Set a partner's webhook endpoint, and enable it. A new endpoint gets a signing secret; an existing one keeps " +
    "its secret, and every option that is not given",
  example:
    "tvs partners webhook set exam-body-a https://example.com/teacher-events\n" +
    "  tvs partners webhook set exam-body-a https://example.com/teacher-events --teachers verified \\\n" +
    "    --events license.revoked,license.expired",
  args: {
    ...partnerIdArg,
    url: operand("An https URL; all addresses of its host must be public"),
    ...toldArgs,
    "allow-private-webhooks": flag(
      "Allow http and private addresses (sandbox, tests); `tvs serve` needs this option too",
    ),
    ...byArg,
  },
  async act(operator, args) {
    const { allowPrivateWebhooks: allowPrivate } = operator.settingsInForce;
    const check = (url: string) => resolveEndpoint(url, { allowPrivate });
    const given = { partnerId: args.id, url: args.url, told: toldOf(args), check };
    const { endpoint, secret } = await setWebhook(operator, given);
    const { partnerId, url } = endpoint;
    const { told } = await requirePartner(operator.partners, partnerId);
    print(args, { partnerId, url, secret }, () => record({ partnerId, url, secret, ...toldText(told) }));
    note(secretNote);
    if (allowPrivate) await noteServiceSetting(operator);
    hint(args, `tvs partners webhook test ${partnerId} sends it a first event`);
  },
});

/** Notes where the service would refuse what this command was allowed: it goes by its own setting. */
async function noteServiceSetting({ settings }: Operator): Promise<void> {
  if ((await settings.read()).get("allow_private_webhooks") === "true") return;
  note("the service sends to a private address only when `tvs serve` has --allow-private-webhooks too");
}

const rotateCommand = operatorCommand({
  description:
    "Give an endpoint a new signing secret, shown only once. During the overlap each delivery carries two " +
    "signatures, the new secret's first, so that the partner can switch at any time",
  example:
    "tvs partners webhook rotate-secret exam-body-a --overlap 24h\n" +
    "  tvs partners webhook rotate-secret exam-body-a --overlap 0s   # the old one has leaked",
  args: {
    ...partnerIdArg,
    overlap: {
      ...option(
        "DURATION",
        "How long deliveries are signed with the old secret too (default 24h, at most 7d; 0s stops that at once, after a leak)",
        parseDuration,
      ),
      default: "24h",
    },
    ...yesArg,
    ...byArg,
  },
  async act(operator, args) {
    await requireEndpoint(operator, args.id);
    const lost = `The old secret is deleted, and ${args.id} will refuse every delivery until it has the new one. This cannot be undone.`;
    if (args.overlap === 0) await confirm(args, lost);
    const rotated = { overlapMs: args.overlap };
    const { endpoint, secret } = await rotateWebhookSecret(operator, args.id, rotated);
    const { partnerId, url, previousUntil } = endpoint;
    const shown = { partnerId, url, secret, previousSecretUntil: isoTime(previousUntil) };
    print(args, shown, () => record(shown));
    note(secretNote);
  },
});

const showCommand = operatorCommand({
  description: "Show a partner's endpoint, its state and how much is pending; never its secret",
  example: "tvs partners webhook show exam-body-a",
  args: partnerIdArg,
  async act(operator, args) {
    const endpoint = await requireEndpoint(operator, args.id);
    const partner = await requirePartner(operator.partners, args.id);
    const backlog = await operator.webhooks.backlog(operator.clock.now());
    const { pending = 0, dead = 0 } = backlog.find((one) => one.partnerId === args.id) ?? {};
    const shown = { ...describeEndpoint(endpoint, partner), pending, dead };
    print(args, shown, () => record({ ...shown, ...toldText(partner.told) }));
    if (partner.disabledAt !== null) note(`the partner itself is disabled: tvs partners enable ${args.id}`);
    if (endpoint.disabledReason !== null) note(whyDisabled(endpoint.disabledReason, args.id));
  },
});

const disableCommand = operatorCommand({
  description: "Stop sending to a partner's endpoint until it is enabled again; its deliveries are held",
  example: "tvs partners webhook disable exam-body-a",
  args: { ...partnerIdArg, ...byArg },
  async act(operator, args) {
    const endpoint = await disableWebhook(operator, args.id);
    const partner = await requirePartner(operator.partners, args.id);
    const text = `the endpoint of ${args.id} is disabled; its deliveries are held`;
    print(args, describeEndpoint(endpoint, partner), () => text);
  },
});

const enableCommand = operatorCommand({
  description:
    "Send to a disabled endpoint again; held deliveries are sent now, each with its full retry schedule",
  example: "tvs partners webhook enable exam-body-a",
  args: { ...partnerIdArg, ...byArg },
  async act(operator, args) {
    const endpoint = await enableWebhook(operator, args.id);
    const partner = await requirePartner(operator.partners, args.id);
    const isHeld = await noteHeld(operator, args.id);
    const text = `the endpoint of ${args.id} is enabled${isHeld ? "" : "; what was held is due now"}`;
    print(args, describeEndpoint(endpoint, partner), () => text);
  },
});

const removeCommand = operatorCommand({
  description: "Remove a partner's endpoint and its secret; its pending deliveries become dead",
  example: "tvs partners webhook remove exam-body-a\n  tvs partners webhook remove exam-body-a --yes",
  args: { ...partnerIdArg, ...yesArg, ...byArg },
  async act(operator, args) {
    await requireEndpoint(operator, args.id);
    await confirm(
      args,
      `The endpoint of ${args.id} and its secret are deleted, and its pending deliveries become dead. This cannot be undone; tvs partners webhook disable ${args.id} keeps them.`,
    );
    const dead = await removeWebhook(operator, args.id);
    print(args, { partnerId: args.id, removed: true, dead }, () => {
      return `the endpoint of ${args.id} is removed; ${dead} pending deliveries became dead`;
    });
  },
});

const testCommand = operatorCommand({
  description:
    "Send a test event: a signed license.verified that names nobody (tId and regNo are null), whatever events are " +
    "subscribed to. The running service sends it like every delivery; `tvs webhooks show` shows the result",
  example: "tvs partners webhook test exam-body-a",
  args: { ...partnerIdArg, ...byArg },
  async act(operator, args) {
    const { deliveryId, event } = await testWebhook(operator, args.id);
    const { eventId, eventType } = event;
    const shown = { partnerId: args.id, deliveryId, eventId, eventType };
    print(args, shown, () => record({ ...shown, next: `tvs webhooks show ${deliveryId}` }));
    await noteHeld(operator, args.id);
    await noteWithoutService(operator);
  },
});

export const partnerWebhookCommand = group("Manage a partner's webhook endpoint", {
  set: async () => setCommand,
  "rotate-secret": async () => rotateCommand,
  show: async () => showCommand,
  disable: async () => disableCommand,
  enable: async () => enableCommand,
  remove: async () => removeCommand,
  test: async () => testCommand,
});

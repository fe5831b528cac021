import { describeChange } from "../../src/domain/changes.ts";
import { mintApiKey } from "../../src/domain/credentials.ts";
import { defaultEventFilter } from "../../src/domain/event-filter.ts";
import {
  batchCostUnits,
  checkPartner,
  checkPartnerChange,
  defaultWatchLimit,
  describePartner,
  type Partner,
  type PartnerChange,
  scopes,
} from "../../src/domain/partners.ts";
import { currentWindowStarts, describeQuotaUse } from "../../src/domain/quota-windows.ts";
import { purposes } from "../../src/partner/contract.ts";
import { type ArgValues, byName, makeGroup, operand, option } from "../command.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { changeColumns, partnerHistoryCommand } from "../register/changes.ts";
import { actorArg } from "../register/operator-name.ts";
import { choiceOption, listOption } from "../terminal/lists.ts";
import {
  formatListTable,
  formatMembers,
  hint,
  parseCount,
  printList,
  printNote,
  printResult,
  type TableColumns,
} from "../terminal/output.ts";
import {
  apiKeyColumns,
  certificateColumns,
  describeCredentials,
  eventArgs,
  formatEventFilter,
  partnerCertificatesCommand,
  partnerKeysCommand,
  partnerOperand,
  readEventFilter,
} from "./credentials.ts";
import { printHeldDeliveries } from "./delivery-advice.ts";

const termsArgs = {
  name: option("NAME", "The agency's name"),
  scopes: listOption(scopes, `What it may call: all, or some of ${scopes.join(", ")}`),
  purposes: listOption(purposes, "What it may ask for: all, or names that `tvs policy show` lists"),
  "per-minute": option("N", "Calls allowed per clock minute", parseCount),
  "per-day": option("N", "Calls allowed per UTC day", parseCount),
  "batch-cost": choiceOption(
    batchCostUnits,
    "What a batch counts as: one call (default), or one call per item",
  ),
  ...eventArgs,
  "watch-limit": option("N", `How many teachers it may watch (default ${defaultWatchLimit})`, parseCount),
} as const;

function termsOf(args: ArgValues<typeof termsArgs>): PartnerChange {
  const { name, scopes, purposes, "per-minute": perMinute, "per-day": perDay } = args;
  const { "batch-cost": batchCost, "watch-limit": watchLimit } = args;
  const eventFilter = Object.keys(readEventFilter(args)).length === 0 ? undefined : readEventFilter(args);
  const terms = { name, scopes, purposes, perMinute, perDay, batchCost, watchLimit, eventFilter };
  return Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined));
}

function partnerText(partner: Partner): string {
  const { scopes, purposes, eventFilter, ...rest } = describePartner(partner);
  const lists = {
    scopes: scopes.join(", "),
    purposes: purposes.join(", "),
    ...formatEventFilter(eventFilter),
  };
  return formatMembers({ ...rest, ...lists });
}

const addArgs = {
  id: operand(),
  ...termsArgs,
  name: { ...termsArgs.name, required: true },
  scopes: { ...termsArgs.scopes, required: true },
  purposes: { ...termsArgs.purposes, required: true },
  "per-minute": { ...termsArgs["per-minute"], required: true },
  "per-day": { ...termsArgs["per-day"], required: true },
} as const;

function newPartner(args: ArgValues<typeof addArgs>, createdAt: number): Partner {
  const usual = { batchCost: "call", watchLimit: defaultWatchLimit } as const;
  const terms = { ...usual, ...(termsOf(args) as Required<PartnerChange>) };
  const eventFilter = { ...defaultEventFilter, ...terms.eventFilter };
  return checkPartner({ ...terms, partnerId: args.id, eventFilter, createdAt, disabledAt: null });
}

const addCommand = defineRegisterCommand("partners add", {
  args: { ...addArgs, ...actorArg },
  check: (args) => void newPartner(args, 0),
  async act(operator, args) {
    const { partners, secrets, keyKind, clock } = operator;
    const added = newPartner(args, clock.now());
    const key = mintApiKey(added.partnerId, { kind: keyKind, secrets, now: added.createdAt });
    await partners.add(added, key.record);
    const { partnerId, ...rest } = describePartner(added);
    const shown = { partnerId, keyId: key.record.keyId, apiKey: key.text, ...rest };
    const keyText = `keyId       ${key.record.keyId}\napiKey      ${key.text}`;
    printResult(args, shown, () => `${partnerText(added)}\n${keyText}`);
    printNote("the API key is shown only once; hand it over securely");
    hint(args, `${firstPage(operator)}; tvs partners webhook set ${partnerId} URL sends it status changes`);
  },
});

/** Names the URL of the getting-started page, or only its path if no issuer is set, because the host is then unknown. */
function firstPage({ settingsInForce: { issuer }, hasSetIssuer }: OpenedRegister): string {
  const path = "/v1/inter-agency/getting-started";
  if (hasSetIssuer) return `the partner's first page is ${issuer}${path}`;
  return `the partner's first page is ${path} of this service, whose issuer is not known yet: tvs serve --issuer URL sets it`;
}

const listCommand = defineRegisterCommand("partners list", {
  async act({ partners }, args) {
    const all = (await partners.partners()).map(describePartner);
    printList(args, all, partnerColumns, "no partners yet");
    if (all.length === 0) hint(args, "tvs partners add --help shows how to onboard one");
  },
});

const partnerColumns: TableColumns<ReturnType<typeof describePartner>> = {
  PARTNER: "partnerId",
  NAME: "name",
  STATE: ({ disabledAt }) => (disabledAt === null ? "enabled" : "disabled"),
  "PER MINUTE": "perMinute",
  "PER DAY": "perDay",
  SCOPES: (one) => (one.scopes.length === scopes.length ? "all" : one.scopes.join(",")),
  PURPOSES: (one) => (one.purposes.length === purposes.length ? "all" : one.purposes.length),
};

const shownChanges = 5;

const showCommand = defineRegisterCommand("partners show", {
  args: partnerOperand,
  async act(operator, args) {
    const { quotaStore, clock } = operator;
    const { partner, keys, certificates } = await describeCredentials(operator, args.id);
    const now = clock.now();
    const quota = describeQuotaUse(partner, await quotaStore.windows(currentWindowStarts(now)), now);
    const latest = await operator.changes.list({ subject: `partner:${args.id}`, limit: shownChanges });
    const used = (["minute", "day"] as const).map((kind) => ({ kind, ...quota[kind] }));
    const changes = latest.map(describeChange);
    printResult(args, { ...describePartner(partner), keys, certificates, quota, changes }, () =>
      [
        partnerText(partner),
        formatListTable(keys, apiKeyColumns),
        ...(certificates.length === 0 ? [] : [formatListTable(certificates, certificateColumns)]),
        formatListTable(used, { WINDOW: "kind", USED: "used", LIMIT: "limit", ENDS: "resetAt" }),
        ...(changes.length === 0 ? [] : [formatListTable(changes, changeColumns)]),
      ].join("\n\n"),
    );
  },
});

const setCommand = defineRegisterCommand("partners set", {
  args: { ...partnerOperand, ...termsArgs, ...actorArg },
  check: (args) => checkPartnerChange(termsOf(args)),
  async act({ partners }, args) {
    const partner = await partners.update({ partnerId: args.id, ...termsOf(args) });
    printResult(args, describePartner(partner), () => partnerText(partner));
  },
});

const disableCommand = defineRegisterCommand("partners disable", {
  args: { ...partnerOperand, ...actorArg },
  async act({ partners, clock }, args) {
    const partner = await partners.disable(args.id, clock.now());
    printResult(args, describePartner(partner), () => `${partner.partnerId} is disabled`);
    hint(args, `its calls get 401 now; tvs partners enable ${partner.partnerId} undoes that`);
  },
});

const enableCommand = defineRegisterCommand("partners enable", {
  args: { ...partnerOperand, ...actorArg },
  async act(operator, args) {
    const partner = await operator.partners.disable(args.id, null);
    printResult(args, describePartner(partner), () => `${partner.partnerId} is enabled`);
    await printHeldDeliveries(operator, args.id);
  },
});

export const partnersCommand = makeGroup("Manage partner agencies, their credentials and webhook endpoints", {
  ...byName(
    addCommand,
    listCommand,
    showCommand,
    partnerHistoryCommand,
    setCommand,
    disableCommand,
    enableCommand,
  ),
  key: async () => partnerKeysCommand,
  cert: async () => partnerCertificatesCommand,
  webhook: () => import("./webhook.ts").then((file) => file.partnerWebhookCommand),
});

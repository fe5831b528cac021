/** Commands for a partner's API keys and client certificates, and options that partner commands share. */

import type { CredentialUsage } from "../../src/domain/attestations.ts";
import { parseFingerprint, readCertificateFile } from "../../src/domain/certificates.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { describeApiKey, issueApiKey, revokeApiKey } from "../../src/domain/credentials.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { type EventFilter, teacherFilters } from "../../src/domain/event-filter.ts";
import { describeCertificate, requirePartner } from "../../src/domain/partners.ts";
import { eventTypes } from "../../src/partner/contract.ts";
import { type ArgValues, byName, makeGroup, operand, option } from "../command.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { actorArg } from "../register/operator-name.ts";
import { readSmallFile } from "../safe/input-file.ts";
import { requireConfirmation, yesArg } from "../terminal/confirm.ts";
import { choiceOption, listOption } from "../terminal/lists.ts";
import {
  formatListTable,
  formatMembers,
  hint,
  parseDuration,
  printList,
  printNote,
  printResult,
  type TableColumns,
  wrapAtTerminal,
} from "../terminal/output.ts";

async function partnerIds({ partners }: OpenedRegister) {
  return (await partners.partners()).map((one) => [one.partnerId, one.name] as const);
}

export const partnerOperand = {
  id: { ...operand("The partner's id; `tvs partners list` shows them"), values: { ids: partnerIds } },
} as const;

export const eventArgs = {
  events: listOption(
    eventTypes,
    `Which events it is notified of: all (default), or some of ${eventTypes.join(", ")}`,
  ),
  teachers: choiceOption(
    teacherFilters,
    "Events about which teachers: all (default), or only those that it has verified, or those that it watches",
  ),
} as const;

export function readEventFilter({ events, teachers }: ArgValues<typeof eventArgs>): Partial<EventFilter> {
  return { ...(events && { events }), ...(teachers && { teachers }) };
}

export function formatEventFilter({ events, teachers }: EventFilter) {
  return { events: events.length === eventTypes.length ? "all" : events.join(", "), teachers };
}

export const partnerOption = { ...option("ID", "Only this partner's"), values: { ids: partnerIds } } as const;

async function apiKeyIds({ partners, clock }: OpenedRegister) {
  return (await partners.apiKeys()).map((key) => {
    const { keyId, state } = describeApiKey(key, clock.now());
    return [keyId, `${key.partnerId}, ${state}`] as const;
  });
}

export const apiKeyColumns: TableColumns<ReturnType<typeof describeApiKey>> = {
  KEY: "keyId",
  STATE: "state",
  CREATED: "createdAt",
  ENDS: "expiresAt",
  REVOKED: "revokedAt",
};

const issueKeyCommand = defineRegisterCommand("partners key issue", {
  args: {
    ...partnerOperand,
    overlap: { ...option("DURATION", parseDuration), default: "24h" },
    ...actorArg,
  },
  async act({ partners, secrets, keyKind, clock }, args) {
    await requirePartner(partners, args.id);
    const options = { kind: keyKind, secrets, now: clock.now(), overlapMs: args.overlap };
    const { text, record: key, previous } = await issueApiKey(partners, args.id, options);
    const ends = previous === null ? null : { keyId: previous.keyId, expiresAt: isoTime(previous.expiresAt) };
    const shown = { partnerId: args.id, keyId: key.keyId, apiKey: text };
    const until = ends === null ? {} : { previous: `${ends.keyId}, works until ${ends.expiresAt}` };
    printResult(args, { ...shown, previous: ends }, () => formatMembers({ ...shown, ...until }));
    printNote("the API key is shown only once; hand it over securely");
    if (ends !== null) hint(args, `tvs partners key revoke ${ends.keyId} ends the old one sooner`);
  },
});

/** The maximum number of attestations that are counted for a revoked key. Counting so many takes some seconds. */
const maxLooked = 500_000;

function usesText({ count, isAll, firstAt }: CredentialUsage, keyId: string): string {
  const listed = `tvs attestations list --key ${keyId} --limit 100000`;
  if (count === 0 && isAll) return "no answer that is kept was given to it";
  if (firstAt === null) return `whether answers were given to it: ${listed}`;
  const answers = `${isAll ? "" : "at least "}${count} ${count === 1 ? "answer" : "answers"}`;
  return wrapAtTerminal(`it was given ${answers} since ${isoTime(firstAt)}: ${listed}`);
}

const revokeKeyCommand = defineRegisterCommand("partners key revoke", {
  args: { ...yesArg, keyid: { ...operand(), values: { ids: apiKeyIds } }, ...actorArg },
  async act({ partners, attestations, clock }, args) {
    const now = clock.now();
    const question = `Every call with the API key ${args.keyid} will be refused immediately. This cannot be undone.`;
    await requireConfirmation(args, question);
    const { record: key, isLast } = await revokeApiKey(partners, args.keyid, now);
    const { keyId: credential, partnerId, createdAt: since, revokedAt } = key;
    const given = { partnerId, credential, since, until: revokedAt ?? now };
    const uses = await attestations.usesOf(given, maxLooked);
    const { count, isAll, firstAt } = uses;
    const shown = { ...describeApiKey(key, now), answers: { count, isAll, firstAt: isoTime(firstAt) } };
    printResult(args, shown, () => `${credential} of ${partnerId} is revoked\n${usesText(uses, credential)}`);
    if (isLast)
      printNote(
        `partner "${partnerId}" has no valid API key now; tvs partners key issue ${partnerId} issues one`,
      );
  },
});

/** Reads a partner with the descriptions of its API keys and certificates. @throws TvsError NOT_KNOWN */
export async function describeCredentials({ partners, clock }: OpenedRegister, partnerId: string) {
  const partner = await requirePartner(partners, partnerId);
  const isOwn = (one: { partnerId: string }) => one.partnerId === partnerId;
  const keys = (await partners.apiKeys()).filter(isOwn).map((key) => describeApiKey(key, clock.now()));
  const certificates = (await partners.certificates()).filter(isOwn).map(describeCertificate);
  return { partner, keys, certificates };
}

const listKeysCommand = defineRegisterCommand("partners key list", {
  args: partnerOperand,
  async act(operator, args) {
    const { keys } = await describeCredentials(operator, args.id);
    printList(args, keys, apiKeyColumns);
  },
});

export const partnerKeysCommand = makeGroup(
  "Manage a partner's API keys",
  byName(issueKeyCommand, revokeKeyCommand, listKeysCommand),
);

export const certificateColumns: TableColumns<ReturnType<typeof describeCertificate>> = {
  "FINGERPRINT (SHA-256)": "fingerprint",
  SUBJECT: "subject",
  "VALID FROM": "validFrom",
  "VALID TO": "validTo",
};

const addCertificateCommand = defineRegisterCommand("partners cert add", {
  args: { ...partnerOperand, file: operand((file) => readSmallFile(file)), ...actorArg },
  async act({ partners, clock }, args) {
    await requirePartner(partners, args.id);
    const certificate = readCertificateFile(args.file, args.id, { now: clock.now() });
    await partners.addCertificate(certificate);
    const shown = describeCertificate(certificate);
    printResult(args, shown, () => formatListTable([shown], certificateColumns));
    if (certificate.validFrom > clock.now()) printNote(`the certificate is valid from ${shown.validFrom} on`);
  },
});

const removeCertificateCommand = defineRegisterCommand("partners cert remove", {
  args: { ...partnerOperand, fingerprint: operand(parseFingerprint), ...actorArg },
  async act({ partners }, { id: partnerId, fingerprint, json }) {
    await requirePartner(partners, partnerId);
    if (!(await partners.removeCertificate(partnerId, fingerprint))) {
      const message = `partner "${partnerId}" has no certificate with this fingerprint; \`tvs partners cert list ${partnerId}\` shows them`;
      throw new TvsError("NOT_KNOWN", message);
    }
    printResult({ json }, { partnerId, fingerprint, removed: true }, () => `removed ${fingerprint}`);
  },
});

const listCertificatesCommand = defineRegisterCommand("partners cert list", {
  args: partnerOperand,
  async act(operator, args) {
    const { certificates } = await describeCredentials(operator, args.id);
    printList(args, certificates, certificateColumns, "no client certificates");
  },
});

export const partnerCertificatesCommand = makeGroup(
  "Manage a partner's client certificates",
  byName(addCertificateCommand, removeCertificateCommand, listCertificatesCommand),
);

import type { Config } from "../../src/config.ts";
import { decodeAttestation } from "../../src/domain/attestation-check.ts";
import { type Attestation, describeAttestation } from "../../src/domain/attestations.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { type PartnerStore, requirePartner } from "../../src/domain/partners.ts";
import { describeKeptLog, type KeptLog, mayBePruned } from "../../src/domain/retention.ts";
import { requireTeacher, teacherKeyOf } from "../../src/domain/teachers/changes.ts";
import { group, operand, option } from "../command.ts";
import { operatorCommand } from "../operator-command.ts";
import { whyNotAttested } from "../partners/calls.ts";
import { partnerArg } from "../partners/credentials.ts";
import { limitArg, sinceArg } from "../terminal/lists.ts";
import { type Columns, hint, listing, note, print, printList, record } from "../terminal/output.ts";
import { printableJson } from "../terminal/printable.ts";
import { keptLogOf } from "./open-evidence.ts";

const listCommand = operatorCommand({
  description: "List attestations, newest first",
  example:
    "tvs attestations list\n" +
    "  tvs attestations list --partner exam-body-a --since 2026-01-31T00:00:00Z --limit 20\n" +
    "  tvs attestations list --teacher TR/2019/LA/000123\n" +
    "  tvs attestations list --key 3fYk0aTz81Qd --limit 100000",
  args: {
    partner: partnerArg,
    teacher: option(
      "REF",
      "Only those about this teacher: registration number (A/B/C/D) or teacher id (digits)",
      teacherKeyOf,
    ),
    key: option(
      "KEYID",
      "Only what was asked with this API key, or with the client certificate of this fingerprint",
    ),
    since: sinceArg("Only"),
    limit: limitArg(50),
  },
  async act(operator, args) {
    const { attestations, partners, teachers } = operator;
    const { limit, since, partner, key, teacher: ref } = args;
    if (partner !== undefined) await requirePartner(partners, partner);
    const credential = key === undefined ? {} : await credentialOf(partners, key, partner);
    const teacher = ref === undefined ? undefined : await requireTeacher(teachers, ref);
    const found = await attestations.list({
      limit,
      ...(teacher === undefined ? {} : { teacherId: teacher.id }),
      ...(partner === undefined ? {} : { partnerId: partner }),
      ...credential,
      ...(since === undefined ? {} : { since }),
    });
    printList(args, found.map(describeAttestation), attestationColumns, "no attestations");
    const kept = await keptLogOf(operator);
    if (found.length < limit && kept.from !== null && (since ?? 0) < kept.from)
      note(`older ones may be missing: ${describeKeptLog(kept)}`);
  },
});

/**
 * What is sought among: whose credential it is, and while it could be used.
 * @param partnerId of a certificate that was removed, of which nothing is kept but what it was answered
 * @throws TvsError NOT_KNOWN, REFUSED for another partner's
 */
async function credentialOf(partners: PartnerStore, text: string, partnerId: string | undefined) {
  const key = (await partners.apiKeys()).find(({ keyId }) => keyId === text);
  const credential = key === undefined ? text.replaceAll(":", "").toLowerCase() : text;
  const owner =
    key?.partnerId ??
    (await partners.certificates()).find(({ fingerprint }) => fingerprint === credential)?.partnerId ??
    (/^[0-9a-f]{64}$/.test(credential) ? partnerId : undefined);
  if (owner === undefined) {
    const message =
      "no API key has this id, and no client certificate this fingerprint; `tvs partners key list ID` shows the " +
      "keys, and --partner finds what a certificate asked that was removed";
    throw new TvsError("NOT_KNOWN", message);
  }
  if (partnerId !== undefined && partnerId !== owner)
    throw new TvsError("REFUSED", `this is a credential of ${owner}, not of ${partnerId}`);
  const until = key?.revokedAt ?? key?.expiresAt ?? null;
  return {
    partnerId: owner,
    credential,
    ...(key === undefined ? {} : { since: key.createdAt }),
    ...(until === null ? {} : { until }),
  };
}

const attestationColumns: Columns<ReturnType<typeof describeAttestation>> = {
  VERIFICATION: "verificationId",
  AT: "verifiedAt",
  PARTNER: "partnerId",
  KEY: "credential",
  ASKED: "reference",
  PURPOSE: "purpose",
  STATUS: "status",
  ELIGIBLE: ({ eligible }) => (eligible ? "yes" : "no"),
};

const showCommand = operatorCommand({
  description:
    "Show one attestation in full, with the signed result; for a request id, all attestations of that call: --json " +
    "then prints an array",
  example: "tvs attestations show 019aa3b4-7f11-7c22-b5d1-0c9f5b1a2c3d",
  args: {
    id: operand("The envelope's `verificationId`, or the answer's `X-Request-Id`"),
  },
  async act(operator, args) {
    const { attestations } = operator;
    const id = args.id.trim().toLowerCase();
    const one = await attestations.find(id);
    if (one !== null) return print(args, describe(one), () => attestationText(one));
    const made = await attestations.ofRequest(id);
    const [first] = made;
    if (first === undefined) throw await notFound(id, operator.config, await keptLogOf(operator));
    print(args, made.map(describe), () =>
      made.length === 1 ? attestationText(first) : listing(made.map(describeAttestation), attestationColumns),
    );
    if (made.length > 1) hint(args, "for one in full: tvs attestations show VERIFICATION");
  },
});

/** The whole of an attestation, but the NIN's index. */
function describe(one: Attestation) {
  const { header, claims } = decodeAttestation(one);
  const { policyVersion, credential, requestId, jws } = one;
  const context: unknown = one.context === null ? null : JSON.parse(one.context);
  return { ...describeAttestation(one), policyVersion, credential, requestId, context, header, claims, jws };
}

function attestationText(one: Attestation): string {
  const { header: _header, claims, jws, ...kept } = describe(one);
  const members = record({ ...kept, context: one.context });
  return `${members}\n\nsigned claims\n${printableJson(claims)}\n\nsignature\n${jws}`;
}

async function notFound(id: string, config: Config, kept: KeptLog): Promise<TvsError> {
  const message =
    (await whyNotAttested(config, id)) ??
    (mayBePruned(kept, id)
      ? `it can no longer be said whether this was attested: ${describeKeptLog(kept)}`
      : "no attestation has this verification id or request id; `tvs attestations list` shows the newest");
  return new TvsError("NOT_KNOWN", message);
}

export const attestationsCommand = group("Look up and check the evidence of what was answered and signed", {
  list: async () => listCommand,
  show: async () => showCommand,
  check: () => import("./attestation-check.ts").then((file) => file.checkCommand),
  prove: () => import("./proof.ts").then((file) => file.proveCommand),
});

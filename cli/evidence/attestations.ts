import { Buffer } from "node:buffer";
import type { AttestationCheckResult } from "../../src/domain/attestation-check.ts";
import { checkAttestation, decodeAttestation } from "../../src/domain/attestation-check.ts";
import { type Attestation, describeAttestation } from "../../src/domain/attestations.ts";
import { isoFromSeconds } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import type { LeafInclusionProof } from "../../src/domain/evidence/log.ts";
import { createEvidenceReader, requireCheckpointHead } from "../../src/domain/evidence/log.ts";
import {
  describeRetention,
  isPossiblyDeleted,
  type RetentionState,
  readRetentionState,
} from "../../src/domain/evidence/retention.ts";
import { leafHashOf } from "../../src/domain/evidence/tree.ts";
import { requirePartner } from "../../src/domain/partners.ts";
import { parseTeacherReference, requireTeacher } from "../../src/domain/teachers/changes.ts";
import { encodeBase64 } from "../../src/partner/base64.ts";
import type { EnvelopeItem, EnvelopePosition } from "../../src/partner/input.ts";
import { formatLogProof } from "../../src/partner/log-proof.ts";
import type { PartnerStore } from "../../src/store/partners.ts";
import { byName, makeGroup, operand, option, toggle } from "../command.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { partnerOption } from "../partners/credentials.ts";
import { prepareOptionalOutputFile } from "../safe/output-file.ts";
import { limitOption, sinceOption } from "../terminal/lists.ts";
import {
  exitCodes,
  formatListTable,
  formatMembers,
  formatTerminalJson,
  hint,
  printList,
  printNote,
  printResult,
  type TableColumns,
} from "../terminal/output.ts";
import { openInputs, readEnvelopeItems } from "../verify/files.ts";
import { logWriterOf, missingLogError } from "./open-evidence.ts";

const proveCommand = defineRegisterCommand("attestations prove", {
  args: { id: { ...operand(), required: false }, leaf: option("HASH"), out: option("FILE"), force: toggle() },
  prepare: ({ out: path, force }, config) =>
    prepareOptionalOutputFile({ flag: "--out", path, force, config }),
  async act(operator, args, file) {
    const leaf = await leafOf(operator, args);
    const inclusion = await prove(operator, leaf);
    const proof = formatLogProof({ ...inclusion, note: inclusion.checkpoint });
    await file?.write(proof);
    const { index, size, hashes, checkpoint } = inclusion;
    const { origin } = requireCheckpointHead(checkpoint);
    const leafHash = Buffer.from(leaf).toString("hex");
    const path = { leafHash, leafIndex: index, treeSize: size, hashes: hashes.map(encodeBase64) };
    printResult(args, { origin, ...path, checkpoint, proof }, () => (file === undefined ? proof : ""));
    if (file !== undefined) printNote(`wrote the proof to ${file.path}`);
  },
});

async function leafOf(
  { attestations }: OpenedRegister,
  { id, leaf }: { id?: string | undefined; leaf?: string | undefined },
): Promise<Uint8Array> {
  if ((id === undefined) === (leaf === undefined))
    throw new TvsError("USAGE", "give a verification id, or --leaf HASH, and not both");
  if (leaf !== undefined) {
    if (/^[0-9a-f]{64}$/.test(leaf)) return new Uint8Array(Buffer.from(leaf, "hex"));
    throw new TvsError("USAGE", "--leaf must be 64 lower-case hex digits");
  }
  const one = await attestations.find((id ?? "").trim().toLowerCase());
  if (one !== null) return leafHashOf(one.jws);
  throw new TvsError(
    "NOT_KNOWN",
    "no attestation has this verification id; of one that was deleted by age the leaf is still there, see --leaf",
  );
}

async function prove(operator: OpenedRegister, leaf: Uint8Array): Promise<LeafInclusionProof> {
  const { evidence } = operator;
  const reader = createEvidenceReader(evidence);
  let found = await reader.inclusion(leaf);
  if (found === null) {
    await logWriterOf(operator).checkpoint();
    found = await reader.inclusion(leaf);
  }
  if (found !== null) return found;
  if ((await evidence.logs()).length === 0) throw missingLogError();
  throw new TvsError("NOT_KNOWN", "no leaf of the evidence log has this hash");
}

/** Maximum envelopes in a checked file. A file with more is refused, because all results are kept in memory. */
const maxChecked = 200_000;
/** Maximum rows of the table of results. With more results, the table lists only envelopes that are not attested. */
const maxTableRows = 5_000;

const checkCommand = defineRegisterCommand("attestations check", {
  args: { file: operand() },
  async act(operator, args) {
    const { attestations } = operator;
    const kept = await readRetentionState(operator);
    const check: Check = (item) =>
      checkAttestation(item, attestations.find, (id) => isPossiblyDeleted(kept, id));
    const results = await checkFile(args.file, check);
    printResult(args, results.map(describeCheck), () => checkTable(results));
    if (results.some(({ reason }) => reason === "NO_LONGER_KEPT"))
      printNote(`it can no longer be said whether these were attested: ${describeRetention(kept)}`);
    process.exitCode = exitCodeOf(results);
  },
});

type Check = (item: EnvelopeItem) => Promise<AttestationCheckResult>;
type Located = AttestationCheckResult & { readonly place: EnvelopePosition };

/** Checks all envelopes of a file. @throws TvsError INPUT_UNREADABLE for no envelope or too many */
async function checkFile(file: string, check: Check): Promise<Located[]> {
  const results: Located[] = [];
  for await (const source of openInputs([file], process.stdin, [])) {
    for await (const item of readEnvelopeItems(source)) {
      if (results.push({ ...(await check(item)), place: item.place }) > maxChecked)
        throw new TvsError("INPUT_UNREADABLE", `${file} holds more than ${maxChecked} envelopes; split it`);
    }
  }
  const [only] = results;
  if (results.length === 1 && only?.verdict === "undecided" && only.reason !== "NO_LONGER_KEPT") {
    throw new TvsError("INPUT_UNREADABLE", `${file === "-" ? "standard input" : file}: ${only.problem}`);
  }
  return results;
}

function describeCheck({ place, verdict, reason, verificationId, record: kept }: Located) {
  return {
    verificationId,
    attested: verdict === "attested",
    verdict,
    reason,
    ...(place.line === null ? {} : { line: place.line }),
    ...(place.index === null ? {} : { index: place.index }),
    record: kept === null ? null : describeAttestation(kept),
  };
}

function checkTable(results: readonly Located[]): string {
  const isLong = results.length > maxTableRows;
  const others = results.filter(({ verdict }) => verdict !== "attested");
  const shown = (isLong ? others : results).slice(0, maxTableRows);
  const rows = formatListTable(shown, {
    VERIFICATION: "verificationId",
    VERDICT: "verdict",
    REASON: "reason",
    "ATTESTED TO": ({ record: kept }) => kept?.partnerId,
    AT: ({ record: kept }) => kept && isoFromSeconds(kept.issuedAt),
    STATUS: ({ record: kept }) => kept?.status,
  });
  const left = isLong ? `the first ${shown.length} that are not attested; --json prints all\n` : "";
  return `${rows}\n${left}${results.length - others.length} of ${results.length} attested and unaltered`;
}

function exitCodeOf(results: readonly Located[]): number {
  const others = results.filter(({ verdict }) => verdict !== "attested");
  if (others.length === 0) return exitCodes.done;
  return others.every(({ verdict }) => verdict === "undecided") ? exitCodes.undecided : exitCodes.refused;
}

const listCommand = defineRegisterCommand("attestations list", {
  args: {
    partner: partnerOption,
    teacher: option("REF", parseTeacherReference),
    key: option("KEYID"),
    since: sinceOption("Only"),
    limit: limitOption(50),
  },
  async act(operator, args) {
    const { attestations, partners, teachers } = operator;
    const { limit, since, partner, key, teacher: ref } = args;
    if (partner !== undefined) await requirePartner(partners, partner);
    const credential = key === undefined ? null : await credentialOf(partners, key, partner);
    const teacher = ref === undefined ? undefined : await requireTeacher(teachers, ref);
    const found = await attestations.list({
      ...credential,
      ...{ limit, teacherId: teacher?.id },
      partnerId: credential?.partnerId ?? partner,
      since: since ?? credential?.since,
    });
    printList(args, found.map(describeAttestation), attestationColumns, "no attestations");
    const kept = await readRetentionState(operator);
    if (found.length < limit && kept.from !== null && (since ?? 0) < kept.from)
      printNote(`older ones may be missing: ${describeRetention(kept)}`);
  },
});

/**
 * Finds the partner of a credential and, for an API key, the time in which the key was valid.
 * @param text a key id or a certificate's fingerprint
 * @param partnerId the value of --partner; needed for a removed certificate, whose partner only attestations name
 * @throws TvsError NOT_KNOWN, REFUSED if the credential belongs to another partner
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
  const until = key?.revokedAt ?? key?.expiresAt ?? undefined;
  return { partnerId: owner, credential, since: key?.createdAt, until };
}

const attestationColumns: TableColumns<ReturnType<typeof describeAttestation>> = {
  VERIFICATION: "verificationId",
  AT: "verifiedAt",
  PARTNER: "partnerId",
  KEY: "credential",
  ASKED: "reference",
  PURPOSE: "purpose",
  STATUS: "status",
  ELIGIBLE: ({ eligible }) => (eligible ? "yes" : "no"),
};

const showCommand = defineRegisterCommand("attestations show", {
  args: { id: operand() },
  async act(operator, args) {
    const { attestations } = operator;
    const id = args.id.trim().toLowerCase();
    const one = await attestations.find(id);
    if (one !== null) return printResult(args, describe(one), () => attestationText(one));
    const made = await attestations.ofRequest(id);
    const [first] = made;
    if (first === undefined) throw notFound(id, await readRetentionState(operator));
    printResult(args, made.map(describe), () =>
      made.length === 1
        ? attestationText(first)
        : formatListTable(made.map(describeAttestation), attestationColumns),
    );
    if (made.length > 1) hint(args, "for one in full: tvs attestations show VERIFICATION");
  },
});

/** Describes an attestation with all its members, except the NIN's blind index. */
function describe(one: Attestation) {
  const { header, claims } = decodeAttestation(one);
  const { policyVersion, credential, requestId, jws } = one;
  const context: unknown = one.context === null ? null : JSON.parse(one.context);
  return { ...describeAttestation(one), policyVersion, credential, requestId, context, header, claims, jws };
}

function attestationText(one: Attestation): string {
  const { header: _header, claims, jws, ...kept } = describe(one);
  const members = formatMembers({ ...kept, context: one.context });
  return `${members}\n\nsigned claims\n${formatTerminalJson(claims)}\n\nsignature\n${jws}`;
}

function notFound(id: string, kept: RetentionState): TvsError {
  const message = isPossiblyDeleted(kept, id)
    ? `it can no longer be said whether this was attested: ${describeRetention(kept)}`
    : "no attestation has this verification id or request id; `tvs attestations list` shows the newest";
  return new TvsError("NOT_KNOWN", message);
}

export const attestationsCommand = makeGroup(
  "Look up and check the evidence of what was answered and signed",
  byName(listCommand, showCommand, checkCommand, proveCommand),
);

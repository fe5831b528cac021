import type { Config } from "../src/config.ts";
import {
  type AttestationCheck,
  checkAttestation,
  decodeAttestation,
} from "../src/domain/attestation-check.ts";
import type { Attestation } from "../src/domain/attestations.ts";
import { isoSeconds } from "../src/domain/clock.ts";
import { TvsError } from "../src/domain/errors.ts";
import { requirePartner } from "../src/domain/partners.ts";
import { describeKeptLog, type KeptLog, keptLog, mayBePruned } from "../src/domain/retention.ts";
import { requireTeacher, teacherKeyOf } from "../src/domain/teacher-changes.ts";
import { type EnvelopeItem, type Place, readLineBlock } from "../src/partner/input.ts";
import { type RefusalReason, refuse } from "../src/partner/reasons.ts";
import { whyNotAttested } from "./calls.ts";
import { command, configOf, group } from "./command.ts";
import { withOperator } from "./open.ts";
import { partnerArg } from "./partner-credentials.ts";
import {
  exitCodes,
  hint,
  note,
  parseLimit,
  parseSince,
  print,
  record,
  sinceForms,
  table,
} from "./terminal/output.ts";
import { printable } from "./terminal/printable.ts";
import { openSources, readSource, type Source } from "./verify/files.ts";

const defaultLimit = 50;
/** The most envelopes in one check: all verdicts are in memory until they are printed. */
const maxChecked = 200_000;
/** The most rows of a table of verdicts; beyond it, only those that are not attested are shown. */
const maxTableRows = 5_000;

/** The summary of an attestation, without its signature. */
function summarize(one: Attestation) {
  return {
    verificationId: one.verificationId,
    verifiedAt: isoSeconds(one.issuedAt),
    partnerId: one.partnerId,
    endpoint: one.endpoint,
    purpose: one.purpose,
    reference: one.reference,
    status: one.status,
    eligible: one.eligible,
    kid: one.kid,
  };
}

const listCommand = command({
  name: "list",
  description: "List attestations, newest first",
  example:
    "tvs attestations list\n" +
    "  tvs attestations list --partner exam-body-a --since 2026-01-31T00:00:00Z --limit 20\n" +
    "  tvs attestations list --teacher TR/2019/LA/000123",
  args: {
    partner: partnerArg,
    teacher: {
      type: "string",
      valueHint: "REF",
      description: "Only those about this teacher: registration number (A/B/C/D) or teacher id (digits)",
    },
    since: { type: "string", valueHint: "TIME", description: `Only from this time on (${sinceForms})` },
    limit: { type: "string", valueHint: "N", description: `At most this many (default ${defaultLimit})` },
  },
  async run({ args }) {
    const limit = parseLimit(args.limit, defaultLimit);
    const since = args.since === undefined ? undefined : parseSince("--since", args.since);
    const key = args.teacher === undefined ? undefined : teacherKeyOf(args.teacher, "--teacher");
    await withOperator(
      configOf(args),
      async ({ stores: { attestations, partners, teachers, maintenance, settings } }) => {
        if (args.partner !== undefined) await requirePartner(partners, args.partner);
        const teacher = key === undefined ? undefined : await requireTeacher(teachers, key);
        const found = await attestations.list({
          limit,
          ...(teacher === undefined ? {} : { teacherId: teacher.id }),
          ...(args.partner === undefined ? {} : { partnerId: args.partner }),
          ...(since === undefined ? {} : { since }),
        });
        const shown = found.map(summarize);
        print(args, shown, () => (shown.length === 0 ? "no attestations" : listTable(shown)));
        const kept = await keptLog(maintenance, settings);
        if (found.length < limit && kept.from !== null && (since ?? 0) < kept.from)
          note(`older ones may be missing: ${describeKeptLog(kept)}`);
      },
    );
  },
});

function listTable(shown: readonly ReturnType<typeof summarize>[]): string {
  const head = ["VERIFICATION", "AT", "PARTNER", "ASKED", "PURPOSE", "STATUS", "ELIGIBLE"];
  const rows = shown.map((one) => [
    one.verificationId,
    one.verifiedAt,
    one.partnerId,
    one.reference,
    one.purpose,
    one.status,
    one.eligible ? "yes" : "no",
  ]);
  return table(head, rows);
}

const showCommand = command({
  name: "show",
  description:
    "Show one attestation in full, with the signed result; for a request id, all attestations of that call: --json " +
    "then prints an array",
  example: "tvs attestations show 019aa3b4-7f11-7c22-b5d1-0c9f5b1a2c3d",
  args: {
    id: {
      type: "positional",
      required: true,
      description: "The envelope's `verificationId`, or the answer's `X-Request-Id`",
    },
  },
  async run({ args }) {
    await withOperator(
      configOf(args),
      async ({ stores: { attestations, maintenance, settings }, config }) => {
        const id = args.id.trim().toLowerCase();
        const one = await attestations.find(id);
        if (one !== null) return print(args, describe(one), () => attestationText(one));
        const made = await attestations.ofRequest(id);
        const [first] = made;
        if (first === undefined) throw await notFound(id, config, await keptLog(maintenance, settings));
        print(args, made.map(describe), () =>
          made.length === 1 ? attestationText(first) : listTable(made.map(summarize)),
        );
        if (made.length > 1) hint(args, "for one in full: tvs attestations show VERIFICATION");
      },
    );
  },
});

/** The whole of an attestation, but the NIN's index. */
function describe(one: Attestation) {
  const { header, claims } = decodeAttestation(one);
  const { policyVersion, credential, requestId, jws } = one;
  const context: unknown = one.context === null ? null : JSON.parse(one.context);
  return { ...summarize(one), policyVersion, credential, requestId, context, header, claims, jws };
}

function attestationText(one: Attestation): string {
  const { header: _header, claims, jws, ...kept } = describe(one);
  const members = record({ ...kept, context: one.context });
  return `${members}\n\nsigned claims\n${indented(claims)}\n\nsignature\n${jws}`;
}

async function notFound(id: string, config: Config, kept: KeptLog): Promise<TvsError> {
  const message =
    (await whyNotAttested(config, id)) ??
    (mayBePruned(kept, id)
      ? `it can no longer be said whether this was attested: ${describeKeptLog(kept)}`
      : "no attestation has this verification id or request id; `tvs attestations list` shows the newest");
  return new TvsError("NOT_KNOWN", message);
}

/** JSON for a terminal: names in it come from the register, and must not steer it. */
function indented(value: object): string {
  return JSON.stringify(value, null, 2).split("\n").map(printable).join("\n");
}

const checkCommand = command({
  name: "check",
  description:
    "Check whether this service attested exactly this: an envelope, a bare signature, a batch response, an array or " +
    "NDJSON. --json always prints one array, an element each. Exit 0: all are attested; 1: one is altered or not " +
    "known; 2: not readable",
  example: "tvs attestations check envelope.json\n  tvs attestations check - --json < batch.json",
  args: {
    file: { type: "positional", required: true, description: "A file, or - for standard input" },
  },
  async run({ args }) {
    await withOperator(configOf(args), async ({ stores: { attestations, maintenance, settings } }) => {
      const kept = await keptLog(maintenance, settings);
      const check: Check = (item) => checkAttestation(item, attestations.find, (id) => mayBePruned(kept, id));
      const results = await checkFile(args.file, check);
      print(
        args,
        results.map((one) => describeCheck(one)),
        () => checkTable(results),
      );
      if (results.some(({ reason }) => reason === "NO_LONGER_KEPT"))
        note(`it can no longer be said whether these were attested: ${describeKeptLog(kept)}`);
      process.exitCode = exitCodeOf(results);
    });
  },
});

type Check = (item: EnvelopeItem) => Promise<AttestationCheck>;
type Located = AttestationCheck & { readonly place: Place };

const nowhere: Place = { line: null, index: null };

/** @throws TvsError INPUT_UNREADABLE when the input gives nothing to judge */
async function checkFile(file: string, check: Check): Promise<Located[]> {
  const results: Located[] = [];
  for await (const source of openSources([file], process.stdin, [])) {
    for await (const one of checkSource(source, check)) {
      if (results.push(one) > maxChecked)
        throw new TvsError("INPUT_UNREADABLE", `${file} holds more than ${maxChecked} envelopes; split it`);
    }
  }
  const [only] = results;
  if (results.length === 1 && only?.verdict === "undecided" && only.reason !== "NO_LONGER_KEPT") {
    throw new TvsError("INPUT_UNREADABLE", `${file === "-" ? "standard input" : file}: ${only.problem}`);
  }
  return results;
}

async function* checkSource(source: Source, check: Check): AsyncGenerator<Located> {
  const undecided = async (reason: RefusalReason) => {
    const judged = await check({ place: nowhere, refusal: refuse(reason) });
    return { ...judged, place: nowhere };
  };
  if ("reason" in source) return yield await undecided(source.reason);
  let count = 0;
  try {
    for await (const block of readSource(source.chunks)) {
      const items = "items" in block ? block.items : readLineBlock(block.bytes, { line: block.linesBefore });
      for (const item of items) {
        count++;
        yield { ...(await check(item)), place: item.place };
      }
    }
  } catch (error) {
    // The file system's errors carry a code of their own; ours and the program's faults must show.
    const isReadError =
      !(error instanceof TvsError) && typeof (error as { code?: unknown }).code === "string";
    if (!isReadError) throw error;
    return yield await undecided("FILE_UNREADABLE");
  }
  if (count === 0) yield await undecided("NO_ENVELOPE");
}

function describeCheck({ place, verdict, reason, verificationId, record: kept }: Located) {
  return {
    verificationId,
    attested: verdict === "attested",
    verdict,
    reason,
    ...(place.line === null ? {} : { line: place.line }),
    ...(place.index === null ? {} : { index: place.index }),
    // What was really attested under this id, if anything was.
    record: kept === null ? null : summarize(kept),
  };
}

function checkTable(results: readonly Located[]): string {
  const isLong = results.length > maxTableRows;
  const others = isLong ? results.filter(({ verdict }) => verdict !== "attested") : results;
  const rows = others
    .slice(0, maxTableRows)
    .map(({ verdict, reason, verificationId, record: kept }) => [
      verificationId,
      verdict,
      reason,
      kept?.partnerId,
      kept === null ? null : isoSeconds(kept.issuedAt),
      kept?.status,
    ]);
  const attested = results.filter(({ verdict }) => verdict === "attested").length;
  const head = ["VERIFICATION", "VERDICT", "REASON", "ATTESTED TO", "AT", "STATUS"];
  const left = isLong ? `the first ${rows.length} that are not attested; --json prints all\n` : "";
  return `${table(head, rows)}\n${left}${attested} of ${results.length} attested and unaltered`;
}

function exitCodeOf(results: readonly Located[]): number {
  const others = results.filter(({ verdict }) => verdict !== "attested");
  if (others.length === 0) return exitCodes.done;
  return others.every(({ verdict }) => verdict === "undecided") ? exitCodes.undecided : exitCodes.refused;
}

export const attestationsCommand = group(
  "attestations",
  "Look up and check the evidence of what was answered and signed",
  {
    list: async () => listCommand,
    show: async () => showCommand,
    check: async () => checkCommand,
    prove: () => import("./attestation-proof.ts").then((file) => file.proveCommand),
  },
);

import { Buffer } from "node:buffer";
import words from "../../data/commands.json" with { type: "json" };
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { type AuditResult, auditLog } from "../../src/domain/evidence/audit.ts";
import type { AuditFinding } from "../../src/domain/evidence/audit-findings.ts";
import { createSignatureChecks } from "../../src/domain/evidence/audit-rows.ts";
import { treeHeadOf } from "../../src/domain/evidence/chain.ts";
import { verifierKeyOf } from "../../src/domain/evidence/epochs.ts";
import type { LogEpoch } from "../../src/domain/evidence/evidence.ts";
import { hasHiddenCharacter } from "../../src/domain/plain-text.ts";
import { createAuditStore } from "../../src/store/evidence/audit.ts";
import { flag, group, option } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { byArg } from "../register/operator-name.ts";
import { confirm, yesArg } from "../terminal/confirm.ts";
import { type Columns, exitCodes, hint, listing, note, print, readable, record } from "../terminal/output.ts";
import { createBar } from "../terminal/progress.ts";
import { checkpointOfAll, goOnInNextEpoch, noLog, retentionMarkOf } from "./open-evidence.ts";

const auditCommand = operatorCommand({
  ...words["log audit"],
  args: { signatures: flag() },
  async act(operator, args) {
    const result = await audit(operator, args.signatures === true);
    // Not "not known", which is what exit 1 would say: nothing was found here.
    if (result === null) throw new TvsError("REGISTER_MISSING", noLog().message);
    const verdict = result.found > 0 ? "broken" : result.headKnown ? "whole" : "undecided";
    print(args, { verdict, ...result }, () => auditText(result));
    if (verdict === "undecided")
      note(
        "it cannot be decided whether the database was put back to an earlier state: the checkpoint beside the master " +
          "key is missing; run this where the service runs",
      );
    process.exitCode = { whole: exitCodes.done, broken: exitCodes.refused, undecided: exitCodes.undecided }[
      verdict
    ];
  },
});

async function audit(operator: Operator, all: boolean): Promise<AuditResult | null> {
  const { driver, evidence, keys, secrets, clock, logHead } = operator;
  // Before the database: what it says was signed for is there then.
  const head = logHead.read();
  const bar = createBar({ label: "audit", unit: "leaves" });
  try {
    return await auditLog({
      store: createAuditStore(driver),
      epochs: evidence.epochs,
      head,
      secrets,
      now: clock.now(),
      mark: await retentionMarkOf(operator),
      signatures: createSignatureChecks(await keys.list(), { all }),
      onProgress: (done, total) => bar.show(done, { total }),
    });
  } finally {
    bar.stop();
  }
}

function auditText({ epochs, findings, found, waiting, headStored }: AuditResult): string {
  const counts = listing(epochs, {
    LOG: "origin",
    LEAVES: "size",
    COMPARED: "compared",
    "DELETED BY AGE": "pruned",
    LOST: "lost",
    CHECKPOINTS: "checkpoints",
  });
  const behind = [
    ...(waiting === 0 ? [] : [`${waiting} attestations are not logged yet`]),
    ...(headStored
      ? []
      : [
          "the newest checkpoint is only beside the master key; whoever signs next puts it into the database",
        ]),
    signatureText(epochs),
  ]
    .map((line) => `${line}\n`)
    .join("");
  const [first] = findings;
  if (first === undefined) return `${counts}\n${behind}all attestations are as they were logged`;
  const others = found === 1 ? "" : `, of ${found}`;
  const which = first.verificationId === null ? "" : ` (verification ${first.verificationId})`;
  const told = readable(`${first.says}${which}`);
  return `${counts}\n${behind}the first${others}: ${told}\n\n${listing(findings, findingColumns)}`;
}

/** What the log vouches for was in it when it was signed for, whoever wrote it there. */
function signatureText(epochs: AuditResult["epochs"]): string {
  const sum = (of: "compared" | "verified") => epochs.reduce((total, one) => total + one[of], 0);
  const [compared, verified] = [sum("compared"), sum("verified")];
  const more = verified < compared ? "; --signatures verifies all" : "";
  return `${verified} of ${compared} attestations had their own signature verified${more}`;
}

const findingColumns: Columns<AuditFinding> = {
  WHAT: "what",
  EPOCH: "epoch",
  INDEX: "index",
  ID: "id",
  VERIFICATION: "verificationId",
  HOW: "says",
};

/** The longest reason, in characters: it stays in the log for ever. */
const maxReason = 200;

/**
 * Opens a new epoch. Nodes that serve meanwhile go over to it by themselves: they read which epoch is the newest whenever
 * they build or sign, and what they have signed of a closed one is not stored.
 */
const epochCommand = operatorCommand({
  ...words["log epoch"],
  args: {
    reason: {
      ...option(
        "TEXT",
        `Why, for everybody who looks at the log: one line of at most ${maxReason} characters`,
        readReason,
      ),
      required: true,
    },
    ...yesArg,
    ...byArg,
  },
  async act(operator, args) {
    await requireBegun(operator);
    await confirm(
      args,
      "The key of the log's present epoch is destroyed, and everybody who verifies or witnesses needs the new one. What was proven so far stays proven. This cannot be undone.",
    );
    const { opened, lost, checkpoint } = await goOnInNextEpoch(operator, args.reason);
    const key = await verifierKeyOf(opened);
    const value = { ...describe(opened), key, size: checkpoint?.size ?? 0 };
    print(args, value, () => record(value));
    if (lost > 0)
      note(`${lost} of the newest attestations are gone that were signed for: they count as lost.`);
    for (const line of nextSteps(opened)) note(readable(line));
  },
});

function readReason(text: string, flag: string): string {
  const reason = text.trim();
  if (reason !== "" && reason.length <= maxReason && !hasHiddenCharacter(reason)) return reason;
  throw new TvsError("CONFIG_INVALID", `${flag} must be one line of 1 to ${maxReason} characters`);
}

/**
 * A kept checkpoint alone counts too: the database that it belongs to may be older than the log.
 * @throws TvsError NOT_KNOWN before the first `serve`
 */
async function requireBegun({ evidence, logHead }: Operator): Promise<void> {
  if ((await evidence.epochs()).length > 0 || logHead.read() !== null) return;
  throw noLog();
}

function describe({ epoch, origin, reason, previous }: LogEpoch) {
  const before = previous === null || previous === "" ? null : treeHeadOf(previous);
  return {
    epoch,
    origin,
    reason,
    previousOrigin: before?.origin ?? null,
    previousSize: before?.size ?? null,
  };
}

/** What is to be done now by others than this program. */
function nextSteps({ origin }: LogEpoch): string[] {
  return [
    `Give the new key to everybody who verifies: tvs verify --log-key takes it beside the old one. Until then what ${origin} proves is undecidable there (LOG_EPOCH_UNKNOWN).`,
    "Witnesses end with 2 and name the new epoch, until they are given the key: tvs log witness --log-key. Tell them the reason by another way than this service.",
    "Services that run go over to it by themselves; start those again that have stopped because the database is behind.",
  ];
}

const checkpointCommand = operatorCommand({
  ...words["log checkpoint"],
  async act(operator, args) {
    const { evidence } = operator;
    if ((await evidence.epochs()).length === 0) throw noLog();
    const newest = await checkpointOfAll(operator);
    if (newest === null)
      throw new TvsError("NOT_KNOWN", "the evidence log is empty: nothing was attested yet");
    const { epoch, signedAt, note } = newest;
    const { origin, size, root } = treeHeadOf(note);
    const described = { origin, epoch, size, root: Buffer.from(root).toString("base64") };
    print(args, { ...described, signedAt: isoTime(signedAt), note }, () => note);
  },
});

const keyCommand = operatorCommand({
  ...words["log key"],
  async act({ evidence }, args) {
    const epochs = (await evidence.epochs()).reverse();
    if (epochs.length === 0) throw noLog();
    const described = await Promise.all(
      epochs.map(async (one) => {
        const { epoch, origin, openedAt, reason, previous } = one;
        return {
          origin,
          epoch,
          key: await verifierKeyOf(one),
          openedAt: isoTime(openedAt),
          reason,
          previous,
        };
      }),
    );
    print(args, described, () => described.map(({ key }) => key).join("\n"));
    hint(args, "hand these to the partners by another way than the envelopes");
  },
});

export const logCommand = group("The evidence log: its checkpoints and keys, and whether it is whole", {
  checkpoint: async () => checkpointCommand,
  key: async () => keyCommand,
  audit: async () => auditCommand,
  anchor: () => import("./anchor.ts").then((file) => file.logAnchorCommand),
  witness: () => import("./witness.ts").then((file) => file.logWitnessCommand),
  epoch: async () => epochCommand,
});

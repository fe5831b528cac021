import { Buffer } from "node:buffer";
import { setTimeout as sleep } from "node:timers/promises";
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { type AuditResult, auditEvidenceLog } from "../../src/domain/evidence/audit.ts";
import { beginNextLog } from "../../src/domain/evidence/checkpoint.ts";
import { readCheckpointHead, requireCheckpointHead, verifierKeyOf } from "../../src/domain/evidence/log.ts";
import { hasHiddenCharacter } from "../../src/domain/plain-text.ts";
import { byName, makeGroup, option, toggle } from "../command.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { actorArg } from "../register/operator-name.ts";
import { requireConfirmation, yesArg } from "../terminal/confirm.ts";
import {
  exitCodes,
  formatListTable,
  formatMembers,
  hint,
  printNote,
  printResult,
  wrapAtTerminal,
} from "../terminal/output.ts";
import { createProgressBar } from "../terminal/progress.ts";
import { logCheckCommand } from "./check.ts";
import { logWriterDependenciesOf, logWriterOf, missingLogError } from "./open-evidence.ts";

/** Milliseconds that the audit waits for another process that has pinned a checkpoint and not stored it yet. */
const settleMs = 1_000;

const auditCommand = defineRegisterCommand("log audit", {
  args: { signatures: toggle() },
  async act(operator, args) {
    const { evidence: store, secrets, pinned, keys } = operator;
    const bar = createProgressBar({ label: "audit", unit: "leaves" });
    const result = await auditEvidenceLog({
      ...{ store, secrets, allSignatures: args.signatures === true },
      // Reads the checkpoint before the database, so an undamaged database has every answer that the checkpoint covers.
      pinned: pinned.read(),
      keys: await keys.list(),
      settle: () => sleep(settleMs),
      onProgress: (done, total) => bar.show(done, { total }),
    }).finally(bar.stop);
    // REGISTER_MISSING exits with 2. Exit code 1 would say that the audit found something.
    if (result === null) throw new TvsError("REGISTER_MISSING", missingLogError().message);
    const verdict = result.found > 0 ? "broken" : result.isPinned ? "whole" : "undecided";
    printResult(args, { verdict, ...result }, () => auditText(result));
    if (verdict === "undecided")
      printNote(
        "it cannot be decided whether the database was put back to an earlier state: no checkpoint is pinned beside the " +
          "master key; run this where the service runs",
      );
    if (verdict !== "whole") process.exitCode = exitCodes[verdict === "broken" ? "refused" : "undecided"];
  },
});

function auditText(result: AuditResult): string {
  const { logs, findings, found, waiting, leaves, compared, deleted, verified } = result;
  const others = verified < compared ? "; --signatures verifies all" : "";
  const lines = [
    formatListTable(logs, { LOG: "origin", CHECKPOINTS: "checkpoints" }),
    formatMembers({ leaves, compared, "deleted by age": deleted, "not logged yet": waiting }),
    `${verified} of ${compared} attestations had their own signature verified${others}`,
  ];
  const [first] = findings;
  if (first === undefined) return [...lines, "all attestations are as they were logged"].join("\n");
  const which = first.verificationId === null ? "" : ` (verification ${first.verificationId})`;
  const firstLine = wrapAtTerminal(`the first${found === 1 ? "" : `, of ${found}`}: ${first.says}${which}`);
  const columns = {
    WHAT: "what",
    POSITION: "position",
    VERIFICATION: "verificationId",
    HOW: "says",
  } as const;
  return [...lines, firstLine, "", formatListTable(findings, columns)].join("\n");
}

/** The longest reason for a new log, in characters. Everybody who reads the log sees the reason. */
const maxReason = 200;

/** Begins a new log. A running service then signs for the new log, because it reads the newest log before it signs. */
const newCommand = defineRegisterCommand("log new", {
  args: {
    reason: {
      ...option(
        "TEXT",
        `Why, for everybody who looks at the log: one line of at most ${maxReason} characters`,
        readReason,
      ),
      required: true,
    },
    "accept-loss": toggle(),
    ...yesArg,
    ...actorArg,
  },
  async act(operator, args) {
    const { evidence, pinned, settingsInForce } = operator;
    if ((await evidence.logs()).length === 0 && pinned.read() === null) throw missingLogError();
    if (args["accept-loss"] !== true) await logWriterOf(operator).reconcile();
    await requireConfirmation(
      args,
      "The key of the present log is destroyed, and everybody who verifies or checks the log needs the new one. What was proven so far stays proven. This cannot be undone.",
    );
    const { issuer } = settingsInForce;
    const log = await beginNextLog({ ...logWriterDependenciesOf(operator), issuer }, args.reason);
    const size = (await logWriterOf(operator).checkpoint())?.size ?? 0;
    const previous = readCheckpointHead(log.previous);
    const { origin, reason } = log;
    const [previousOrigin, previousSize] = [previous?.origin ?? null, previous?.size ?? null];
    const value = { origin, reason, previousOrigin, previousSize, key: await verifierKeyOf(log), size };
    printResult(args, value, () => formatMembers(value));
    const lost = (previousSize ?? 0) - size;
    if (lost > 0) printNote(`${lost} of the newest attestations that were signed for are lost.`);
    printNote(
      `Give the new key to everybody who verifies: tvs verify --log-key takes it beside the old one. Until then what ${origin} proves cannot be decided there (LOG_KEY_MISSING). Tell the reason by another way than this service.`,
    );
    printNote(
      "Services that run go over to it; start those again that have stopped because the database is behind.",
    );
  },
});

function readReason(text: string, flag: string): string {
  const reason = text.trim();
  if (reason !== "" && reason.length <= maxReason && !hasHiddenCharacter(reason)) return reason;
  throw new TvsError("CONFIG_INVALID", `${flag} must be one line of 1 to ${maxReason} characters`);
}

const checkpointCommand = defineRegisterCommand("log checkpoint", {
  async act(operator, args) {
    if ((await operator.evidence.logs()).length === 0) throw missingLogError();
    const newest = await logWriterOf(operator).checkpoint();
    if (newest === null)
      throw new TvsError("NOT_KNOWN", "the evidence log is empty: nothing was attested yet");
    const { signedAt, note } = newest;
    const { origin, size, root } = requireCheckpointHead(note);
    const described = { origin, size, root: Buffer.from(root).toString("base64") };
    printResult(args, { ...described, signedAt: isoTime(signedAt), note }, () => note);
  },
});

const keyCommand = defineRegisterCommand("log key", {
  async act({ evidence }, args) {
    const logs = (await evidence.logs()).reverse();
    if (logs.length === 0) throw missingLogError();
    const described = await Promise.all(
      logs.map(async (log) => {
        const { origin, begunAt, reason, previous } = log;
        return { origin, key: await verifierKeyOf(log), begunAt: isoTime(begunAt), reason, previous };
      }),
    );
    printResult(args, described, () => described.map(({ key }) => key).join("\n"));
    hint(args, "hand these to the partners by another way than the envelopes");
  },
});

export const logCommand = makeGroup(
  "The evidence log: its checkpoints and keys, and whether it is whole",
  byName(checkpointCommand, keyCommand, auditCommand, logCheckCommand, newCommand),
);

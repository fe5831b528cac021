import { TvsError } from "../../src/domain/errors.ts";
import { type AuditResult, auditLog } from "../../src/domain/evidence/audit.ts";
import type { AuditFinding } from "../../src/domain/evidence/audit-findings.ts";
import { createSignatureChecks } from "../../src/domain/evidence/audit-rows.ts";
import { createAuditStore } from "../../src/store/evidence/audit.ts";
import { flag } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { type Columns, exitCodes, listing, note, print, readable } from "../terminal/output.ts";
import { createBar } from "../terminal/progress.ts";
import { logHeadOf, noLog, retentionMarkOf } from "./open-evidence.ts";

export const auditCommand = operatorCommand({
  description:
    "Recompute the evidence log from the attestations, and name the first one that was changed, removed or inserted. " +
    "A service may run meanwhile. Exit 0: all is as it was logged; 1: something is not, or the database was put back; " +
    "2: it could not be decided",
  example: "tvs log audit\n  tvs log audit --json | jq '.findings[0]'",
  args: {
    signatures: flag(
      "Verify the signature of every attestation too, not only of those that no checkpoint covers or whose time " +
        "is odd; takes some twenty times as long",
    ),
  },
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
  const { driver, evidence, keys, secrets, clock, config } = operator;
  // Before the database: what it says was signed for is there then.
  const head = logHeadOf(config).read();
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

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "../../src/config.ts";
import { isoTime, systemClock } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { holdWebhooksSettingName } from "../../src/domain/settings.ts";
import { type BackupFacts, inspectBackup } from "../../src/store/driver/backup.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { type RestoreResult, requireReplaceable, restoreBackup } from "../../src/store/driver/restore.ts";
import { applySchema } from "../../src/store/driver/schema.ts";
import type { StateDifference } from "../../src/store/evidence/audit-summary.ts";
import { createSettingsStore } from "../../src/store/settings.ts";
import { skipTeacherIds } from "../../src/store/status-lists.ts";
import { configOf, operand, toggle } from "../command.ts";
import { continueLogAfterRestore, describeRestoredLog, type RestoredLog } from "../evidence/restored-log.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { actorArg, actorOf } from "../register/operator-name.ts";
import { describeRegisterLocation } from "../register/register.ts";
import { requireConfirmation, yesArg } from "../terminal/confirm.ts";
import {
  formatMembers,
  formatTable,
  hint,
  printNote,
  printResult,
  wrapAtTerminal,
} from "../terminal/output.ts";
import { compareMasterKey, describeBackup, requireDatabaseFile } from "./backup.ts";
import { describeMasterKeyLocation, ensureDataDir } from "./vault.ts";

const maxListed = 20;

export const restoreCommand = defineTvsCommand("restore", {
  args: { file: operand(), force: toggle(), "hold-webhooks": toggle(), ...yesArg, ...actorArg },
  async run({ args }) {
    const config = configOf(args);
    const acting = { actor: actorOf(config), clock: systemClock };
    const [from, target] = [resolve(args.file), requireDatabaseFile(config)];
    const [force, holdWebhooks] = [args.force === true, args["hold-webhooks"] === true];
    requireReplaceable({ target, force });
    const facts = await inspectBackup(from);
    requireAcceptable(config, facts);
    if (existsSync(target))
      await requireConfirmation(
        args,
        `${target} will be replaced by the backup, and everything that changed since the backup was made is undone: records, partners, credentials, signing keys. The old file is kept under another name.`,
      );
    // The folder is made after all checks, so that a refused restore makes no folder.
    ensureDataDir(config);
    const stamp = isoTime(systemClock.now()).replace(/[-:.]/g, "");
    const made: { settled?: Awaited<ReturnType<typeof continueLogAfterRestore>> } = {};
    const onCopied = async (driver: Driver) => {
      await applySchema(driver);
      await driver.batch([skipTeacherIds(systemClock.now())]);
      const settings = createSettingsStore(driver, acting);
      if (holdWebhooks) await settings.write({ [holdWebhooksSettingName]: "true" });
      made.settled = await continueLogAfterRestore(driver, config, acting);
    };
    const restored = await restoreBackup({ from, facts, target, force, stamp, onCopied });
    const { log = null, pin } = made.settled ?? {};
    await pin?.();
    const { replaced, undone } = restored;
    if (replaced === null) printNote(`created a new register in ${describeRegisterLocation(config)}`);
    const masterKey = compareMasterKey(config, facts);
    const notes = makeRemarks(restored, { facts, holdWebhooks, log });
    const keyIsMissing = `First put the master key that belongs to this backup into ${config.masterKeyFile} (mode 0600): nothing opens the register without it.`;
    const first = masterKey === "absent" ? [keyIsMissing] : [];
    const shown = { database: target, ...describeBackup(facts) };
    const value = { ...shown, masterKey, replaced, webhooksHeld: holdWebhooks, undone, log };
    printResult(args, { ...value, notes: [...first, ...notes] }, () =>
      restoreText({ ...shown, replaced }, restored, notes),
    );
    hint(args, "tvs doctor --full, then tvs serve");
    // The note on a missing master key is printed last, where the operator sees it. The key is the first thing to put back.
    if (args.json !== true) for (const line of first) printNote(line);
  },
});

function requireAcceptable(config: Config, facts: BackupFacts): void {
  if ((facts.environment === "sandbox") !== config.sandbox) {
    const message = config.sandbox
      ? "this is a backup of a live database; restore it without --sandbox"
      : "this is a backup of a sandbox; restore it with --sandbox, it never mixes with live data";
    throw new TvsError("REFUSED", message);
  }
  if (compareMasterKey(config, facts) !== "differs") return;
  const message =
    `the master key in ${describeMasterKeyLocation(config)} is not the one that this backup was made with; ` +
    "put the one that belongs to it there first";
  throw new TvsError("MASTER_KEY_WRONG", message);
}

function makeRemarks(
  { replaced, undone }: RestoreResult,
  { facts, holdWebhooks, log }: { facts: BackupFacts; holdWebhooks: boolean; log: RestoredLog | null },
): string[] {
  const since = "since the backup was made";
  return [
    ...(replaced === null
      ? []
      : [`The old database is kept as ${replaced}; delete it once the restored one has been checked.`]),
    `Everything that changed ${since} is undone: records, partners, credentials, signing keys, settings. Status lists show what the restored register holds.`,
    ...(undone === null
      ? [
          `There was no readable old database to compare with: revocations made ${since} are undone, API keys revoked ${since} are valid again, and envelopes signed by a key made ${since} are not verifiable by the restored key set. Compare with tvs keys list and tvs partners list.`,
        ]
      : undoneRemarks(undone.changes, undone.lost)),
    ...describeRestoredLog(log, facts.log),
    `The quota counters of the current minute and day are those of the backup, and a call that repeats an Idempotency-Key used ${since} runs again.`,
    holdWebhooks
      ? "Webhooks are held; check what is pending (tvs webhooks list --state pending), then send them with tvs webhooks release."
      : "Webhooks that were pending in the backup are pending again, those delivered later included.",
  ];
}

function undoneRemarks(
  changes: readonly StateDifference[],
  lost: NonNullable<RestoreResult["undone"]>["lost"],
) {
  const of = (kind: StateDifference["kind"], test: (one: StateDifference) => boolean) =>
    changes.filter((one) => one.kind === kind && test(one)).map(({ id }) => id);
  const findings: [string[], (ids: string) => string][] = [
    [of("teacher", ({ now }) => now === null), (ids) => `Teachers whose revocation, deactivation or hiding is undone: ${ids}.`],
    [of("teacher", ({ was }) => was === null), (ids) => `Teachers who are revoked, deactivated or hidden again: ${ids}.`],
    [of("signingKey", ({ now }) => now === null), (ids) => `Signing keys lost: ${ids}. Envelopes they signed are not verifiable by the restored key set; keep a signed key history that has them.`],
    [of("signingKey", ({ was, now }) => was === "compromised" && now !== null), (ids) => `Declare compromised again: ${ids} (tvs keys compromise KID --since TIME).`],
    [of("signingKey", ({ was, now }) => was === "retired" && now === "active"), (ids) => `Retired keys that sign again: ${ids}. Anyone with a newer key history refuses what they sign now; promote the next key with tvs keys rotate --now.`],
    [of("apiKey", ({ was, now }) => was === "revoked" && now === "issued"), (ids) => `Revoked API keys that are valid again: ${ids} (tvs partners key revoke KEYID).`],
    [of("apiKey", ({ now }) => now === null), (ids) => `API keys that no longer exist: ${ids}; issue new ones.`],
    [of("partner", ({ was, now }) => was === "disabled" && now === "enabled"), (ids) => `Disabled partners that are enabled again: ${ids} (tvs partners disable ID).`],
    [of("partner", ({ now }) => now === null), (ids) => `Partners that no longer exist: ${ids}.`],
    [of("certificate", ({ was }) => was === null), (ids) => `Removed certificates that are accepted again: ${ids} (tvs partners cert remove).`],
    [of("certificate", ({ now }) => now === null), (ids) => `Certificates that no longer exist: ${ids}.`],
  ]; // biome-ignore format: a finding a line
  const { attestations, history, events } = lost;
  const counted = `Not in the restored database: ${attestations} attestations, ${history} changes of records, ${events} events.`;
  return [...findings.filter(([ids]) => ids.length > 0).map(([ids, say]) => say(joinIds(ids))), counted];
}

function joinIds(ids: readonly string[]): string {
  const more = ids.length - maxListed;
  return ids.slice(0, maxListed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function restoreText(
  facts: Parameters<typeof formatMembers>[0],
  { undone }: RestoreResult,
  notes: readonly string[],
) {
  const changes = undone?.changes ?? [];
  const rows = changes.map(({ kind, id, was, now }) => {
    const missing = kind === "teacher" ? "in good standing" : "absent";
    return [kind, id, was ?? missing, now ?? missing];
  });
  return [
    formatMembers(facts),
    ...(rows.length === 0 ? [] : ["", formatTable(["WHAT", "ID", "WAS", "NOW"], rows)]),
    "",
    ...notes.map((line) => wrapAtTerminal(`* ${line}`)),
  ].join("\n");
}

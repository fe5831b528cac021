import { TvsError } from "../../src/domain/errors.ts";
import { treeHeadOf } from "../../src/domain/evidence/chain.ts";
import { verifierKeyOf } from "../../src/domain/evidence/epochs.ts";
import type { LogEpoch } from "../../src/domain/evidence/evidence.ts";
import { openNextEpoch } from "../../src/domain/evidence/succession.ts";
import { hasHiddenCharacter } from "../../src/domain/plain-text.ts";
import { option } from "../command.ts";
import type { Operator } from "../open.ts";
import { operatorCommand } from "../operator-command.ts";
import { byArg } from "../register/operator-name.ts";
import { confirm, yesArg } from "../terminal/confirm.ts";
import { note, print, readable, record } from "../terminal/output.ts";
import { checkpointOfAll, logHeadOf, noLog, noteLoss, openingOf, prepareClosing } from "./open-evidence.ts";

/** The longest reason, in characters: it stays in the log for ever. */
const maxReason = 200;

/**
 * Opens a new epoch. Nodes that serve meanwhile go over to it by themselves: they read which epoch is the newest whenever
 * they build or sign, and what they have signed of a closed one is not stored.
 */
export const epochCommand = operatorCommand({
  description:
    "Close the log and go on in a new epoch with a new key: after a loss that no backup makes good, under a new issuer, or when the log's key is not trusted any more",
  example: 'tvs log epoch --reason "the server lost its newest hour on 2026-01-31"',
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
    await prepareClosing(operator);
    const opened = await openNextEpoch(openingOf(operator), args.reason);
    const lost = await noteLoss(operator, opened);
    const checkpoint = await checkpointOfAll(operator);
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
async function requireBegun({ evidence, config }: Operator): Promise<void> {
  if ((await evidence.epochs()).length > 0 || logHeadOf(config).read() !== null) return;
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

/** What `tvs doctor` says of the evidence log: its name, the pinned checkpoint, and how long attestations are kept. */

import { statSync } from "node:fs";
import { type Config, pinnedCheckpointFile } from "../../src/config.ts";
import { type Check, checkNamed, ok } from "../../src/domain/checks.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { readSigned } from "../../src/domain/evidence/audit-rows.ts";
import { behindAdvice, rootOrNull } from "../../src/domain/evidence/checkpoint.ts";
import { countLeaves, type LogFigures, originOf, treeHeadOf } from "../../src/domain/evidence/log.ts";
import {
  isOwnRetention,
  keepForever,
  parseRetention,
  retentionSetting,
  retentionTagSetting,
} from "../../src/domain/evidence/retention.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import type { TreeHead } from "../../src/partner/log-checkpoint.ts";
import { isSameHash } from "../../src/partner/merkle-proof.ts";
import type { LogStore } from "../../src/store/evidence/log.ts";
import { openPinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import { masterKeyAtHand } from "../safe/vault.ts";

type Known = { readonly config: Config; readonly issuer: string | undefined };

/** Checks the log's name, and the database against the checkpoint that is pinned outside it. */
export async function checkLog(
  figures: LogFigures | null,
  store: LogStore,
  { config, issuer }: Known,
): Promise<Check[]> {
  if (figures === null) return [ok("log", "not begun yet; tvs serve begins it")];
  return [judgeOrigin(figures, issuer), await checkPinned(figures, store, pinnedCheckpointFile(config))];
}

function judgeOrigin({ origin, log, size }: LogFigures, issuer: string | undefined): Check {
  const { ok, warn } = checkNamed("log");
  const found = `${origin}, ${countLeaves(size)}`;
  if (issuer === undefined || size === 0 || originOf(issuer, log) === origin) return ok(found);
  const advice =
    `its name is no longer the issuer's (${originOf(issuer, log)}): partners find the log by it. If the new ` +
    'address is to stay, tvs log new --reason "new address"';
  return warn(found, advice);
}

/** Looks at the pinned checkpoint, and whether the database still has what it was signed for. */
async function checkPinned(figures: LogFigures, store: LogStore, file: string): Promise<Check> {
  const { ok, warn, fail } = checkNamed("log-pinned");
  try {
    const note = openPinnedCheckpoint(file).read();
    if (note === null) return judgeUnpinned(figures, file);
    const loss = await lossSince(treeHeadOf(note), figures, store);
    if (loss !== null) return fail(`the database is behind ${file}: ${loss}`, behindAdvice);
  } catch (error) {
    if (!isTvsError(error)) throw error;
    const advice =
      "move it away, and put a checkpoint in its place that you know to be genuine, a partner's for example";
    return fail(error.message, advice);
  }
  const isOpen = (statSync(file).mode & 0o022) !== 0;
  return isOpen ? warn(`${file} can be written by others`, `chmod 600 ${file}`) : ok(file);
}

/** What of a pinned checkpoint the database cannot show any more; null when it has it all. Appends nothing. */
async function lossSince({ origin, size, root }: TreeHead, figures: LogFigures, store: LogStore) {
  if (!(await store.logs()).some((log) => log.origin === origin)) return `it has no log ${origin}`;
  if (figures.missing > 0) return `the newest ${figures.missing} entries are gone from it`;
  // A later log may have lost some of it, openly.
  if (figures.origin !== origin) return null;
  const reached = figures.size + figures.waiting;
  if (size > reached) return `${size} entries of ${origin} were signed for, and it has ${reached}`;
  // What is still to be appended is compared by whoever appends it.
  if (size > figures.size) return null;
  const found = await rootOrNull(size, store);
  return found !== null && isSameHash(found, root)
    ? null
    : `the first ${size} entries of ${origin} are others`;
}

function judgeUnpinned({ signedSize }: LogFigures, file: string): Check {
  const { ok, warn } = checkNamed("log-pinned");
  if (signedSize === 0) return ok("none yet; it is written with the first checkpoint");
  const advice =
    "tvs serve writes it again, from the database as it is now: if that may be an old copy, first compare it with what a " +
    "partner has";
  return warn(`${file} is missing`, advice);
}

const dayMs = 86_400_000;

/** The oldest attestation that may be deleted, by its signed time in milliseconds since the epoch. */
type OldestAttestation = { readonly id: number; readonly issuedAt: number };

/** @returns null without any that retention may look at */
export async function oldestAttestation({
  deletable,
}: Pick<LogStore, "deletable">): Promise<OldestAttestation | null> {
  const [row] = await deletable(0, 1);
  const signed = row === undefined ? null : readSigned(row.jws);
  return row === undefined || signed === null ? null : { id: row.id, issuedAt: signed.issuedAt * 1000 };
}

/** How long attestations are kept: it deletes evidence, and goes by what the operator has said. */
export function checkRetention(
  stored: ReadonlyMap<string, string>,
  config: Config,
  { oldest, now }: { oldest: OldestAttestation | null; now: number },
): Check {
  const { ok, warn } = checkNamed("retention");
  const retention = stored.get(retentionSetting) ?? keepForever;
  const found = `attestations are kept: ${retention}`;
  const masterKey = masterKeyAtHand(config);
  if (retention === keepForever || masterKey === undefined) return ok(found);
  if (isOwnRetention(retention, stored.get(retentionTagSetting), deriveSecrets(masterKey))) {
    const until = now - (parseRetention(retention) ?? 0) - dayMs;
    if (oldest === null || oldest.issuedAt >= until) return ok(found);
    return warn(
      `${found}, but attestation ${oldest.id} is from ${isoTime(oldest.issuedAt)}`,
      "tvs serve deletes what is old once a minute, and only what the pinned checkpoint proves to be as it was " +
        "signed for: look in its log, then tvs log audit",
    );
  }
  return warn(
    `${found}, which nobody has said with this register's master key: nothing is deleted`,
    `find out who can write to the database, then tvs serve --keep-attestations ${retention}`,
  );
}

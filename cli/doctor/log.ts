/** What `tvs doctor` says of the evidence log (its name, its checkpoints, who else has them, its head) and of the access log. */

import { statSync } from "node:fs";
import { type Config, logHeadFile } from "../../src/config.ts";
import { type Check, checkNamed, ok } from "../../src/domain/checks.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { readSigned } from "../../src/domain/evidence/audit-rows.ts";
import { behindAdvice } from "../../src/domain/evidence/builder.ts";
import { treeHeadOf } from "../../src/domain/evidence/chain.ts";
import { originOf } from "../../src/domain/evidence/epochs.ts";
import { countLeaves, type EvidenceFigures } from "../../src/domain/evidence/figures.ts";
import {
  isOwnRetention,
  retentionSetting,
  retentionTagSetting,
} from "../../src/domain/evidence/retention-mark.ts";
import { rootOf } from "../../src/domain/evidence/tree.ts";
import { keepForever, parseRetention } from "../../src/domain/retention.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import type { TreeHead } from "../../src/partner/log-checkpoint.ts";
import { isSameHash } from "../../src/partner/merkle-proof.ts";
import type { AttestationMaintenance } from "../../src/store/evidence/attestation-maintenance.ts";
import type { EvidenceStore } from "../../src/store/evidence/evidence.ts";
import { openPinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import { masterKeyAtHand } from "../safe/vault.ts";

type Known = { readonly config: Config; readonly issuer: string | undefined };

/** Checks the log's name, and the database against the checkpoint that is kept outside it. */
export async function checkLog(
  figures: EvidenceFigures | null,
  store: EvidenceStore,
  { config, issuer }: Known,
): Promise<Check[]> {
  if (figures === null) return [ok("log", "not opened yet; tvs serve opens it")];
  return [judgeOrigin(figures, issuer), await checkHead(figures, store, logHeadFile(config))];
}

function judgeOrigin({ origin, epoch, size }: EvidenceFigures, issuer: string | undefined): Check {
  const { ok, warn } = checkNamed("log");
  const found = `${origin}, epoch ${epoch}, ${countLeaves(size)}`;
  if (issuer === undefined || size === 0 || originOf(issuer, epoch) === origin) return ok(found);
  const advice =
    `its name is no longer the issuer's (${originOf(issuer, epoch)}): partners find the log by it. If the new ` +
    'address is to stay, tvs log epoch --reason "new address"';
  return warn(found, advice);
}

/** Looks at the checkpoint beside the master key, and whether the database still has what it was signed for. */
async function checkHead(figures: EvidenceFigures, store: EvidenceStore, file: string): Promise<Check> {
  const { ok, warn, fail } = checkNamed("log-head");
  try {
    const note = openPinnedCheckpoint(file).read();
    if (note === null) return judgeNoHead(figures, file);
    const loss = await lossSince(treeHeadOf(note), figures, store);
    if (loss !== null) return fail(`the database is behind ${file}: ${loss}`, behindAdvice);
  } catch (error) {
    if (!isTvsError(error)) throw error;
    const advice =
      "move it away, and put a checkpoint in its place that you know to be genuine, an anchor's for example";
    return fail(error.message, advice);
  }
  const isOpen = (statSync(file).mode & 0o022) !== 0;
  return isOpen ? warn(`${file} can be written by others`, `chmod 600 ${file}`) : ok(file);
}

/** What of a kept checkpoint the database cannot show any more; null when it has it all. Appends nothing. */
async function lossSince(kept: TreeHead, figures: EvidenceFigures, store: EvidenceStore) {
  const { origin, size } = kept;
  const epoch = (await store.epochs()).find((one) => one.origin === origin);
  if (epoch === undefined) return `it has no log ${origin}`;
  const isNewest = epoch.epoch === figures.epoch;
  const reached = epoch.size + (isNewest ? figures.waiting : 0);
  if (isNewest && figures.missing > 0)
    return `the newest ${figures.missing} entries of ${origin} are gone from it`;
  // What is still to be appended is compared by whoever appends it; an epoch that was closed says with what.
  if (size > epoch.size && (size <= reached || !isNewest)) return null;
  if (size > reached) return `${size} entries of ${origin} were signed for, and it has ${reached}`;
  const root = await rootOf(size, store.tiles(epoch.epoch));
  return isSameHash(root, kept.root) ? null : `the first ${size} entries of ${origin} are others`;
}

function judgeNoHead({ signedSize }: EvidenceFigures, file: string): Check {
  const { ok, warn } = checkNamed("log-head");
  if (signedSize === 0) return ok("none yet; it is written with the first checkpoint");
  const advice =
    "tvs serve writes it anew, from the database as it is now: if that may be an old copy, first compare it with an " +
    "anchor or with what a partner has";
  return warn(`${file} is missing`, advice);
}

const dayMs = 86_400_000;

/** The oldest attestation that may be deleted, by its signed time in milliseconds since the epoch. */
type OldestAttestation = { readonly id: number; readonly issuedAt: number };

/** @returns null without any that retention may look at */
export async function oldestAttestation({
  deletable,
}: Pick<AttestationMaintenance, "deletable">): Promise<OldestAttestation | null> {
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
      "tvs serve deletes what is old once a minute, and only what log.checkpoint beside the master key proves to be as it " +
        "was signed for: look in its log, then tvs log audit",
    );
  }
  return warn(
    `${found}, which nobody has said with this register's master key: nothing is deleted`,
    `find out who can write to the database, then tvs serve --keep-attestations ${retention}; a register of an earlier ` +
      "release is taken over by its next tvs serve",
  );
}

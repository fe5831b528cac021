/** The checks of `tvs doctor` on the evidence log: its name, the pinned checkpoint, and the retention of attestations. */

import { statSync } from "node:fs";
import { type Config, pinnedCheckpointPathOf } from "../../src/config.ts";
import { type Finding, fail, type NamedFinding, nameChecks, ok, warn } from "../../src/domain/checks.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { readSignedClaims } from "../../src/domain/evidence/audit-rows.ts";
import { databaseBehindAdvice, describeLostEntries } from "../../src/domain/evidence/checkpoint.ts";
import { formatLeafCount, logOriginOf } from "../../src/domain/evidence/log.ts";
import {
  foreverRetention,
  parseRetention,
  readRetentionSetting,
  retentionSettingName,
} from "../../src/domain/evidence/retention.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import type { LogFigures, LogStore } from "../../src/store/evidence/log.ts";
import { openPinnedCheckpoint } from "../../src/store/evidence/pinned-checkpoint.ts";
import { findMasterKey } from "../safe/vault.ts";

function secretsAtHand(config: Config) {
  const masterKey = findMasterKey(config);
  return masterKey === undefined ? null : deriveSecrets(masterKey);
}

export async function checkEvidenceLog(
  figures: LogFigures | null,
  store: LogStore,
  { config, issuer }: { config: Config; issuer: string | undefined },
): Promise<NamedFinding[]> {
  if (figures === null) return nameChecks({ log: ok("not begun yet; tvs serve begins it") });
  return nameChecks({
    log: checkOrigin(figures, issuer),
    "log-pinned": await checkPinned(figures, store, config),
  });
}

function checkOrigin({ origin, log, size }: LogFigures, issuer: string | undefined): Finding {
  const found = `${origin}, ${formatLeafCount(size)}`;
  if (issuer === undefined || size === 0 || logOriginOf(issuer, log) === origin) return ok(found);
  const advice =
    `its name is no longer the issuer's (${logOriginOf(issuer, log)}): partners find the log by it. If the new ` +
    'address is to stay, tvs log new --reason "new address"';
  return warn(found, advice);
}

async function checkPinned({ signedSize }: LogFigures, store: LogStore, config: Config): Promise<Finding> {
  const file = pinnedCheckpointPathOf(config);
  try {
    const note = openPinnedCheckpoint(file).read();
    const loss = await describeLostEntries(note, { store, secrets: secretsAtHand(config) });
    if (loss !== null) return fail(`the database is behind ${file}: ${loss}`, databaseBehindAdvice);
    if (note === null && signedSize === 0) return ok("none yet; it is written with the first checkpoint");
    if (note === null) {
      const advice =
        "tvs serve writes it again, from the database as it is now: if that may be an old copy, first compare it with " +
        "what a partner has";
      return warn(`${file} is missing`, advice);
    }
  } catch (error) {
    if (!isTvsError(error)) throw error;
    const advice =
      "move it away, and put a checkpoint in its place that you know to be genuine, a partner's for example";
    return fail(error.message, advice);
  }
  const isOpen = (statSync(file).mode & 0o022) !== 0;
  return isOpen ? warn(`${file} can be written by others`, `chmod 600 ${file}`) : ok(file);
}

const dayMs = 86_400_000;

/** Reads the oldest attestation's id and signed time (ms). @returns null if fewer than two exist: the newest is never deleted */
export async function readOldestAttestation(store: LogStore) {
  const [row] = await store.attested(0, 1);
  if (row === undefined || row.id === (await store.lastId())) return null;
  const signed = readSignedClaims(row.jws);
  return signed && { id: row.id, issuedAt: signed.issuedAt * 1000 };
}

/** Checks that the retention of attestations was set with the master key, and that the service deletes attestations by it. */
export function checkAttestationRetention(
  stored: ReadonlyMap<string, string>,
  config: Config,
  { oldest, now }: { oldest: Awaited<ReturnType<typeof readOldestAttestation>>; now: number },
): Finding {
  const secrets = secretsAtHand(config);
  const retention = stored.get(retentionSettingName) ?? foreverRetention;
  const found = `attestations are kept: ${retention}`;
  if (retention === foreverRetention || secrets === null) return ok(found);
  if (!readRetentionSetting(stored, secrets).isAuthentic)
    return warn(
      `${found}, which nobody has said with this register's master key: nothing is deleted`,
      `find out who can write to the database, then tvs serve --keep-attestations ${retention}`,
    );
  const until = now - (parseRetention(retention) ?? 0) - dayMs;
  if (oldest === null || oldest.issuedAt >= until) return ok(found);
  return warn(
    `${found}, but attestation ${oldest.id} is from ${isoTime(oldest.issuedAt)}`,
    "tvs serve deletes what is old once a minute, and only what the pinned checkpoint proves to be as it was " +
      "signed for: look in its log, then tvs log audit",
  );
}

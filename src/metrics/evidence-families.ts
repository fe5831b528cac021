import { type EvidenceFigures, lateAnchors } from "../domain/evidence/figures.ts";
import { byLabel, type Family, gauge, type Sample } from "./families.ts";

/** How the evidence log does; none of it before the log was opened. */
export const evidenceFamilies: readonly Family[] = [
  gauge(
    "tvs_log_epoch",
    "The evidence log's newest tree: 1, and one more each time that a new one had to be begun",
    ofLog(({ epoch }) => epoch),
  ),
  gauge(
    "tvs_log_leaves",
    "Leaves of the newest tree, sequenced, and attestations that are still to be hashed into it, waiting",
    ofLog(({ size, waiting }) => byLabel("state", { sequenced: size, waiting })),
  ),
  gauge(
    "tvs_log_uncovered_seconds",
    "How long the oldest attestation has waited that no checkpoint covers; 0 when none waits",
    ofLog(({ uncoveredSince }, now) =>
      uncoveredSince === null ? 0 : Math.max(0, now - uncoveredSince) / 1000,
    ),
  ),
  gauge(
    "tvs_log_checkpoint_leaves",
    "Leaves that the newest checkpoint covers",
    ofLog(({ signedSize }) => signedSize),
  ),
  gauge(
    "tvs_log_checkpoint_timestamp_seconds",
    "When the newest checkpoint was signed; it grows old while nobody asks",
    ofLog(({ signedAt }) => (signedAt === null ? null : signedAt / 1000)),
  ),
  gauge(
    "tvs_log_anchor_timestamp_seconds",
    "When a checkpoint was last handed out by tvs log anchor, by kind: folder or rfc3161",
    ofLog(({ anchors }) => {
      const byKind = Map.groupBy(anchors, ({ kind }) => kind);
      return [...byKind].map(([kind, those]) => ({
        value: Math.max(...those.map(({ anchoredAt }) => anchoredAt)) / 1000,
        labels: { kind },
      }));
    }),
  ),
  gauge(
    "tvs_log_anchors_late",
    "Places whose last anchor is older than 25 hours although the log has grown since",
    ofLog((log, now) => lateAnchors(log, now).length),
  ),
];

/** A reader that has nothing to tell while the database was not read, or there is no log yet. */
function ofLog(
  read: (log: EvidenceFigures, now: number) => number | null | readonly Sample[],
): Family["read"] {
  return ({ readings, now }) => (readings?.log == null ? null : read(readings.log, now));
}

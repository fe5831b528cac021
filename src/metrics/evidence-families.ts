import type { EvidenceFigures } from "../domain/evidence/figures.ts";
import { byLabel, type Family, type Sample } from "./families.ts";

/** How the evidence log does; none of it before the log was opened. */
export const evidenceFamilies: readonly Family[] = [
  {
    name: "tvs_log_epoch",
    type: "gauge",
    help: "The evidence log's newest tree: 1, and one more each time that a new one had to be begun",
    read: ofLog(({ epoch }) => epoch),
  },
  {
    name: "tvs_log_leaves",
    type: "gauge",
    help: "Leaves of the newest tree, sequenced, and attestations that are still to be hashed into it, waiting",
    read: ofLog(({ size, waiting }) => byLabel("state", { sequenced: size, waiting })),
  },
  {
    name: "tvs_log_uncovered_seconds",
    type: "gauge",
    help: "How long the oldest attestation has waited that no checkpoint covers; 0 when none waits",
    read: ofLog(({ uncoveredSince }, now) =>
      uncoveredSince === null ? 0 : Math.max(0, now - uncoveredSince) / 1000,
    ),
  },
  {
    name: "tvs_log_checkpoint_leaves",
    type: "gauge",
    help: "Leaves that the newest checkpoint covers",
    read: ofLog(({ signedSize }) => signedSize),
  },
  {
    name: "tvs_log_checkpoint_timestamp_seconds",
    type: "gauge",
    help: "When the newest checkpoint was signed; it grows old while nobody asks",
    read: ofLog(({ signedAt }) => (signedAt === null ? null : signedAt / 1000)),
  },
  {
    name: "tvs_log_anchor_timestamp_seconds",
    type: "gauge",
    help: "When a checkpoint was last handed out by tvs log anchor, by kind: folder or rfc3161",
    read: ofLog(({ anchors }) => {
      const byKind = Map.groupBy(anchors, ({ kind }) => kind);
      return [...byKind].map(([kind, those]) => ({
        value: Math.max(...those.map(({ anchoredAt }) => anchoredAt)) / 1000,
        labels: { kind },
      }));
    }),
  },
];

/** A reader that has nothing to tell while the database was not read, or there is no log yet. */
function ofLog(
  read: (log: EvidenceFigures, now: number) => number | null | readonly Sample[],
): Family["read"] {
  return ({ readings, now }) => (readings?.log == null ? null : read(readings.log, now));
}

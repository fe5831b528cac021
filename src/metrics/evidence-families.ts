import type { LogFigures } from "../domain/evidence/figures.ts";
import type { Family, Sample } from "./families.ts";
import type { StateSources } from "./state-families.ts";

/** How the evidence log does; none of it before the log was opened. */
export const logFamilies: readonly Family<StateSources>[] = [
  {
    name: "tvs_log_epoch",
    type: "gauge",
    help: "The evidence log's newest tree: 1, and one more each time that a new one had to be begun",
    read: logSamples((log) => [{ value: log.epoch }]),
  },
  {
    name: "tvs_log_leaves",
    type: "gauge",
    help: "Leaves of the newest tree, sequenced, and attestations that are still to be hashed into it, waiting",
    read: logSamples(({ size, waiting }) => [
      { value: size, labels: { state: "sequenced" } },
      { value: waiting, labels: { state: "waiting" } },
    ]),
  },
  {
    name: "tvs_log_uncovered_seconds",
    type: "gauge",
    help: "How long the oldest attestation has waited that no checkpoint covers; 0 when none waits",
    read: logSamples(({ uncoveredSince }, now) => [
      { value: uncoveredSince === null ? 0 : Math.max(0, now - uncoveredSince) / 1000 },
    ]),
  },
  {
    name: "tvs_log_checkpoint_leaves",
    type: "gauge",
    help: "Leaves that the newest checkpoint covers",
    read: logSamples(({ signedSize }) => [{ value: signedSize }]),
  },
  {
    name: "tvs_log_checkpoint_timestamp_seconds",
    type: "gauge",
    help: "When the newest checkpoint was signed; it grows old while nobody asks",
    read: logSamples(({ signedAt }) => (signedAt === null ? [] : [{ value: signedAt / 1000 }])),
  },
  {
    name: "tvs_log_anchor_timestamp_seconds",
    type: "gauge",
    help: "When a checkpoint was last handed out by tvs log anchor, by kind: folder or rfc3161",
    read: logSamples(({ anchors }) => {
      const byKind = Map.groupBy(anchors, ({ kind }) => kind);
      return [...byKind].map(([kind, those]) => ({
        value: Math.max(...those.map(({ anchoredAt }) => anchoredAt)) / 1000,
        labels: { kind },
      }));
    }),
  },
];

/** A reader that has nothing to tell while the database was not read, or there is no log yet. */
function logSamples(read: (log: LogFigures, now: number) => Sample[]): Family<StateSources>["read"] {
  return ({ readings, now }) => {
    const log = readings?.log ?? null;
    return log === null ? [] : read(log, now);
  };
}

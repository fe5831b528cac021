import type { AnchorFigures, EvidenceFigures } from "../../domain/evidence/figures.ts";
import type { Driver, Row } from "../driver/driver.ts";
import { integer, text } from "../driver/rows.ts";
import type { EvidenceStore } from "./evidence.ts";

/** Of so many anchors, the newest, the places are told: older ones are history. */
const recentAnchors = 200;

/**
 * When the first attestation was signed that no checkpoint of the newest epoch covers; but not before the epoch was
 * opened, as nothing could wait for it until then. Later epochs begin with a leaf that is no attestation.
 */
const uncovered = `SELECT max(opened_at, issued_at * 1000) AS since
  FROM (SELECT first_id - (previous IS NOT NULL) AS at_zero, previous IS NOT NULL AS opening, opened_at
    FROM log_epochs ORDER BY epoch DESC LIMIT 1)
  JOIN attestations ON attestations.id = at_zero + max(?1, opening)`;

const anchors = `SELECT kind, place, epoch, size, max(anchored_at) AS anchored_at FROM log_anchors
  WHERE id > (SELECT max(id) FROM log_anchors) - ?1 GROUP BY kind, place ORDER BY anchored_at DESC, place`;

/** How the evidence log does, from a bounded number of rows; null before the first `serve` has opened it. */
export async function readEvidenceFigures(
  driver: Driver,
  log: Pick<EvidenceStore, "progress">,
): Promise<EvidenceFigures | null> {
  const progress = await log.progress();
  if (progress === null) return null;
  const [waits] = await driver.query(uncovered, [progress.signedSize]);
  return {
    ...progress,
    uncoveredSince: waits === undefined ? null : integer(waits, "since"),
    anchors: (await driver.query(anchors, [recentAnchors])).map(anchorOf),
  };
}

function anchorOf(row: Row): AnchorFigures {
  return {
    kind: text(row, "kind"),
    place: text(row, "place"),
    epoch: integer(row, "epoch"),
    size: integer(row, "size"),
    anchoredAt: integer(row, "anchored_at"),
  };
}

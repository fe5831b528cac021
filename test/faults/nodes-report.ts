/** What the faults of several nodes came to, as a table, and whether every promise was kept. */
import Table from "cli-table3";
import { type Fault, type FaultKind, faultKinds } from "./node-faults.ts";
import type { NodesFindings } from "./nodes.ts";

/** Seconds within which a node without its server says so, and refuses partners (decision D12.3). */
const promised = { unhealthyAfter: 2, refusedAfter: 5 };

/** What must be 0, by its name. */
export function brokenPromises({
  load,
  olderAnswers,
  quietChanges,
  rolling,
  webhooks,
}: NodesFindings): Readonly<Record<string, number>> {
  const { eventsMissing, eventsInvented, pairsNotAcknowledged, requestsInvented } = webhooks;
  return {
    "answers without attestation": load.answeredWithoutAttestation,
    "keys that ran twice": load.keysThatRanTwice,
    "replays that differ": load.replaysThatDiffer,
    "quotas exceeded": load.quotaExceeded,
    "answers not counted": load.answersNotCounted,
    "answers older than a committed change": olderAnswers,
    "the same while no node fails": sum(Object.values(quietChanges.older)) + quietChanges.unexpected.length,
    "events lost": eventsMissing,
    "events invented": eventsInvented,
    "subscribers not told": pairsNotAcknowledged,
    "subscribers told what was not theirs": requestsInvented,
    "webhook bodies that differ": webhooks.bodiesThatDiffer,
    "webhook signatures refused": webhooks.signaturesRefused,
    "delivery ids that differ": webhooks.deliveryIdsThatDiffer,
    "delivered without acknowledgement": webhooks.deliveredWithoutAcknowledgement,
    "deliveries finished twice": webhooks.finishedTwice,
    "deliveries left over": webhooks.leftOver,
    "calls failed by the rolling release": rolling.failed.length,
  };
}

/** The whole account for an operator. A time that was promised and missed breaks a promise too. */
export function reportNodes(findings: NodesFindings): { text: string; isKept: boolean } {
  const broken = brokenPromises(findings);
  const { faults } = findings;
  const late = faults.filter(isLate).length;
  const promises = new Table({ head: ["must be 0", ""], ...plain });
  for (const entry of Object.entries({ ...broken, "faults noticed too late": late })) promises.push(entry);
  const kinds = new Table({ head: heads, ...plain });
  for (const kind of faultKinds) kinds.push(lineOf(kind, faults));
  const { answered, replayed, statusChanges, rolling, webhooks } = findings;
  const text = [
    `${answered} answers, ${replayed} of them replays; ${statusChanges} status changes; ${webhooks.requests} webhook requests; `,
    `${rolling.answered} answers while the next release was rolled out\n\n`,
    `${kinds}\n\n${promises}\n`,
    ...[...findings.quietChanges.unexpected, ...rolling.failed].map((line) => `${line}\n`),
  ].join("");
  return { text, isKept: late + sum(Object.values(broken)) === 0 };
}

const plain = { style: { head: [], border: [] } };
const heads = [
  "fault (seconds: median, greatest)",
  ...["times", "calls failed", "calls fail for", "all answer again after"],
  ...["health 503 after", "partners 503 after"],
];

function lineOf(kind: FaultKind, faults: readonly Fault[]): string[] {
  const these = faults.filter((fault) => fault.kind === kind);
  return [
    kind,
    String(these.length),
    String(sum(these.map(({ failedCalls }) => failedCalls))),
    seconds(these.map(({ felt }) => felt)),
    seconds(these.map(({ healed }) => healed)),
    seconds(these.map(({ unhealthyAfter }) => unhealthyAfter)),
    seconds(these.map(({ refusedAfter }) => refusedAfter)),
  ];
}

function isLate({ unhealthyAfter, refusedAfter }: Fault): boolean {
  return (unhealthyAfter ?? 0) > promised.unhealthyAfter || (refusedAfter ?? 0) > promised.refusedAfter;
}

/** The median and the greatest. */
function seconds(values: readonly (number | null)[]): string {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  return median === undefined ? "-" : `${median.toFixed(1)}, ${sorted.at(-1)?.toFixed(1)}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The plan in words: a table, a chart and what follows from them, as the manual's page `growth` has them. */
import type { Bench } from "../bench.ts";
import { type Form, tableOf } from "../figures.ts";
import { type Outcome, resources, type Uses } from "./layout.ts";
import {
  averagePart,
  type Bar,
  type Comparison,
  callers,
  largestLog,
  makePlan,
  type Plan,
  registers,
  reserve,
  roundTrips,
  server,
  threads,
} from "./plan.ts";

export const planBench: Bench = async ({ figures }) =>
  figures.about("How far does it grow?").show((form) => planText(makePlan(), form));

/** @returns table, chart and answers, parted by empty lines */
export function planText(plan: Plan, form: Form): string {
  const chart = chartOf(plan.bars);
  const { machine, date } = plan.costs;
  const sentences = [
    ...answers(plan),
    ...comparisons(plan.comparisons),
    `The costs are those of ${machine}; ${date}.`,
  ];
  return [
    tableOf(stepsTable(plan), form),
    form === "markdown" ? `\`\`\`text\n${chart}\n\`\`\`` : chart,
    sentences.map((sentence) => `- ${sentence}`).join("\n"),
  ].join("\n\n");
}

const million = 1e6;
const ms = (seconds: number) => figure(seconds * 1000);
const percent = (part: number) => `${(part * 100).toFixed(0)} %`;

/** Three digits of it. */
function figure(value: number): string {
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString("en", { maximumFractionDigits: 1 });
}

function stepsTable({ steps }: Plan): string[][] {
  const [first, ...others] = registers.map((teachers) => `${teachers / million} million`);
  const head = ["checks a second", "primaries", "nodes at each", `p99, ${first} teachers`, ...others];
  const rows = steps.map(({ checksPerSecond, primaries, nodes, outcomes, yearsOfLog }) => [
    figure(checksPerSecond),
    String(primaries),
    String(nodes),
    ...outcomes.map(({ regions: [home] }) => `${ms(home?.p99 ?? 0)} ms`),
    outcomes.map(fullest).at(-1) ?? "",
    lasts(yearsOfLog),
  ]);
  return [[...head, "fullest", "log half full after"], ...rows];
}

function fullestOf({ uses }: Outcome): keyof Uses {
  const names = Object.keys(resources) as (keyof Uses)[];
  return names.reduce((most, name) => (uses[name] > uses[most] ? name : most));
}

function fullest(outcome: Outcome): string {
  const name = fullestOf(outcome);
  return `${resources[name]} ${percent(outcome.uses[name])}`;
}

function lasts(years: number): string {
  return years >= 2 ? `${figure(years)} years` : `${figure(years * 365.25)} days`;
}

const barWidth = 34;
const eighths = " ▏▎▍▌▋▊▉";

function chartOf(bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ outcome }) => outcome.perSecond));
  const lines = bars.map(({ nodes, outcome }) => {
    const width = Math.round((outcome.perSecond / most) * barWidth * 8);
    const bar = "█".repeat(width >> 3) + (width % 8 === 0 ? "" : eighths[width % 8]);
    const rate = figure(outcome.perSecond).padStart(7);
    return `${String(nodes).padStart(5)}  ${bar.padEnd(barWidth)} ${rate}  ${limitOf(outcome)}`;
  });
  return [`nodes  checks a second, ${figure(callers)} callers who wait for their answers`, ...lines].join(
    "\n",
  );
}

function limitOf({ uses, checksInCommit }: Outcome): string {
  return uses.nodes > 0.9 ? "processors full" : `${figure(checksInCommit)} in a commit`;
}

function answers(plan: Plan): string[] {
  return [...onNodes(plan), ...onLog(plan), ...onRegister(plan), ...onRegions(plan)];
}

function onNodes({ steps, bars, idle }: Plan): string[] {
  const alone = steps.filter(({ nodes }) => nodes === 2).map((step) => step.checksPerSecond / step.primaries);
  const onePrimary = steps.filter(({ primaries }) => primaries === 1).at(-1);
  const split = steps.find(({ primaries }) => primaries > 1);
  const best = bars.reduce((one, other) => (other.outcome.perSecond > one.outcome.perSecond ? other : one));
  const last = bars.at(-1) ?? best;
  const share = ({ outcome }: Bar) => figure(outcome.checksInCommit);
  return [
    `Up to ${figure(Math.max(...alone))} checks a second at a primary, one node of ${threads} threads does the work. Run two: every row is simulated with one node away, and with ${percent(reserve - 1)} more calls than it says, as many public look-ups beside them.`,
    `One primary carries ${figure(onePrimary?.checksPerSecond ?? 0)} checks a second, and no longer ${figure(split?.checksPerSecond ?? 0)}.`,
    `What is full first is the nodes’ processors: then add a node. From ${best.nodes} nodes on it is the primary’s commits, which are made one at a time: ${figure(best.outcome.perSecond)} checks a second at most.`,
    `More nodes than needed make it slower: with ${last.nodes} nodes it is ${figure(last.outcome.perSecond)}, because each node commits by itself, and ${share(last)} checks share a commit instead of ${share(best)}.`,
    `${last.nodes} nodes that are hardly called take ${percent(idle.uses.cores)} of the primary’s processor, because each of their threads looks for changes twice a second.`,
  ];
}

function onLog({ steps, costs }: Plan): string[] {
  const perDay = (rate: number) => rate * averagePart * 86_400 * costs.attestationBytes;
  const least = largestLog / (90 * perDay(1));
  const middle = steps.find(({ checksPerSecond }) => checksPerSecond === 1_000);
  return [
    `An attestation takes ${figure(costs.attestationBytes)} bytes. At 1,000 checks a second at the peak, and a tenth of it on average, that is ${figure(perDay(1_000) / 1e9)} GB a day, and after ${lasts(middle?.yearsOfLog ?? 0)} half of what a database file can hold (${figure((2 * largestLog) / 1e12)} TB).`,
    `So a log is full long before its primary is: keep attestations for a time (\`--keep-attestations\`), or split. With 90 days, the least, one primary’s log is enough up to ${figure(least)} checks a second at the peak.`,
    "Split by partner: another primary is another register, with an address and keys of its own, into which every extract is imported too. A partner belongs to one of them, and its keys, its quota and its log stay together there.",
  ];
}

function onRegister({ steps, costs }: Plan): string[] {
  const bytes = registers[2] * costs.teacherBytes;
  const step = steps.find(({ checksPerSecond }) => checksPerSecond === 1_000);
  const p99 = (place: number) => ms(step?.outcomes[place]?.regions[0]?.p99 ?? 0);
  return [
    `${registers[2] / million} million teachers take ${figure(bytes / 1e9)} GB. With ${server.memoryBytes / 1e9} GB of memory their reads wait for the disk: at 1,000 checks a second the p99 is ${p99(2)} ms instead of ${p99(0)}, and a primary carries fewer of them: the table’s primaries are enough for the largest register.`,
  ];
}

function onRegions({ far, steps }: Plan): string[] {
  const [, , distant] = roundTrips;
  const there = far.there.regions[1]?.p50 ?? 0;
  const home = (far.home.regions[0]?.p50 ?? 0) + distant;
  const lookups = steps.flatMap(({ outcomes: [first] }) =>
    (first?.regions ?? []).map(({ lookupP99 }) => lookupP99),
  );
  return [
    `Partners are answered where the primary is: ${ms(distant)} ms away a check takes ${ms(home)} ms when it is sent there, and ${ms(there)} ms when a node nearby answers it, which has to read and to commit over the same way.`,
    `Public look-ups read the primary too. Where the node nearby answers them, from ${ms(distant)} ms away, their p99 is ${ms(Math.max(...lookups))} ms at most in all rows of the table.`,
  ];
}

function comparisons(compared: readonly Comparison[]): string[] {
  return compared.map(({ observed, simulated }) => {
    const { nodes, threads: each, connections, perSecond, p50Ms } = observed;
    const who = `${nodes} node${nodes === 1 ? "" : "s"} of ${each} thread${each === 1 ? "" : "s"}, ${connections} connection${connections === 1 ? "" : "s"} each`;
    const p50 = simulated.regions[0]?.p50 ?? 0;
    return `The model, tried on the machine of the costs (${who}): ${figure(simulated.perSecond)} checks a second where there were ${figure(perSecond)} (${off(simulated.perSecond, perSecond)}), a p50 of ${ms(p50)} ms where it was ${figure(p50Ms)} (${off(p50 * 1000, p50Ms)}).`;
  });
}

function off(simulated: number, real: number): string {
  const part = simulated / real - 1;
  return `${part < 0 ? "−" : "+"}${percent(Math.abs(part))}`;
}

/** What is planned for: the machines, the regions, the rates and the registers, and what the model says of each. */
import { type Costs, measured, measuredCores, type Observed, observed } from "./costs.ts";
import type { Layout, Outcome, Region, Server } from "./layout.ts";
import { simulate } from "./simulation.ts";

const seed = 12;
/** Of a node. */
export const threads = 4;
/** A machine for a libSQL server that serves two requests at once: with more it refuses commits that meet. */
export const server: Server = {
  cores: 8,
  connections: 2,
  memoryBytes: 64e9,
  pageRead: 0.0001,
  pageReads: 200_000,
  diskBytes: 500e6,
  networkBytes: 1.25e9,
};
/** Seconds to the primary and back: from the same data centre, another city, another continent. */
export const roundTrips = [0.0005, 0.02, 0.09] as const;
const rates = [10, 100, 1_000, 3_000, 10_000, 30_000, 100_000];
export const registers = [2e6, 20e6, 200e6] as const;
const nodeCounts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const primaryCounts = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64];
/** A plan must do with a quarter more than it is made for, and answer nearly all calls so soon. */
export const reserve = 1.25;
export const longestWait = 0.5;
/** Callers of the chart, all nodes together. */
export const callers = 2_048;
/** A database file has at most 2^32 pages of 4,096 bytes; half of it is as much as one should plan for. */
export const largestLog = 2 ** 43;
/** A year's average, of the rate at the peak. */
export const averagePart = 0.1;

type Step = {
  readonly checksPerSecond: number;
  readonly primaries: number;
  /** At each primary; one of them may be away. */
  readonly nodes: number;
  /** For each of {@link registers}. */
  readonly outcomes: readonly Outcome[];
  /** Until the log of one primary is as large as one should plan for. */
  readonly yearsOfLog: number;
};
export type Bar = { readonly nodes: number; readonly outcome: Outcome };
export type Comparison = { readonly observed: Observed; readonly simulated: Outcome };

export type Plan = {
  readonly costs: Costs;
  readonly steps: readonly Step[];
  readonly bars: readonly Bar[];
  /** Checks in the farthest region: answered by a node there, and sent to the primary's region. */
  readonly far: { readonly there: Outcome; readonly home: Outcome };
  /** As many nodes as the chart has at most, with hardly a call. */
  readonly idle: Outcome;
  readonly comparisons: readonly Comparison[];
};

type Load = Pick<Layout, "checks"> & Partial<Layout> & { readonly regions: Layout["regions"] };

function run(costs: Costs, load: Load): Outcome {
  return simulate({ costs, seed, teachers: registers[0], server, threads, ...load });
}

/** Nodes at home for partners and a third of the public, and one in each further region for the rest. */
function everywhere(nodes: number, perSecond: number): Layout["regions"] {
  const [home, ...others] = roundTrips.map(
    (roundTrip, place): Region => ({
      nodes: place === 0 ? nodes : 1,
      roundTrip,
      checksPerSecond: place === 0 ? perSecond : 0,
      lookupsPerSecond: perSecond / roundTrips.length,
    }),
  );
  return [home as Region, ...others];
}

const isEnough = ({ perSecond, regions: [home], uses }: Outcome, asked: number) =>
  perSecond >= 0.97 * asked && (home?.p99 ?? 1) <= longestWait && Math.max(...Object.values(uses)) <= 1;

type Asked = { readonly perSecond: number; readonly nodes: number; readonly teachers: number };

/** Each is simulated once: of several primaries each has to do what one had at a part of the rate. */
function createOutcomes(costs: Costs): (asked: Asked) => Outcome {
  const known = new Map<string, Outcome>();
  return ({ perSecond, nodes, teachers }) => {
    const name = `${perSecond} ${nodes} ${teachers}`;
    const checks = Math.round(Math.min(6_000, Math.max(1_000, perSecond * 4)));
    const regions = everywhere(nodes, perSecond);
    const outcome = known.get(name) ?? run(costs, { teachers, checks, regions });
    known.set(name, outcome);
    return outcome;
  };
}

/** The fewest primaries, and the fewest nodes at each, that are enough for the largest register. */
function stepFor(costs: Costs, outcomeOf: (asked: Asked) => Outcome, checksPerSecond: number): Step {
  for (const primaries of primaryCounts) {
    const asked = (checksPerSecond / primaries) * reserve;
    if (asked > mostCommitted(costs)) continue;
    const outcome = (nodes: number, teachers: number) => outcomeOf({ perSecond: asked, nodes, teachers });
    for (const nodes of nodeCounts) {
      if (asked * (costs.signature + costs.check) > nodes * threads) continue;
      const largest = outcome(nodes, registers[2]);
      if (!isEnough(largest, asked)) {
        if (largest.uses.nodes < 0.7) break;
        continue;
      }
      const outcomes = [outcome(nodes, registers[0]), outcome(nodes, registers[1]), largest];
      const bytesOfYear = (checksPerSecond / primaries) * averagePart * 31_557_600 * costs.attestationBytes;
      return { checksPerSecond, primaries, nodes: nodes + 1, outcomes, yearsOfLog: largestLog / bytesOfYear };
    }
  }
  throw new Error(`nothing that was tried is enough for ${checksPerSecond} checks a second`);
}

/** No model is needed to see that more cannot be committed. */
function mostCommitted({ hold }: Costs): number {
  return 1 / (hold.row + hold.base / 128);
}

function barFor(costs: Costs, nodes: number): Bar {
  const home = { nodes, roundTrip: roundTrips[0], checksPerSecond: 0, lookupsPerSecond: 0 };
  const regions: Layout["regions"] = [{ ...home, connections: Math.round(callers / nodes) }];
  return { nodes, outcome: run(costs, { checks: 3 * callers, regions }) };
}

function farAway(costs: Costs): Plan["far"] {
  const perSecond = 500;
  const home = { nodes: 2, roundTrip: roundTrips[0], checksPerSecond: perSecond, lookupsPerSecond: 0 };
  const there = { ...home, nodes: 1, roundTrip: roundTrips[2] };
  return {
    there: run(costs, { checks: 3_000, regions: [home, there] }),
    home: run(costs, { checks: 3_000, regions: [{ ...home, checksPerSecond: 2 * perSecond }] }),
  };
}

/** The machine of the costs, with everything on its own cores, as it was observed. */
function compare(costs: Costs, one: Observed): Comparison {
  const { nodes, connections } = one;
  const region = { nodes, connections, roundTrip: 0.00005, checksPerSecond: 0, lookupsPerSecond: 0 };
  const here = { ...server, cores: measuredCores };
  const layout = { threads: one.threads, teachers: costs.teachers, server: here, oneMachine: measuredCores };
  return { observed: one, simulated: run(costs, { ...layout, checks: 6_000, regions: [region] }) };
}

/** Simulates all of it. The same costs give the same plan. */
export function makePlan(costs: Costs = measured): Plan {
  const most = nodeCounts.at(-1) ?? 1;
  const outcomeOf = createOutcomes(costs);
  return {
    costs,
    steps: rates.map((rate) => stepFor(costs, outcomeOf, rate)),
    bars: [1, 2, 4, 8, 16, 32, 64].map((nodes) => barFor(costs, nodes)),
    far: farAway(costs),
    idle: run(costs, { checks: 60, regions: everywhere(most, 10) }),
    comparisons: observed.map((one) => compare(costs, one)),
  };
}

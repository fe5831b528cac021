/** Load on a layout, and what becomes of it. */
import { numbers } from "../../harness/random.ts";
import { quantile } from "../figures.ts";
import { grownTo } from "./costs.ts";
import { createPlaces, createTimeline } from "./events.ts";
import type { Layout, Outcome, Region } from "./layout.ts";
import {
  both,
  type Counts,
  createNode,
  createPrimary,
  maxActs,
  type Node,
  type Primary,
  type Serve,
  type World,
} from "./model.ts";

/** Each thread looks for changes, and each main thread for deliveries (`cli/serve/open-server.ts`, `delivery/sender.ts`). */
const lookSeconds = 0.5;
/** A node says that it lives. */
const beatSeconds = 2;

/** Calls as they come: at a steady rate with chance in it, or from callers who wait for their answers. */
function createCallers(world: World, below: (limit: number) => number) {
  const { timeline, costs } = world;
  const client = world.oneMachine === undefined ? null : world.machine(1);
  const pause = (perSecond: number) => -Math.log((below(2 ** 24) + 1) / 2 ** 24) / perSecond;
  function atRate(perSecond: number, call: () => void): void {
    if (perSecond > 0)
      timeline.after(
        pause(perSecond),
        both(call, () => atRate(perSecond, call)),
      );
  }
  function again(thread: Serve, answered: (cameAt: number) => void): void {
    const cameAt = timeline.now();
    const ask = () =>
      thread.check(
        both(
          () => answered(cameAt),
          () => again(thread, answered),
        ),
      );
    if (client === null) ask();
    else client.use(costs.client, ask);
  }
  return { atRate, again };
}

type Waits = { readonly checks: number[]; readonly lookups: number[] };

function callRegion(
  world: World,
  { region, nodes, waits }: { region: Region; nodes: readonly Node[]; waits: Waits },
) {
  const { timeline, seed, counts } = world;
  const below = numbers(seed + Math.round(region.roundTrip * 1e6));
  const callers = createCallers(world, below);
  const threads = nodes.flatMap((node) => node.threads);
  const any = () => threads[below(threads.length)] as Serve;
  const answered = (cameAt: number) => {
    counts.answered++;
    waits.checks.push(timeline.now() - cameAt);
  };
  callers.atRate(region.checksPerSecond, () => {
    const cameAt = timeline.now();
    any().check(() => answered(cameAt));
  });
  callers.atRate(region.lookupsPerSecond, () => {
    const cameAt = timeline.now();
    any().lookUp(() => waits.lookups.push(timeline.now() - cameAt));
  });
  for (const node of nodes)
    for (let caller = 0; caller < (region.connections ?? 0); caller++)
      callers.again(node.threads[caller % node.threads.length] as Serve, answered);
}

/** What goes on without any call. */
function idle(
  world: World,
  { region, nodes, primary }: { region: Region; nodes: readonly Node[]; primary: Primary },
) {
  const { timeline, seed } = world;
  const below = numbers(seed);
  function every(seconds: number, act: () => void): void {
    const repeat: () => void = both(act, () => timeline.after(seconds, repeat));
    timeline.after((below(1_000) / 1_000) * seconds, repeat);
  }
  for (const { threads } of nodes) {
    every(beatSeconds, () => primary.beat(region.roundTrip));
    if (threads[0] !== undefined) every(lookSeconds, threads[0].poll);
    for (const { poll } of threads) every(lookSeconds, poll);
  }
}

/** Runs a layout until enough checks are answered. The same layout gives the same outcome. */
export function simulate(layout: Layout): Outcome {
  const timeline = createTimeline();
  const shared = layout.oneMachine === undefined ? null : createPlaces(timeline, layout.oneMachine);
  const counts: Counts = { answered: 0, commits: 0, acts: 0, requests: 0, written: 0, pages: 0 };
  const machine = (cores: number) => shared ?? createPlaces(timeline, cores);
  const below = numbers(layout.seed);
  const vary = (seconds: number) => seconds * (0.5 + below(1_024) / 1_024);
  const world: World = { ...layout, timeline, machine, counts, vary };
  const primary = createPrimary(world);
  const places = layout.regions.map((region) => {
    const way = { primary, roundTrip: region.roundTrip };
    const nodes = Array.from({ length: region.nodes }, () => createNode(world, way));
    return { region, nodes, waits: { checks: [], lookups: [] } as Waits };
  });
  for (const place of places) {
    callRegion(world, place);
    idle(world, { ...place, primary });
  }

  timeline.run(() => counts.answered >= layout.checks / 3);
  const since = timeline.now();
  const used = [
    primary.cores,
    primary.writer,
    ...places.flatMap(({ nodes }) => nodes.map((node) => node.machine)),
  ];
  for (const one of used) one.reset();
  for (const { waits } of places) {
    waits.checks.length = 0;
    waits.lookups.length = 0;
  }
  Object.assign(counts, { answered: 0, commits: 0, acts: 0, requests: 0, written: 0, pages: 0 });
  timeline.run(() => counts.answered >= (layout.checks * 2) / 3);
  return outcomeOf(world, { primary, places, seconds: timeline.now() - since });
}

type Place = { readonly nodes: readonly Node[]; readonly waits: Waits };

function outcomeOf(
  { counts, threads, server, costs, teachers }: World,
  { primary, places, seconds }: { primary: Primary; places: readonly Place[]; seconds: number },
): Outcome {
  const nodeUses = places.flatMap(({ nodes }) =>
    nodes.length === 0
      ? []
      : [nodes.reduce((sum, { machine }) => sum + machine.taken(), 0) / (nodes.length * threads * seconds)],
  );
  const hold = grownTo(costs.hold, { from: costs.teachers, to: teachers });
  return {
    perSecond: counts.answered / seconds,
    writerTaken: primary.writer.taken() / seconds,
    regions: places.map(({ waits: { checks, lookups } }) => ({
      p50: quantile(checks, 0.5),
      p99: quantile(checks, 0.99),
      lookupP99: quantile(lookups, 0.99),
    })),
    uses: {
      nodes: Math.max(...nodeUses),
      cores: primary.cores.taken() / (server.cores * seconds),
      writer: (counts.acts * (hold.base / maxActs + hold.row)) / seconds,
      disk: Math.max(counts.written / server.diskBytes, counts.pages / server.pageReads) / seconds,
      network: counts.written / server.networkBytes / seconds,
    },
    checksInCommit: counts.acts / counts.commits,
    requestsPerCheck: counts.requests / counts.answered,
  };
}

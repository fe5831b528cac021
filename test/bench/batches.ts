import type { Bench, BenchOptions } from "./bench.ts";
import { answered, type LoadPlan, runLoad } from "./load.ts";
import { cores, type MachineLimit, measureLimitFor } from "./machine.ts";
import { addClientShare, addCpu, addPart, measureLoad } from "./measured.ts";
import { inTurn } from "./programs.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegisters } from "./register.ts";
import { warmUpSeconds, withCleanup } from "./setup.ts";

type BatchShape = Required<Pick<LoadPlan, "kind" | "items" | "connections" | "seconds">>;

/** All cores sign, and the few requests that are under way when the time is up are few among those answered. */
export function batchLoad(seconds: number): BatchShape {
  return { kind: "batch", items: 100, connections: 4, seconds: seconds + 2 };
}

const smallItems = 20;
const manyCallers = 64;

/** Batches: many items at once, one caller who waits, and more callers than a count of requests would let in. */
export const batchesBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const seconds = options.isQuick ? 1 : 3;
    for (const one of served) await measureLoad({ ...planFor(one), ...batchLoad(warmUpSeconds(options)) });
    for (let round = 0; round < options.rounds; round++) {
      const limit = await measureLimitFor(options.figures);
      for (const one of inTurn(served, round)) await measureLarge(options, one, { limit, seconds });
      for (const one of inTurn(served, round)) await measureOne(options, one, { limit, seconds });
      for (const one of inTurn(served, round)) await measureMany(options, one, seconds);
    }
  });

type Round = { readonly limit: MachineLimit | null; readonly seconds: number };
const question = "What does an item of a batch cost, and how long does a batch take?";

async function measureLarge(
  { figures }: BenchOptions,
  served: ServedRegister,
  { limit, seconds }: Round,
): Promise<void> {
  const { isEarlier } = served.program;
  const shape = batchLoad(seconds);
  const measured = await measureLoad({ ...planFor(served), ...shape });
  const table = figures.about(question);
  const name = `batch of ${shape.items}, ${shape.connections} connections`;
  const common = { measured, limit, isEarlier, isFull: true, signatures: shape.items };
  table.add(name, { unit: "items/s", isEarlier }, measured.perSecond * shape.items);
  addPart(table, { ...common, name: `${name}: part of the limit` });
  addCpu(table, { ...common, name: `${name}: server CPU an item` });
  table.add(`${name}: p50`, { unit: "ms", isEarlier }, measured.p50Ms);
  addClientShare(table, { ...common, name: `${name}: the load client` });
}

async function measureOne(
  { figures }: BenchOptions,
  served: ServedRegister,
  { limit, seconds }: Round,
): Promise<void> {
  const { isEarlier } = served.program;
  const shape = { kind: "batch", items: smallItems, connections: 1, seconds } as const;
  const measured = await measureLoad({ ...planFor(served), ...shape });
  const table = figures.about(question);
  const name = `batch of ${smallItems}, 1 connection`;
  table.add(`${name}: p50`, { unit: "ms", isEarlier }, measured.p50Ms);
  if (limit === null) return;
  const bestMs = ((smallItems * limit.alone) / cores) * 1000;
  const terms = { unit: "times", isEarlier, limit: `ms (${smallItems} S ÷ ${cores})` };
  table.add(`${name}: p50 ÷ (${smallItems} S ÷ ${cores} cores)`, terms, measured.p50Ms / bestMs, bestMs);
  const cpu = { measured, limit, isEarlier, isFull: false, signatures: smallItems };
  addCpu(table, { ...cpu, name: `${name}: server CPU an item` });
}

/** Refusals are no failure here, but the question. */
async function measureMany(
  { figures }: BenchOptions,
  served: ServedRegister,
  seconds: number,
): Promise<void> {
  const { isEarlier } = served.program;
  const shape = { kind: "batch", items: smallItems, connections: manyCallers, seconds: seconds + 1 } as const;
  const load = await runLoad({ ...planFor(served), ...shape });
  const all = Object.values(load.statuses).reduce((sum, count) => sum + count, load.broken);
  const table = figures.about(question);
  const name = `batch of ${smallItems}, ${manyCallers} callers`;
  table.add(`${name}: answered 200`, { unit: "% of calls", isEarlier }, (answered(load) / all) * 100);
  table.add(name, { unit: "items/s", isEarlier }, (answered(load) * smallItems) / load.seconds);
  table.add(`${name}: p99 of those`, { unit: "ms", isEarlier }, load.p99Ms);
}

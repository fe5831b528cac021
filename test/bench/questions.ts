import { fileURLToPath } from "node:url";
import { startServer, withCleanup } from "./cleanup.ts";
import type { Figures, FigureTable } from "./figures.ts";
import { type LoadPlan, type MeasuredLoad, measureLoad } from "./load.ts";
import { type MachineLimit, measureLimit } from "./machine.ts";
import type { Program, ServedRegister } from "./register.ts";
import { startRival } from "./rivals/rivals.ts";

export type BenchmarkRun = {
  readonly figures: Figures;
  /** This source's program and, if there is one, the other build. */
  readonly programs: readonly Program[];
  readonly served: ServedRegister[];
  readonly rounds: number;
  readonly isQuick: boolean;
};

/** The numbers of connections: 64 keep all cores busy, 1 is a single caller who waits for each answer. */
const connectionCounts = [64, 4, 1] as const;

type Load = Pick<LoadPlan, "connections" | "seconds">;
/** A load to measure, and the name of its figures. */
type Asked = { readonly name: string; readonly plan: LoadPlan; readonly isEarlier: boolean };

/** Calls each server before it is measured: for the first thousands of calls the runtime still compiles the program. */
async function warmUp({ isQuick }: BenchmarkRun, plans: readonly LoadPlan[]): Promise<void> {
  for (const plan of plans) await measureLoad({ ...plan, seconds: isQuick ? 2 : 6 });
}

/** Reverses the order in every other round, so that none of the compared programs is always measured first. */
export function alternateOrder<T>(compared: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? compared : compared.toReversed();
}

/** Makes the loads of one kind, one for each served build. */
function askedOf({ served }: BenchmarkRun, name: string, shape: Pick<LoadPlan, "kind" | "items">) {
  return (load: Load): Asked[] =>
    served.map(({ program: { isEarlier }, url, pid, apiKey, teachers }) => ({
      ...{ name, isEarlier, plan: { url, pid, apiKey, teachers, ...shape, ...load } },
    }));
}

/** Measures single checks, and for comparison OpenSSL's signatures and a rival that makes the same promises. */
export function measureChecks(measuring: BenchmarkRun): Promise<void> {
  return withCleanup(async (cleanup) => {
    const { served, figures } = measuring;
    const table = figures.about("What does a check cost, and how long does it take?");
    const rival = served[0] === undefined ? null : await startRival(served[0], cleanup);
    if (rival === null) table.note("Without Node there is no rival to compare with.");
    const checks = askedOf(measuring, "check", { kind: "check" });
    const name = "check by Fastify with jose and a synced commit";
    const ofRival = ([own]: Asked[]): Asked[] =>
      own === undefined || rival === null ? [] : [{ ...own, name, plan: { ...own.plan, ...rival } }];
    const asked = (load: Load) => [...checks(load), ...ofRival(checks(load))];
    await measureRounds(measuring, { table, signatures: 1, asked });
  });
}

/** Measures batches of 20 checks. */
export function measureBatches(measuring: BenchmarkRun): Promise<void> {
  const items = 20;
  const table = measuring.figures.about("What does a batch of 20 checks cost, and how long does it take?");
  const asked = askedOf(measuring, "batch", { kind: "batch", items });
  return measureRounds(measuring, { table, signatures: items, asked });
}

/** Measures public look-ups, and for comparison the runtime's empty answer. */
export function measureLookups(measuring: BenchmarkRun): Promise<void> {
  return withCleanup(async (cleanup) => {
    const table = measuring.figures.about("What does a public look-up cost, beside an empty answer?");
    const file = fileURLToPath(new URL("./empty.ts", import.meta.url));
    const server = await startServer([process.execPath, file], cleanup);
    const empty = { ...server, kind: "empty", apiKey: "", teachers: 1 } as const;
    const lookups = askedOf(measuring, "look-up", { kind: "lookup" });
    const asked = (load: Load) => [
      ...lookups(load),
      { name: "empty answer", isEarlier: false, plan: { ...empty, ...load } },
    ];
    await measureRounds(measuring, { table, signatures: 0, asked });
  });
}

type Rounds = {
  readonly table: FigureTable;
  /** The number of signatures in an answer; 0: the answer has none, and is not compared with the machine's limit. */
  readonly signatures: number;
  asked(load: Load): readonly Asked[];
};

async function measureRounds(measuring: BenchmarkRun, { table, signatures, asked }: Rounds): Promise<void> {
  const seconds = measuring.isQuick ? 1 : 3;
  await warmUp(
    measuring,
    asked({ connections: connectionCounts[0], seconds: 0 }).map(({ plan }) => plan),
  );
  for (let round = 0; round < measuring.rounds; round++) {
    const limit = signatures > 0 ? await measureLimit() : null;
    if (limit !== null) addLimit(table, limit);
    for (const connections of connectionCounts)
      for (const { name, plan, isEarlier } of alternateOrder(asked({ connections, seconds }), round)) {
        const about = { name: `${name}, ${connections} at a time`, isEarlier, limit, signatures };
        addLoad(table, { ...about, measured: await measureLoad(plan) });
      }
  }
}

function addLimit(table: FigureTable, { alone, perSecond }: MachineLimit): void {
  table.add("S: one RSA-2048 signature by OpenSSL, processor time", { unit: "µs" }, alone * 1e6);
  table.add("openssl speed -multi, all cores", { unit: "signatures/s" }, perSecond);
}

type LoadFigures = Pick<Asked, "name" | "isEarlier"> & {
  readonly limit: MachineLimit | null;
  readonly signatures: number;
  readonly measured: MeasuredLoad;
};

function addLoad(table: FigureTable, { name, isEarlier, limit, signatures, measured }: LoadFigures): void {
  const { perSecond, cpuSeconds, p50Ms, p99Ms } = measured;
  table.add(name, { unit: "answers/s", isEarlier }, perSecond);
  table.add(`${name}: server CPU each`, { unit: "µs", isEarlier }, cpuSeconds * 1e6);
  if (limit !== null) {
    const part = (perSecond * signatures) / limit.perSecond;
    table.add(`${name}: part of openssl -multi`, { unit: "times", isEarlier }, part);
    const inSignatures = cpuSeconds / signatures / limit.alone;
    table.add(`${name}: server CPU for each signature`, { unit: "S", isEarlier }, inSignatures);
  }
  table.add(`${name}: p50`, { unit: "ms", isEarlier }, p50Ms);
  table.add(`${name}: p99`, { unit: "ms", isEarlier }, p99Ms);
}

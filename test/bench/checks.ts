import { scrape } from "./admin-port.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import type { Table } from "./figures.ts";
import type { LoadPlan } from "./load.ts";
import { type MachineLimit, measureLimitFor } from "./machine.ts";
import { addClientShare, addCpu, addPart, type Measured, measureLoad } from "./measured.ts";
import { inTurn } from "./programs.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegisters } from "./register.ts";
import { type Rival, startRivals } from "./rivals/rivals.ts";
import { warmUpSeconds, withCleanup } from "./setup.ts";

/** From all cores at work to one caller who waits for each answer. */
export const connectionCounts = [64, 4, 1] as const;
/** With so many connections all cores sign at once. */
export const fullConnections = 64;

/** Single checks, beside rivals on the same register and what the machine could sign at best. */
export const checksBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const rivals = await startRivals(served[0], cleanup);
    const seconds = options.isQuick ? 1 : 3;
    const warmUp = { connections: fullConnections, seconds: warmUpSeconds(options) };
    for (const one of served) await measureLoad({ ...planFor(one), kind: "check", ...warmUp });
    for (const { url, pid } of rivals) await measureLoad(checkPlan(served[0], { url, pid, ...warmUp }));
    for (let round = 0; round < options.rounds; round++) {
      const limit = await measureLimitFor(options.figures);
      for (const connections of connectionCounts) {
        const shape = { connections, seconds };
        const own = await measureChecks(options, { served: inTurn(served, round), limit, shape });
        // A quick run shows that the rivals run, and no more.
        if (!options.isQuick || connections === fullConnections)
          await measureRivals(options, {
            served: served[0],
            rivals: inTurn(rivals, round),
            limit,
            shape,
            own,
          });
      }
    }
  });

type Shape = Pick<LoadPlan, "connections" | "seconds">;
type Limit = MachineLimit | null;

/** The same question to whoever answers it. @param served whose teachers and partner there are to ask as */
function checkPlan(served: ServedRegister, target: { url: string; pid: number } & Shape): LoadPlan {
  const { url, pid, connections, seconds } = target;
  return { ...planFor(served), kind: "check", url, pid, connections, seconds };
}

/** @returns what the program of this source did */
async function measureChecks(
  { figures }: BenchOptions,
  { served, limit, shape }: { served: readonly ServedRegister[]; limit: Limit; shape: Shape },
): Promise<Measured | null> {
  let own: Measured | null = null;
  for (const one of served) {
    const { isEarlier } = one.program;
    const before = await scrape(one.service);
    const measured = await measureLoad({ ...planFor(one), kind: "check", ...shape });
    const after = await scrape(one.service);
    if (!isEarlier) own = measured;
    const table = figures.about("What does a check cost, and how long does it take?");
    const name = nameOf("check", shape);
    addCheck(table, { name, measured, limit, isEarlier, shape });
    addOfLimit(table, { name, measured, limit, isEarlier, shape });
    addClientShare(table, { name: `${name}: the load client`, measured, isEarlier });
    const groups = figures.about("How many checks share a commit?");
    addGroupSize(groups, { name, before, after, isEarlier });
  }
  return own;
}

function nameOf(who: string, { connections }: Shape): string {
  return `${who}, ${connections} connection${connections === 1 ? "" : "s"}`;
}

type CheckFigures = {
  readonly name: string;
  readonly measured: Measured;
  readonly limit: Limit;
  readonly isEarlier: boolean;
  readonly shape: Shape;
};

function addCheck(table: Table, { name, measured, limit, isEarlier, shape }: CheckFigures): void {
  const isFull = shape.connections === fullConnections;
  const common = { measured, limit, isEarlier, isFull };
  table.add(name, { unit: "checks/s", isEarlier }, measured.perSecond);
  addCpu(table, { ...common, name: `${name}: server CPU each` });
  table.add(`${name}: p50`, { unit: "ms", isEarlier }, measured.p50Ms);
  table.add(`${name}: p99`, { unit: "ms", isEarlier }, measured.p99Ms);
}

/** The rate as a part of the machine's, and where callers wait for each answer, the wait in signatures. */
function addOfLimit(table: Table, { name, measured, limit, isEarlier, shape }: CheckFigures): void {
  if (limit === null) return;
  if (shape.connections === fullConnections) {
    const terms = { measured, limit, isEarlier, isFull: true };
    addPart(table, { ...terms, name: `${name}: part of the limit` });
    return;
  }
  const terms = { unit: "S", isEarlier, limit: "µs (S)" };
  table.add(`${name}: p50 in signatures`, terms, measured.p50Ms / 1000 / limit.alone, limit.alone * 1e6);
}

/** The same requests, a moment later. */
async function measureRivals(
  { figures }: BenchOptions,
  {
    served,
    rivals,
    limit,
    shape,
    own,
  }: { served: ServedRegister; rivals: readonly Rival[]; limit: Limit; shape: Shape; own: Measured | null },
): Promise<void> {
  const table = figures.about("What do others need for the same check, on a copy of the same register?");
  table.note(
    "A rival whose commit is not synced may lose answered checks when the power fails; tvs and the synced ones may not.",
  );
  for (const rival of rivals) {
    const measured = await measureLoad(checkPlan(served, { ...rival, ...shape }));
    const name = nameOf(rival.name, shape);
    addCheck(table, { name, measured, limit, isEarlier: false, shape });
    if (own === null) continue;
    table.add(`${name}: tvs ÷ it, checks/s`, { unit: "times" }, own.perSecond / measured.perSecond);
  }
}

type Scraped = Readonly<Record<string, number>>;

/** How many checks share a commit, from the service's own counters. */
function addGroupSize(
  table: Table,
  { name, before, after, isEarlier }: { name: string; before: Scraped; after: Scraped; isEarlier: boolean },
): void {
  const grown = (counter: string) => (after[counter] ?? Number.NaN) - (before[counter] ?? Number.NaN);
  const checks = grown("tvs_commit_group_size_sum") / grown("tvs_commit_group_size_count");
  table.add(`${name}: checks in a commit`, { unit: "checks", isEarlier }, checks);
}

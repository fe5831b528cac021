import type { Bench, BenchOptions } from "./bench.ts";
import { type MachineLimit, measureLimit, memoryMb } from "./machine.ts";
import { type Measured, measureLoad } from "./measured.ts";
import { type ServedRegister, serveRegister } from "./register.ts";
import { type Rival, startRivals } from "./rivals/rivals.ts";
import { withCleanup } from "./setup.ts";

/** The register that the targets speak of. */
export const registerSize = 200_000;
const quickRegisterSize = 20_000;
const connections = 64;
const batchItems = 100;
const batchConnections = 4;

export function registerSizeFor({ isQuick }: Pick<BenchOptions, "isQuick">): number {
  return isQuick ? quickRegisterSize : registerSize;
}

/** Few long requests: those that are under way when the time is up have to be few among those that are answered. */
export function batchLoad(seconds: number) {
  return { kind: "batch", connections: batchConnections, seconds: seconds + 2 } as const;
}

/** What partners and the public call, beside two rivals and what the machine could sign at best. */
export const checksBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const { figures, rounds, isQuick } = options;
    const tvs = await serveRegister(registerSizeFor(options), cleanup);
    const rivals = await startRivals(tvs, cleanup);
    const plan = { apiKey: tvs.apiKey, teachers: tvs.teachers, connections, seconds: isQuick ? 1 : 3 };
    const warmUp = { ...plan, kind: "check", seconds: 1 } as const;
    await measureLoad(tvs.service.pid, { ...warmUp, url: tvs.service.url });
    for (const { url, pid } of rivals) await measureLoad(pid, { ...warmUp, url });
    for (let round = 0; round < rounds; round++) {
      const limit = measureLimit();
      addLimit(options, limit);
      const check = await measureLoad(tvs.service.pid, { ...plan, kind: "check", url: tvs.service.url });
      addCheck(options, "eligibility check", { measured: check, limit, isJudged: true });
      await measureRivals(options, { rivals, plan, limit, own: check });
      await measureOthers(options, tvs, { plan, limit });
      const peak = memoryMb(tvs.service.pid).peak;
      figures.add("memory, the most under load", { unit: "MB", goal: { atMost: 240 } }, peak);
    }
  });

type Limit = MachineLimit | null;
type Plan = {
  readonly apiKey: string;
  readonly teachers: number;
  readonly connections: number;
  readonly seconds: number;
};

function addLimit({ figures }: BenchOptions, limit: Limit): void {
  if (limit === null) return;
  const { oneCore, allCores } = limit.sign;
  figures.add("OpenSSL alone, RSA-2048, one core", { unit: "signatures/s" }, oneCore);
  figures.add("OpenSSL alone, RSA-2048, all cores", { unit: "signatures/s" }, allCores);
}

function addCheck(
  { figures }: BenchOptions,
  who: string,
  { measured, limit, isJudged }: { measured: Measured; limit: Limit; isJudged: boolean },
): void {
  const name = `${who}, ${connections} connections`;
  figures.add(`${name}`, { unit: "requests/s" }, measured.perSecond);
  figures.add(`${name}, p99`, { unit: "ms" }, measured.p99Ms);
  if (limit === null) return;
  const cpu = { unit: "signatures", limit: "µs a signature", ...(isJudged && { goal: { atMost: 1.3 } }) };
  figures.add(`${name}, server CPU`, cpu, measured.cpuSeconds * limit.sign.oneCore, 1e6 / limit.sign.oneCore);
  if (!isJudged) return;
  const terms = { unit: "of the limit", limit: "signatures/s", goal: { atLeast: 0.7 } };
  figures.add(`${name}, speed`, terms, measured.perSecond / limit.sign.allCores, limit.sign.allCores);
}

/** The same requests, a moment later. */
async function measureRivals(
  options: BenchOptions,
  { rivals, plan, limit, own }: { rivals: readonly Rival[]; plan: Plan; limit: Limit; own: Measured },
): Promise<void> {
  for (const { name, url, pid } of rivals) {
    const measured = await measureLoad(pid, { ...plan, kind: "check", url });
    addCheck(options, name, { measured, limit, isJudged: false });
    const terms = { unit: "times", goal: { atLeast: 1 } };
    options.figures.add(`eligibility check ÷ ${name}, requests/s`, terms, own.perSecond / measured.perSecond);
  }
}

async function measureOthers(
  { figures }: BenchOptions,
  { service }: ServedRegister,
  { plan, limit }: { plan: Plan; limit: Limit },
): Promise<void> {
  const batch = await measureLoad(service.pid, { ...plan, ...batchLoad(plan.seconds), url: service.url });
  const items = batch.perSecond * batchItems;
  const name = `batch of ${batchItems}, ${batchConnections} connections`;
  figures.add(name, { unit: "items/s" }, items);
  if (limit !== null) {
    const { oneCore, allCores } = limit.sign;
    const cpu = { unit: "signatures", limit: "µs a signature", goal: { atMost: 1.1 } };
    const perItem = (batch.cpuSeconds / batchItems) * oneCore;
    figures.add(`${name}, server CPU an item`, cpu, perItem, 1e6 / oneCore);
    const speed = { unit: "of the limit", limit: "signatures/s", goal: { atLeast: 0.85 } };
    figures.add(`${name}, speed`, speed, items / allCores, allCores);
  }
  const lookup = await measureLoad(service.pid, { ...plan, kind: "lookup", url: service.url });
  const lookupName = `public lookup, ${connections} connections`;
  figures.add(lookupName, { unit: "requests/s", goal: { atLeast: 45_000 } }, lookup.perSecond);
  figures.add(`${lookupName}, server CPU`, { unit: "µs", goal: { atMost: 28 } }, lookup.cpuSeconds * 1e6);
}

import type { FigureTerms, Table } from "./figures.ts";
import { answered, clientShare, type LoadPlan, type LoadResult, requireAnswers, runLoad } from "./load.ts";
import type { MachineLimit } from "./machine.ts";

export type Measured = LoadResult & {
  /** Answers with status 200. */
  readonly perSecond: number;
  /** Processor time of the service for one of them, over all its threads, in seconds. */
  readonly cpuSeconds: number;
};

/** Runs a load on a service that has to answer all of it, and reads from the operating system what an answer cost. */
export async function measureLoad(plan: LoadPlan): Promise<Measured> {
  const load = await runLoad(plan);
  requireAnswers(plan, load);
  const count = answered(load);
  return { ...load, perSecond: count / load.seconds, cpuSeconds: load.serverCpuSeconds / count };
}

/** What is added for a load, whoever answered it. */
type LoadFigures = {
  readonly name: string;
  readonly measured: Measured;
  readonly limit: MachineLimit | null;
  readonly isEarlier: boolean;
  /** Whether all cores sign under this load: its signatures are those of `openssl speed -multi`. */
  readonly isFull: boolean;
  /** Signatures in an answer. */
  readonly signatures?: number;
};

/** Processor time of one signature's worth of an answer, in signatures. */
export function addCpu(
  table: Table,
  { name, measured, limit, isEarlier, isFull, signatures = 1 }: LoadFigures,
): void {
  if (limit === null) return;
  const terms: FigureTerms = { unit: isFull ? "L" : "S", isEarlier, limit: isFull ? "µs (L)" : "µs (S)" };
  const unitSeconds = isFull ? limit.together : limit.alone;
  table.add(name, terms, measured.cpuSeconds / signatures / unitSeconds, unitSeconds * 1e6);
}

/** The part of what OpenSSL signs with all cores, which is also what the client and the kernel leave of them. */
export function addPart(
  table: Table,
  { name, measured, limit, isEarlier, signatures = 1 }: LoadFigures,
): void {
  if (limit === null) return;
  const { allCores } = limit.sign;
  const terms = { unit: "of openssl -multi", isEarlier, limit: "signatures/s" };
  table.add(name, terms, (measured.perSecond * signatures) / allCores, allCores);
}

export function addClientShare(
  table: Table,
  { name, measured, isEarlier }: Pick<LoadFigures, "name" | "measured" | "isEarlier">,
): void {
  table.add(name, { unit: "% of all cores", isEarlier }, clientShare(measured) * 100);
}

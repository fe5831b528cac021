import { type LoadPlan, type LoadResult, runLoad } from "./load.ts";
import { cpuSeconds } from "./machine.ts";

export type Measured = LoadResult & {
  readonly perSecond: number;
  /** Processor time of the service for one answer, over all its threads, in seconds. */
  readonly cpuSeconds: number;
};

/** Runs a load on a service and reads from the operating system what an answer cost it. */
export async function measureLoad(pid: number, plan: LoadPlan): Promise<Measured> {
  const before = cpuSeconds(pid);
  const load = await runLoad(plan);
  const used = cpuSeconds(pid) - before;
  return { ...load, perSecond: load.requests / load.seconds, cpuSeconds: used / load.requests };
}

import { fileURLToPath } from "node:url";
import { sleep } from "../harness/eventually.ts";
import { cores } from "./machine.ts";
import type { Kind } from "./requests.ts";

export type LoadPlan = {
  readonly url: string;
  /** The process that is called. */
  readonly pid: number;
  readonly kind: Kind;
  /** Checks in a batch. */
  readonly items?: number;
  /** Which documents. */
  readonly paths?: readonly string[];
  readonly apiKey: string;
  /** How many teachers there are to ask for. */
  readonly teachers: number;
  readonly connections: number;
  readonly seconds: number;
  /** A steady rate; as fast as the connections allow when left out. */
  readonly perSecond?: number;
};

export type LoadResult = {
  /** How many answers came with each status, in the time that is measured. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Connections that broke while an answer was owed, and answers that never came. */
  readonly broken: number;
  readonly seconds: number;
  /** Of the answers with status 200. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the client, in seconds. */
  readonly clientCpuSeconds: number;
  /** Processor time of the process that was called, over all its threads, in the same seconds. */
  readonly serverCpuSeconds: number;
};

const client = fileURLToPath(new URL("./client.ts", import.meta.url));

/**
 * Sends requests for random teachers over connections that stay open, from another process.
 * @param enough ends the load before its time
 */
export async function runLoad(plan: LoadPlan, enough?: Promise<unknown>): Promise<LoadResult> {
  const child = Bun.spawn([process.execPath, client, JSON.stringify(plan)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  enough?.then(
    () => child.kill(),
    () => child.kill(),
  );
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const found = /^LOAD (.*)$/m.exec(stdout)?.[1];
  if (found === undefined) throw new Error(`the load client failed: ${stderr}`);
  return JSON.parse(found) as LoadResult;
}

/** By then a load that runs beside something is under way. */
const underWayMs = 700;
/** Longer than anything that a load runs beside. */
const longEnoughSeconds = 3_600;

/**
 * Does something while a service is under a load that began before it and ends after it.
 * @throws Error when a request of that load failed
 */
export async function runBeside<T>(plan: LoadPlan, act: () => Promise<T>): Promise<T> {
  const { promise: enough, resolve: end } = Promise.withResolvers<void>();
  const load = runLoad({ ...plan, seconds: longEnoughSeconds }, enough);
  // Whatever it fails of is told below, where it is waited for.
  load.catch(() => {});
  try {
    await sleep(underWayMs);
    return await act();
  } finally {
    end();
    requireAnswers(plan, await load);
  }
}

/** @throws Error when a request failed: figures of failures are not figures of the service */
export function requireAnswers({ kind }: Pick<LoadPlan, "kind">, { statuses, broken }: LoadResult): void {
  const { 200: good = 0, ...others } = statuses;
  if (good === 0 || broken > 0 || Object.keys(others).length > 0)
    throw new Error(`${kind}: answers by status ${JSON.stringify(statuses)}, ${broken} broken`);
}

export function answered({ statuses }: LoadResult): number {
  return statuses[200] ?? 0;
}

/** What the client took of all cores, which the service did not have. */
export function clientShare({ clientCpuSeconds, seconds }: LoadResult): number {
  return clientCpuSeconds / seconds / cores;
}

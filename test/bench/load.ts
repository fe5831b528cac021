import { fileURLToPath } from "node:url";

export type LoadPlan = {
  readonly url: string;
  /** The id of the server's process. */
  readonly pid: number;
  /** What each request is: a check, a batch of checks, a public look-up, or `/` of the server of `empty.ts`. */
  readonly kind: "check" | "batch" | "lookup" | "empty";
  /** The number of checks in a batch. */
  readonly items?: number;
  readonly apiKey: string;
  /** The number of teachers in the register. */
  readonly teachers: number;
  readonly connections: number;
  readonly seconds: number;
};

export type LoadResult = {
  /** The number of answers with each status in the measured time. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The number of requests that were not answered, or whose connection broke. */
  readonly broken: number;
  readonly seconds: number;
  /** Percentiles of the time until an answer with status 200. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of all threads of the server's process in the measured time. */
  readonly serverCpuSeconds: number;
};

export type MeasuredLoad = LoadResult & {
  /** Answers with status 200. */
  readonly perSecond: number;
  /** Processor time of the server for one answer, in seconds. */
  readonly cpuSeconds: number;
};

const client = fileURLToPath(new URL("./client.ts", import.meta.url));

/**
 * Measures a server under the load of another process, which asks for random teachers over connections that stay open.
 * @throws Error if a request failed, because a failure takes another time than an answer
 */
export async function measureLoad(plan: LoadPlan): Promise<MeasuredLoad> {
  const words = [process.execPath, client, JSON.stringify(plan)];
  const child = Bun.spawn(words, { stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const found = /^LOAD (.*)$/m.exec(stdout)?.[1];
  if (found === undefined) throw new Error(`the load client failed: ${stderr}`);
  const load = JSON.parse(found) as LoadResult;
  const { statuses, broken, seconds, serverCpuSeconds } = load;
  const { 200: good = 0, ...others } = statuses;
  if (good === 0 || broken > 0 || Object.keys(others).length > 0)
    throw new Error(`${plan.kind}: answers by status ${JSON.stringify(statuses)}, ${broken} broken`);
  return { ...load, perSecond: good / seconds, cpuSeconds: serverCpuSeconds / good };
}

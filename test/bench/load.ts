import { fileURLToPath } from "node:url";

/** What is asked for: a check, a batch of them, a public look-up, or `/` of a bare server. */
export type Kind = "check" | "batch" | "lookup" | "empty";

export type LoadPlan = {
  readonly url: string;
  /** The process that is called. */
  readonly pid: number;
  readonly kind: Kind;
  /** Checks in a batch. */
  readonly items?: number;
  readonly apiKey: string;
  /** How many teachers there are to ask for. */
  readonly teachers: number;
  readonly connections: number;
  readonly seconds: number;
};

export type LoadResult = {
  /** How many answers came with each status in the measured time. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Connections that broke while an answer was due, and answers that never came. */
  readonly broken: number;
  readonly seconds: number;
  /** Of the answers with status 200. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the called process with all its threads, in those seconds. */
  readonly serverCpuSeconds: number;
};

export type Measured = LoadResult & {
  /** Answers with status 200. */
  readonly perSecond: number;
  /** Processor time of the service for one of them, in seconds. */
  readonly cpuSeconds: number;
};

const client = fileURLToPath(new URL("./client.ts", import.meta.url));

/**
 * Sends requests for random teachers from another process, over connections that stay open.
 * @throws Error when a request failed: figures of failures are not figures of the service
 */
export async function measureLoad(plan: LoadPlan): Promise<Measured> {
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

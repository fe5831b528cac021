import { fileURLToPath } from "node:url";

export type LoadPlan = {
  readonly url: string;
  readonly kind: "check" | "batch" | "lookup";
  readonly apiKey: string;
  /** How many teachers there are to ask for. */
  readonly teachers: number;
  readonly connections: number;
  readonly seconds: number;
  /** A steady rate; as fast as the connections allow when left out. */
  readonly perSecond?: number;
};

export type LoadResult = {
  readonly requests: number;
  readonly failed: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

const driverFile = fileURLToPath(new URL("./driver.ts", import.meta.url));
const wrkScript = fileURLToPath(new URL("./load.lua", import.meta.url));

export function driverName(): string {
  return Bun.which("wrk") === null ? "this project's own driver (wrk is not installed)" : "wrk";
}

/**
 * Sends requests for random teachers over connections that stay open, from another process.
 * @throws Error when a request failed: figures of failures are not figures of the service
 */
export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const words = plan.perSecond === undefined && Bun.which("wrk") !== null ? wrkWords(plan) : ownWords(plan);
  const child = Bun.spawn([...words], { stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const found = /^LOAD (.*)$/m.exec(stdout)?.[1];
  if (found === undefined) throw new Error(`the load driver failed: ${stderr}`);
  const result = JSON.parse(found) as LoadResult;
  if (result.failed > 0 || result.requests === 0)
    throw new Error(`${result.failed} of ${result.requests} requests failed (${plan.kind})`);
  return result;
}

function wrkWords({ url, kind, apiKey, teachers, connections, seconds }: LoadPlan): string[] {
  const shape = ["-t", "1", "-c", String(connections), "-d", `${seconds}s`, "--timeout", "10s"];
  return ["wrk", ...shape, "-s", wrkScript, url, "--", kind, String(teachers), apiKey];
}

function ownWords(plan: LoadPlan): string[] {
  return [process.execPath, driverFile, JSON.stringify(plan)];
}

import { fileURLToPath } from "node:url";
import type { Kind } from "./requests.ts";

export type LoadPlan = {
  readonly url: string;
  readonly kind: Kind;
  readonly apiKey: string;
  /** How many teachers there are to ask for. */
  readonly teachers: number;
  readonly connections: number;
  readonly seconds: number;
  /** A steady rate; as fast as the connections allow when left out. */
  readonly perSecond?: number;
};

export type LoadResult = {
  /** Answered ones. */
  readonly requests: number;
  readonly failed: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export function driverName(): string {
  return Bun.which("wrk") === null ? "autocannon (wrk is not installed)" : "wrk";
}

/**
 * Sends requests for random teachers over connections that stay open, from another process.
 * @param enough ends a load with a steady rate before its time
 * @throws Error when a request failed: figures of failures are not figures of the service
 */
export async function runLoad(plan: LoadPlan, enough?: Promise<unknown>): Promise<LoadResult> {
  const child = Bun.spawn(wordsFor(plan), { stdout: "pipe", stderr: "pipe" });
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
  if (found === undefined) throw new Error(`the load driver failed: ${stderr}`);
  const result = JSON.parse(found) as LoadResult;
  if (result.failed > 0 || result.requests === 0)
    throw new Error(`${result.failed} of ${result.requests} requests failed (${plan.kind})`);
  return result;
}

function wordsFor(plan: LoadPlan): string[] {
  const { url, kind, apiKey, teachers, connections, seconds, perSecond } = plan;
  if (perSecond !== undefined) return [process.execPath, fileOf("./steady.ts"), JSON.stringify(plan)];
  if (Bun.which("wrk") === null) return [process.execPath, fileOf("./autocannon.ts"), JSON.stringify(plan)];
  const shape = ["-t", "1", "-c", String(connections), "-d", `${seconds}s`, "--timeout", "10s"];
  return ["wrk", ...shape, "-s", fileOf("./load.lua"), url, "--", kind, String(teachers), apiKey];
}

/**
 * A load driver for where wrk is not installed, and for a steady rate, which wrk does not know. It runs in a process
 * of its own, so that what it costs is not counted as the service's. Its plan is one JSON argument.
 */
import { Agent, request } from "node:http";
import { quantile } from "./figures.ts";
import type { LoadPlan, LoadResult } from "./load.ts";

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan;
const agent = new Agent({ keepAlive: true, maxSockets: plan.connections });
const latenciesMs: number[] = [];
let failed = 0;

function check() {
  const number = String(1 + Math.floor(Math.random() * plan.teachers)).padStart(6, "0");
  return { identifier: { regNo: `TR/2020/LA/${number}` }, purpose: "GENERAL_PUBLIC_VERIFICATION" };
}

function nextRequest(): { path: string; body: string | null } {
  if (plan.kind === "lookup")
    return { path: `/teacher/verify-license?searchTerm=${check().identifier.regNo}`, body: null };
  if (plan.kind === "check")
    return { path: "/v1/inter-agency/eligibility-check", body: JSON.stringify(check()) };
  return {
    path: "/v1/inter-agency/batch",
    body: JSON.stringify({ items: Array.from({ length: 100 }, check) }),
  };
}

/** @param sinceMs when it was to begin: a request that had to wait for its turn took so much longer */
function send(sinceMs: number): Promise<void> {
  const { path, body } = nextRequest();
  const method = body === null ? "GET" : "POST";
  const headers = { Authorization: `Bearer ${plan.apiKey}`, "Content-Type": "application/json" };
  return new Promise((resolve) => {
    const end = (isGood: boolean) => {
      latenciesMs.push(performance.now() - sinceMs);
      if (!isGood) failed++;
      resolve();
    };
    const call = request(new URL(path, plan.url), { agent, method, headers }, (response) => {
      response.resume();
      response.once("end", () => end(response.statusCode === 200));
    });
    call.once("error", () => end(false));
    call.end(body ?? undefined);
  });
}

async function asFastAsPossible(endMs: number): Promise<void> {
  const one = async () => {
    while (performance.now() < endMs) await send(performance.now());
  };
  await Promise.all(Array.from({ length: plan.connections }, one));
}

async function atRate(perSecond: number, endMs: number): Promise<void> {
  const startMs = performance.now();
  const under: Promise<void>[] = [];
  for (let n = 0; startMs + (n * 1000) / perSecond < endMs; n++) {
    const dueMs = startMs + (n * 1000) / perSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    under.push(send(performance.now()));
  }
  await Promise.all(under);
}

const startMs = performance.now();
const endMs = startMs + plan.seconds * 1000;
await (plan.perSecond === undefined ? asFastAsPossible(endMs) : atRate(plan.perSecond, endMs));
const result: LoadResult = {
  requests: latenciesMs.length,
  failed,
  seconds: (performance.now() - startMs) / 1000,
  p50Ms: quantile(latenciesMs, 0.5),
  p99Ms: quantile(latenciesMs, 0.99),
};
process.stdout.write(`LOAD ${JSON.stringify(result)}\n`);
agent.destroy();

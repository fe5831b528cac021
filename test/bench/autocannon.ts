/** As fast as the connections allow, for where wrk is not installed. Its plan is one JSON argument. */
import autocannon from "autocannon";
import type { LoadPlan, LoadResult } from "./load.ts";
import { randomRequest } from "./requests.ts";

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan;
const headers = { authorization: `Bearer ${plan.apiKey}`, "content-type": "application/json" };

const done = await autocannon({
  url: plan.url,
  connections: plan.connections,
  duration: plan.seconds,
  requests: [
    { setupRequest: (request) => ({ ...request, headers, ...randomRequest(plan.kind, plan.teachers) }) },
  ],
});
const result: LoadResult = {
  requests: done["2xx"],
  failed: done.errors + done.non2xx,
  seconds: done.duration,
  p50Ms: done.latency.p50,
  p99Ms: done.latency.p99,
};
process.stdout.write(`LOAD ${JSON.stringify(result)}\n`);

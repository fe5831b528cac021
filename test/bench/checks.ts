import type { Bench } from "./bench.ts";
import { runLoad } from "./load.ts";
import { cpuSeconds, measureSignatures } from "./machine.ts";
import { makeFolder, serveRegister, withCleanup } from "./world.ts";

const teachers = 20_000;
const connections = 64;
const batchItems = 100;

/** What partners and the public call, against what the machine could sign at best. */
export const checksBench: Bench = ({ figures, rounds, isQuick }) =>
  withCleanup(async (cleanup) => {
    const { service, apiKey } = await serveRegister(await makeFolder(cleanup), { teachers, cleanup });
    const seconds = { check: isQuick ? 1 : 2, other: 1 };
    const shared = { url: service.url, apiKey, teachers };
    await runLoad({ ...shared, kind: "check", connections, seconds: 1 });
    for (let round = 0; round < rounds; round++) {
      const limit = isQuick && round > 0 ? null : measureSignatures();
      if (limit !== null) {
        figures.add("OpenSSL alone, RSA-2048, one core", { unit: "signatures/s" }, limit.single);
        figures.add("OpenSSL alone, RSA-2048, two cores", { unit: "signatures/s" }, limit.both);
      }
      const before = cpuSeconds(service.pid);
      const check = await runLoad({ ...shared, kind: "check", connections, seconds: seconds.check });
      const cpu = (cpuSeconds(service.pid) - before) / check.requests;
      const name = "eligibility check, 64 connections";
      figures.add(name, { unit: "requests/s" }, check.requests / check.seconds);
      figures.add(`${name}, p50`, { unit: "ms" }, check.p50Ms);
      figures.add(`${name}, p99`, { unit: "ms" }, check.p99Ms);
      figures.add(`${name}, CPU of the service`, { unit: "µs/request" }, cpu * 1e6);
      const perSecond = figures.median("OpenSSL alone, RSA-2048, one core");
      if (!Number.isNaN(perSecond))
        figures.add(`${name}, CPU of the service in signatures`, { unit: "RSA-2048" }, cpu * perSecond);
      const batch = await runLoad({ ...shared, kind: "batch", connections: 8, seconds: seconds.other });
      const items = (batch.requests * batchItems) / batch.seconds;
      figures.add("batch of 100, 8 connections", { unit: "items/s" }, items);
      figures.add("batch of 100, 8 connections, p99", { unit: "ms" }, batch.p99Ms);
      const lookup = await runLoad({ ...shared, kind: "lookup", connections, seconds: seconds.other });
      figures.add("public look-up, 64 connections", { unit: "requests/s" }, lookup.requests / lookup.seconds);
      figures.add("public look-up, 64 connections, p99", { unit: "ms" }, lookup.p99Ms);
    }
  });

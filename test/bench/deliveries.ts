import type { Operator } from "../../cli/open.ts";
import { sleep } from "../harness/eventually.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import { quantile } from "./figures.ts";
import { cpuSeconds } from "./machine.ts";
import {
  type Cleanup,
  dataDirIn,
  folderUntilCleanup,
  hold,
  makeEvents,
  noticeMs,
  openStores,
  serve,
  startServer,
  subscribe,
  withCleanup,
} from "./setup.ts";

/** The table of all that is about webhooks. */
export const question = "How are webhooks delivered, and what do they cost the rest?";

/** A service over endpoints that are all at one receiver, with these paths. */
async function serveEndpoints({ programs: [own] }: BenchOptions, paths: readonly string[], cleanup: Cleanup) {
  const dataDir = dataDirIn(await folderUntilCleanup(cleanup));
  const { url: receiver } = await startServer(["./receiver.ts"], cleanup);
  const operator = await openStores(dataDir, cleanup);
  await subscribe(
    operator,
    paths.map((path) => `${receiver}${path}`),
  );
  return { operator, service: await serve(own, { dataDir, cleanup }) };
}

/** Waits until so many deliveries stand in the database as delivered, those of earlier rounds included. */
async function untilDelivered({ driver }: Operator, count: number): Promise<void> {
  for (;;) {
    const [row] = await driver.query("SELECT count(*) AS n FROM deliveries WHERE state = 'delivered'");
    if (Number(row?.n) >= count) return;
    await sleep(100);
  }
}

/** Deliveries that wait are let go: from the first attempt's begin to the last one's record in the database. */
export const drainBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const { figures, rounds, isQuick } = options;
    const endpoints = 10;
    const events = isQuick ? 150 : 600;
    const { operator } = await serveEndpoints(options, Array(endpoints).fill("/hook"), cleanup);
    for (let round = 0; round < rounds; round++) {
      await hold(operator, true);
      await sleep(noticeMs);
      await makeEvents(operator, events);
      const begun = Date.now();
      await hold(operator, false);
      await untilDelivered(operator, (round + 1) * events * endpoints);
      const [row] = await operator.driver.query(
        "SELECT max(finished_at) - (SELECT min(at) FROM delivery_attempts WHERE at >= ?) AS ms FROM deliveries",
        [begun],
      );
      const rate = (events * endpoints * 1000) / Number(row?.ms);
      const name = `webhooks drained to ${endpoints} endpoints`;
      figures.about(question).add(name, { unit: "deliveries/s" }, rate);
    }
  });

/** One of fifty endpoints accepts and never answers; the others are told of changes as these happen. */
export const silentBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const { figures, rounds, isQuick } = options;
    const endpoints = 50;
    const events = isQuick ? 5 : 10;
    const paths = Array.from({ length: endpoints }, (_, index) => (index === 0 ? "/silent" : "/hook"));
    const { operator, service } = await serveEndpoints(options, paths, cleanup);
    // Its drain would wait for the endpoint that never answers.
    cleanup(async () => {
      service.signal("SIGKILL");
      await service.exited;
    });
    for (let round = 0; round < rounds; round++) {
      const begun = Date.now();
      for (let event = 0; event < events; event++) {
        await makeEvents(operator, 1);
        await sleep(50);
      }
      await untilDelivered(operator, (round + 1) * events * (endpoints - 1));
      const rows = await operator.driver.query(
        "SELECT finished_at - created_at AS ms FROM deliveries WHERE state = 'delivered' AND created_at >= ?",
        [begun],
      );
      const delays = rows.map((row) => Number(row.ms));
      const name = "delay of 49 endpoints beside a silent one";
      const table = figures.about(question);
      table.add(`${name}, median`, { unit: "ms" }, quantile(delays, 0.5));
      table.add(`${name}, p99`, { unit: "ms" }, quantile(delays, 0.99));
    }
  });

/** What a service costs that has endpoints and nothing to do. */
export const idleBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const { figures, rounds, isQuick } = options;
    const { service } = await serveEndpoints(options, Array(50).fill("/hook"), cleanup);
    await sleep(500);
    for (let round = 0; round < rounds; round++) {
      const before = cpuSeconds(service.pid);
      const startMs = performance.now();
      await sleep(isQuick ? 1_000 : 3_000);
      const percent = ((cpuSeconds(service.pid) - before) / (performance.now() - startMs)) * 100_000;
      figures.about(question).add("idle service with 50 endpoints", { unit: "% of a core" }, percent);
    }
  });

import { randomUUID } from "node:crypto";
import type { Operator } from "../../cli/open.ts";
import { sleep } from "../harness/eventually.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import { question } from "./deliveries.ts";
import { quantile } from "./figures.ts";
import { requireAnswers, runLoad } from "./load.ts";
import type { Program } from "./programs.ts";
import { makeRegister, planFor, type ServedRegister, serveRegister } from "./register.ts";
import {
  type Cleanup,
  hold,
  makeEvents,
  noticeMs,
  openStores,
  serve,
  startServer,
  subscribe,
  withCleanup,
} from "./setup.ts";

const endpoints = 50;
const teachers = 2_000;
/** What the sender holds for one endpoint at most. */
const claimLimit = 32;
const claimsInRound = 200;
const leaseMs = 60_000;

type Backlog = ServedRegister & { readonly operator: Operator };

/** Two services of one kind: one has half a million deliveries to make, the other none. */
export const backlogBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const pending = options.isQuick ? 50_000 : 500_000;
    const [own] = options.programs;
    const bare = await serveRegister(own, { teachers, cleanup });
    const loaded = await serveBacklog(own, cleanup);
    for (let round = 0; round < options.rounds; round++) {
      await fillUp(loaded.operator, pending);
      await measureClaims(loaded.operator, pending, options);
      await measureChecks(bare, loaded, { pending, options });
    }
  });

async function serveBacklog(own: Program, cleanup: Cleanup): Promise<Backlog> {
  const register = await makeRegister(own, { teachers, cleanup });
  const { url: receiver } = await startServer(["./receiver.ts"], cleanup);
  const operator = await openStores(register.dataDir, cleanup);
  await hold(operator, true);
  await subscribe(operator, Array(endpoints).fill(`${receiver}/hook`));
  const service = await serve(own, { dataDir: register.dataDir, cleanup });
  return { ...register, program: own, operator, service, url: service.url, pid: service.pid };
}

/** Makes up for what the round before has sent. */
async function fillUp(operator: Operator, pending: number): Promise<void> {
  const [row] = await operator.driver.query("SELECT count(*) AS n FROM deliveries WHERE state = 'pending'");
  await makeEvents(operator, Math.ceil((pending - Number(row?.n)) / endpoints));
}

/** Claims as a sender makes them, for one endpoint and for all of them at once; each is given back after it. */
async function measureClaims(
  { stores: { outbox } }: Operator,
  pending: number,
  { figures }: BenchOptions,
): Promise<void> {
  const one: number[] = [];
  const all: number[] = [];
  const requestFor = (index: number, limit: number) => ({ partnerId: `hook-${index}`, limit, except: [] });
  const claim = async (requests: ReturnType<typeof requestFor>[], times: number[]) => {
    const now = Date.now();
    const startMs = performance.now();
    const claims = await outbox.lease(requests, { token: randomUUID(), now, until: now + leaseMs });
    times.push(performance.now() - startMs);
    if (claims.length === 0) throw new Error("nothing was left to claim");
    await outbox.release(claims, now);
  };
  for (let n = 0; n < claimsInRound; n++) await claim([requestFor(n % endpoints, claimLimit)], one);
  // The sender holds 512 at most; with every endpoint empty-handed, that is about ten for each.
  const ofAll = Array.from({ length: endpoints }, (_, index) => requestFor(index, 10));
  for (let n = 0; n < claimsInRound / 4; n++) await claim(ofAll, all);
  const name = `claim of ${claimLimit} for an endpoint, ${pending.toLocaleString("en")} pending`;
  const table = figures.about(question);
  table.add(`${name}, p50`, { unit: "ms" }, quantile(one, 0.5));
  table.add(`${name}, p99`, { unit: "ms" }, quantile(one, 0.99));
  table.add(`claim of 500 for ${endpoints} endpoints at once, p50`, { unit: "ms" }, quantile(all, 0.5));
  table.add(`claim of 500 for ${endpoints} endpoints at once, p99`, { unit: "ms" }, quantile(all, 0.99));
}

/** A steady load on the service without a backlog, on the one with it at rest, and while it works it off. */
async function measureChecks(
  bare: ServedRegister,
  loaded: Backlog,
  { pending, options: { figures, isQuick } }: { pending: number; options: BenchOptions },
): Promise<void> {
  const steady = {
    kind: "check",
    connections: 16,
    seconds: isQuick ? 1 : 3,
    perSecond: 200,
  } as const;
  const p99Of = async (served: ServedRegister) => {
    const plan = { ...planFor(served), ...steady };
    const load = await runLoad(plan);
    requireAnswers(plan, load);
    return load.p99Ms;
  };
  const none = await p99Of(bare);
  const waiting = await p99Of(loaded);
  await hold(loaded.operator, false);
  await sleep(noticeMs);
  const draining = await p99Of(loaded);
  await hold(loaded.operator, true);
  await sleep(noticeMs);
  const backlog = `${pending.toLocaleString("en")} pending`;
  const name = "eligibility check at 200/s, p99";
  const table = figures.about(question);
  table.add(`${name}, no backlog`, { unit: "ms" }, none);
  table.add(`${name}, ${backlog}, held`, { unit: "ms" }, waiting);
  table.add(`${name}, ${backlog}, being sent`, { unit: "ms" }, draining);
  table.add(`${name}: held ÷ no backlog`, { unit: "times" }, waiting / none);
  table.add(`${name}: being sent ÷ no backlog`, { unit: "times" }, draining / none);
}

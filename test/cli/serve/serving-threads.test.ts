import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { Worker } from "node:worker_threads";
import { openService } from "../../../cli/serve/open-service.ts";
import { startServingThreads } from "../../../cli/serve/serving-threads.ts";
import { createApp } from "../../../src/app.ts";
import { readServeConfig } from "../../../src/config.ts";
import type { TvsError } from "../../../src/domain/errors.ts";
import { shareOfThread } from "../../../src/http/limits.ts";
import { listen } from "../../../src/http/listen.ts";
import { configureLog } from "../../../src/logger.ts";
import { until } from "../../harness/eventually.ts";
import { makeFolder } from "../../harness/folder.ts";
import { aTeacherWrite } from "../../harness/samples.ts";
import { makeRegister } from "../../harness/service.ts";
import { type DyingThreadData, dooms } from "./dying-thread.ts";

setDefaultTimeout(60_000);

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  configureLog(() => {});
});

/** The real service with the real supervisor, whose further threads die when they are told to. */
async function openThreads(threads: number, waits: Parameters<typeof startServingThreads>[0]["waits"] = {}) {
  const folder = await makeFolder();
  closers.push(folder.remove);
  await makeRegister(folder.path);
  const lines: string[] = [];
  configureLog((line) => lines.push(line));
  const config = readServeConfig({ data: folder.path, signers: String(threads - 1) }, {});
  const lost = Promise.withResolvers<TvsError>();
  const open = await openService(config, { defaultIssuer: "https://teachers.example", onLost: lost.resolve });
  closers.push(open.close);
  await open.operator.stores.teachers.apply([aTeacherWrite("A/B/C/1")]);
  const app = createApp(open.service, { ...config, addressCounts: open.memory.addresses });
  const listener = await listen(app, { host: "127.0.0.1", port: 0, sharing: "first" });
  closers.push(listener.close);
  const doomOf = new SharedArrayBuffer(4 * threads);
  const data: Omit<DyingThreadData, "thread"> = {
    config,
    memory: open.memory,
    settings: open.operator.settingsInForce,
    keyKind: open.operator.keyKind,
    signing: { engine: open.signingEngine.name },
    demo: undefined,
    logLevel: "info",
    ports: { host: "127.0.0.1", port: listener.port },
    dooms: doomOf,
  };
  const entry = new URL("./dying-thread.ts", import.meta.url);
  const supervisor = await startServingThreads({
    threads,
    start: (thread) => new Worker(entry, { workerData: { ...data, thread } }),
    onCalls: open.takeCalls,
    onDeath: open.forget,
    onLost: lost.resolve,
    clock: open.operator.clock,
    waits,
  });
  closers.push(supervisor.close);
  closers.push(supervisor.drain);
  const doom = new Int32Array(doomOf);
  return {
    supervisor,
    lines,
    lost: lost.promise,
    doom(thread: number, what: keyof typeof dooms): void {
      Atomics.store(doom, thread, dooms[what]);
      Atomics.notify(doom, thread);
    },
    isHung: (thread: number) => Atomics.load(doom, thread) === dooms.hung,
    /** The statuses of calls on connections of their own; 0 for one that was lost. */
    call: (count: number) =>
      Promise.all(
        Array.from({ length: count }, () =>
          fetch(`${listener.url}/v1/inter-agency/health`, { keepalive: false }).then(
            ({ status }) => status,
            () => 0,
          ),
        ),
      ),
    countedCalls: () => open.metrics.requests.counts().reduce((sum, { count }) => sum + count, 0),
  };
}

test("a thread that dies under load is told of, counted and replaced, and the others answer meanwhile", async () => {
  const { supervisor, lines, doom, call, countedCalls } = await openThreads(3);
  expect(supervisor.figures()).toEqual({ serving: 3, deaths: 0, lastDeathAt: null });
  const load = { ends: false, statuses: [] as number[] };
  const loading = (async () => {
    while (!load.ends) load.statuses.push(...(await call(8)));
  })();
  await until(() => load.statuses.length > 50);
  doom(2, "fails");
  await until(() => supervisor.figures().deaths === 1);
  doom(2, "lives");
  const seen = load.statuses.length;
  await until(() => load.statuses.length > seen + 50 && supervisor.figures().serving === 3);
  load.ends = true;
  await loading;
  expect(load.statuses.filter((status) => status === 200).length).toBeGreaterThan(100);
  expect(new Set(load.statuses).size).toBeLessThanOrEqual(2);
  expect(supervisor.figures()).toMatchObject({ deaths: 1, lastDeathAt: expect.any(Number) });
  const told = lines.find((line) => line.includes("a serving thread died"));
  expect(JSON.parse(told ?? "{}")).toMatchObject({ level: "ERROR", thread: 2, detail: "Error: doomed" });
  expect(await call(60)).toEqual(Array.from({ length: 60 }, () => 200));
  expect(countedCalls()).toBeGreaterThanOrEqual(load.statuses.filter((status) => status === 200).length + 60);
});

test("a thread that dies with the database's lock in hand ends the process, which alone gives it back", async () => {
  const { lost, doom } = await openThreads(2);
  doom(1, "failsWithLock");
  expect(await lost).toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: "a serving thread died while it had the database's lock",
  });
});

test("threads that keep dying end the process", async () => {
  const { lost, doom, supervisor } = await openThreads(2);
  doom(1, "fails");
  expect(await lost).toMatchObject({ message: "the serving threads keep dying" });
  expect(supervisor.figures()).toMatchObject({ serving: 1, deaths: 6 });
});

test("a thread that hangs ends the process: what the kernel gives it is never answered", async () => {
  const { lost, doom, lines } = await openThreads(3, { lookMs: 200 });
  doom(2, "hangs");
  expect(await lost).toMatchObject({ message: "a serving thread does not answer any more" });
  const told = lines.find((line) => line.includes("a serving thread hangs"));
  expect(JSON.parse(told ?? "{}")).toMatchObject({ level: "ERROR", thread: 2 });
  doom(2, "lives");
});

test("a thread that hangs does not keep the others from ending", async () => {
  const { supervisor, doom, isHung } = await openThreads(3, { drainMs: 500, closeMs: 500 });
  doom(1, "hangs");
  await until(() => isHung(1));
  await supervisor.drain();
  await supervisor.close();
  expect(supervisor.figures()).toMatchObject({ serving: 1, deaths: 0 });
});

test("what one listener may hold is shared out among the threads, rounded up", () => {
  const shares = [1, 2, 3, 64].map(shareOfThread);
  expect(shares.map(({ maxConnections }) => maxConnections)).toEqual([10_000, 5_000, 3_334, 157]);
  expect(shares.map(({ maxConnectionsPerAddress }) => maxConnectionsPerAddress)).toEqual([
    1_000, 500, 334, 16,
  ]);
  const mebibytes = shares.map(({ maxHeldBytes }) => Math.round(maxHeldBytes / 1024 / 1024));
  expect(mebibytes).toEqual([64, 32, 21, 8]);
});

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { v7 as uuidv7 } from "uuid";
import type { Call, CallFilter } from "../../src/domain/calls.ts";
import { uuidFrom } from "../../src/domain/clock.ts";
import { configureLog } from "../../src/log.ts";
import { createCallLog } from "../../src/store/call-log.ts";
import { callRow, openCallReader } from "../../src/store/call-log-file.ts";
import { type CallBatch, createCallWriter, writeCallsInThread } from "../../src/store/call-log-writer.ts";
import { until } from "../harness/eventually.ts";
import { makeFolder } from "../harness/folder.ts";

const dayMs = 86_400_000;
const entry = new URL("../../cli/main.ts", import.meta.url);

let folder: string;
let remove: () => Promise<void>;
let file: string;
let logged: Record<string, unknown>[];
beforeEach(async () => {
  ({ path: folder, remove } = await makeFolder());
  file = join(folder, "tvs-calls.db");
  logged = [];
  configureLog((line) => logged.push(JSON.parse(line)));
});
afterEach(async () => {
  configureLog(() => {});
  await remove();
});

function aCall(changes: Partial<Call> = {}): Call {
  return {
    requestId: uuidv7(),
    route: "/v1/inter-agency/lookup/by-tid/{tId}",
    method: "GET",
    status: 403,
    partnerId: "agency",
    keyId: "abcdefghijkl",
    ms: 1.25,
    error: "SCOPE_MISSING",
    replayed: false,
    ...changes,
  };
}

const batchOf = (calls: readonly Call[], dropped = 0): CallBatch => ({
  rows: JSON.stringify(calls.map(callRow)),
  dropped,
});
/** Calls that arrived at a time, in their order. */
const callsAt = (time: number, count: number) =>
  Array.from({ length: count }, (_, n) =>
    aCall({ requestId: uuidFrom(time).replace(/.{12}$/, n.toString(16).padStart(12, "0")) }),
  );

async function read<T>(act: (calls: Awaited<ReturnType<typeof openCallReader>>) => T): Promise<T> {
  const calls = await openCallReader(file);
  try {
    return act(calls);
  } finally {
    calls.close();
  }
}
const kept = () => read((calls) => calls.list({ limit: 100_000 }));

/** A log whose file is written in place. */
const openLog = () => createCallLog({ write: createCallWriter(file), end: async () => {} });

describe("the access log's file", () => {
  test("is for its owner alone, and gives back each call as it was", async () => {
    const umask = process.umask(0);
    try {
      const write = createCallWriter(file);
      const calls = [
        aCall(),
        aCall({ status: 401, partnerId: null, keyId: null, error: null, replayed: true }),
      ];
      expect(await write(batchOf(calls))).toEqual({ more: false, failure: null });
      for (const name of [file, `${file}-wal`, `${file}-shm`])
        expect(statSync(name).mode & 0o777).toBe(0o600);
      expect(await kept()).toEqual(calls.map((call) => ({ ...call, ms: 1.3 })).reverse());
      expect(await read((log) => log.find(calls[0]?.requestId ?? ""))).toMatchObject({ status: 403 });
      expect(await read((log) => log.find(uuidv7()))).toBeNull();
    } finally {
      process.umask(umask);
    }
  });

  test("is looked through by partner, status and time", async () => {
    const now = Date.now();
    const old = callsAt(now - dayMs, 1).map((call) => ({ ...call, status: 200 }));
    const others = [aCall({ partnerId: "other", status: 429 }), aCall({ status: 500 })];
    await createCallWriter(file)(batchOf([...old, ...others]));
    const statuses = (filter: CallFilter) => read((calls) => calls.list(filter).map(({ status }) => status));
    expect(await statuses({ limit: 9 })).toEqual([500, 429, 200]);
    expect(await statuses({ limit: 9, partnerId: "other" })).toEqual([429]);
    expect(await statuses({ limit: 9, statuses: { first: 400, last: 499 } })).toEqual([429]);
    expect(await statuses({ limit: 9, since: now - 1_000 })).toEqual([500, 429]);
    expect(await statuses({ limit: 1 })).toEqual([500]);
  });

  test("forgets a call after fourteen days, step by step", async () => {
    const now = Date.now();
    let at = now;
    const write = createCallWriter(file, { now: () => at });
    await write(batchOf(callsAt(now, 9_000)));
    await write(batchOf([aCall({ requestId: uuidFrom(now + dayMs) })]));
    at = now + 14 * dayMs;
    expect(await write(batchOf([]))).toEqual({ more: false, failure: null });
    expect(await kept()).toHaveLength(9_001);
    at += 1;
    expect((await write(batchOf([]))).more).toBe(true);
    expect(await kept()).toHaveLength(1_001);
    while ((await write(batchOf([]))).more);
    expect(await kept()).toMatchObject([{ requestId: uuidFrom(now + dayMs) }]);
  });

  test("never outgrows its limit, journal included: the oldest calls go, and the newest stay", async () => {
    const mebibyte = 1024 * 1024;
    const limits = { keepMs: 14 * dayMs, maxBytes: 10 * mebibyte, maxJournalBytes: 8 * mebibyte };
    const now = Date.now();
    const write = createCallWriter(file, { limits, now: () => now });
    let written = 0;
    let largest = 0;
    for (let round = 0; round < 400; round++) {
      const { failure } = await write(batchOf(callsAt(now - 1_000_000 + round, 100)));
      if (failure === null) written += 100;
      largest = Math.max(largest, statSync(file).size + statSync(`${file}-wal`).size);
    }
    expect(written).toBe(40_000);
    expect(largest).toBeLessThanOrEqual(limits.maxBytes);
    const left = await kept();
    expect(left.length).toBeGreaterThan(3_000);
    expect(left[0]?.requestId.slice(0, 13)).toBe(uuidFrom(now - 1_000_000 + 399).slice(0, 13));
  });

  test("is begun anew when it was moved away while the service writes it", async () => {
    const write = createCallWriter(file);
    await write(batchOf([aCall({ status: 200 })]));
    await rename(file, `${file}.old`);
    expect((await write(batchOf([aCall({ status: 401 })]))).failure).toBeNull();
    expect(await kept()).toMatchObject([{ status: 401 }]);
  });

  test("that is none is not made by who only reads", async () => {
    expect(await read(() => {}).catch((error) => error)).toMatchObject({
      code: "INPUT_UNREADABLE",
      message: expect.stringContaining("serve --access-log"),
    });
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, "no database".repeat(1_000));
    expect(await read(() => {}).catch((error) => error)).toMatchObject({ code: "INPUT_UNREADABLE" });
  });
});

describe.if(existsSync("/proc/self/fd"))("a file that fails and fails", () => {
  const descriptors = () => readdirSync("/proc/self/fd").length;

  test.each([
    ["because it is damaged", () => writeFileSync(file, "no database".repeat(1_000))],
    ["because it has a table of another shape", () => new Database(file).exec("CREATE TABLE calls (a)")],
  ])("takes no descriptors: %s", async (_why, spoil) => {
    spoil();
    let at = 0;
    const write = createCallWriter(file, { now: () => at });
    await write(batchOf([]));
    const before = descriptors();
    for (let round = 0; round < 100; round++) {
      at += 10_000;
      expect((await write(batchOf([aCall()]))).failure).toBeString();
    }
    expect(descriptors() - before).toBeLessThan(20);
  });
});

describe("the access log", () => {
  test("takes a call without writing it, and has written all of them when it is closed", async () => {
    const log = openLog();
    const calls = Array.from({ length: 5_000 }, () => aCall());
    for (const call of calls) log.observe(call);
    expect(log.figures()).toMatchObject({ written: 0, dropped: 0 });
    await log.close();
    expect(log.figures()).toEqual({ written: 5_000, dropped: 0, failure: null });
    expect(await kept()).toHaveLength(5_000);
    expect(logged).toEqual([]);
  });

  test("is written by a thread of its own", async () => {
    const log = createCallLog(
      writeCallsInThread(new Worker(entry, { workerData: { role: "call-writer", file } })),
    );
    for (let n = 0; n < 2_500; n++) log.observe(aCall());
    await log.close();
    expect(log.figures()).toEqual({ written: 2_500, dropped: 0, failure: null });
    expect(await kept()).toHaveLength(2_500);
  });

  test("holds a bounded number of calls, and says how many it had to drop: in the log and in the file", async () => {
    const goOn = Promise.withResolvers<void>();
    const write = createCallWriter(file);
    const log = createCallLog({
      write: (batch) => goOn.promise.then(() => write(batch)),
      end: async () => {},
    });
    for (let n = 0; n < 25_000; n++) log.observe(aCall());
    expect(log.figures().dropped).toBe(5_000);
    goOn.resolve();
    await log.close();
    expect(log.figures()).toEqual({ written: 20_000, dropped: 5_000, failure: null });
    expect(await read((calls) => calls.dropped(0))).toBe(5_000);
    expect(logged).toMatchObject([{ message: "calls are missing from the access log", dropped: 5_000 }]);
  });

  test("says once that its file cannot be written, goes on, and writes again when it can", async () => {
    mkdirSync(file);
    let at = 0;
    const log = createCallLog({
      write: createCallWriter(file, { now: () => Date.now() + at }),
      end: async () => {},
    });
    for (let n = 0; n < 3; n++) {
      log.observe(aCall());
      await until(() => log.figures().dropped === n + 1);
    }
    expect(log.figures()).toMatchObject({ written: 0, failure: expect.stringContaining(file) });
    expect(logged.filter(({ level }) => level === "ERROR")).toHaveLength(1);
    rmSync(file, { recursive: true });
    at = 60_000;
    log.observe(aCall());
    await until(() => log.figures().written === 1);
    expect(log.figures().failure).toBeNull();
    expect(logged.at(-1)).toMatchObject({ message: "the access log is written again" });
    await log.close();
    expect(await kept()).toHaveLength(1);
    expect(await read((calls) => calls.dropped(0))).toBe(3);
  });

  test.each([
    ["is damaged", () => writeFileSync(file, "no database".repeat(1_000))],
    ["has a table of another shape", () => new Database(file).exec("CREATE TABLE calls (a)")],
    [
      "may not be written",
      () => {
        writeFileSync(file, "");
        chmodSync(folder, 0o700);
        mkdirSync(`${file}-wal`);
      },
    ],
  ])("drops and counts where its file %s", async (_what, spoil) => {
    spoil();
    const log = openLog();
    log.observe(aCall());
    await log.close();
    expect(log.figures()).toMatchObject({ written: 0, dropped: 1, failure: expect.any(String) });
  });

  test("drops and counts when its thread has died, and can still be closed", async () => {
    const log = createCallLog(
      writeCallsInThread(new Worker(entry, { workerData: { role: "none that there is" } })),
    );
    log.observe(aCall());
    await until(() => log.figures().dropped === 1);
    expect(log.figures()).toMatchObject({
      written: 0,
      failure: expect.stringContaining("none that there is"),
    });
    await log.close();
  });
});

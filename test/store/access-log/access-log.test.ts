import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { type Call, type CallFilter, describeCall } from "../../../src/domain/calls.ts";
import { isoTime, uuidFrom } from "../../../src/domain/clock.ts";
import { configureLog } from "../../../src/logger.ts";
import { createCallLog } from "../../../src/store/access-log/access-log.ts";
import { type CallFiles, openCallFiles } from "../../../src/store/access-log/files.ts";
import { readCalls } from "../../../src/store/access-log/reader.ts";
import { until } from "../../harness/eventually.ts";
import { makeFolder } from "../../harness/folder.ts";
import { rejection } from "../../harness/rejection.ts";

const dayMs = 86_400_000;
const now = Date.parse("2026-03-15T12:00:00Z");

let temporary: string;
let remove: () => Promise<void>;
let folder: string;
let logged: Record<string, unknown>[];
beforeEach(async () => {
  ({ path: temporary, remove } = await makeFolder());
  folder = join(temporary, "calls");
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
const aStranger = (changes: Partial<Call> = {}) =>
  aCall({ partnerId: null, keyId: null, status: 401, error: "CREDENTIAL_REQUIRED", ...changes });
/** A request id of a time. */
const idAt = (time: number, n = 0) => uuidFrom(time).replace(/.{12}$/, n.toString(16).padStart(12, "0"));
const linesOf = (calls: readonly Call[]) =>
  calls.map((call) => `${JSON.stringify(describeCall(call))}\n`).join("");

const find = (filter: Partial<CallFilter> = {}) => readCalls(folder, { limit: 100_000, ...filter });
const kept = async (filter: Partial<CallFilter> = {}) => (await find(filter)).calls;
const names = () => readdirSync(folder).sort();
const openLog = () => createCallLog(openCallFiles(folder));

describe("the access log's files", () => {
  test("are lines of JSON by day, of partners and of strangers, for their owner alone", async () => {
    const umask = process.umask(0);
    try {
      const files = openCallFiles(folder, { now: () => now });
      const call = aCall({ requestId: idAt(now) });
      await files.append("partners", linesOf([call]));
      await files.append("strangers", linesOf([aStranger()]));
      expect(names()).toEqual(["2026-03-15-partners.jsonl", "2026-03-15-strangers.jsonl"]);
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      for (const name of names()) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
      const text = readFileSync(join(folder, "2026-03-15-partners.jsonl"), "utf8");
      expect(JSON.parse(text)).toEqual({ time: isoTime(now), ...call, ms: 1.3 });
    } finally {
      process.umask(umask);
    }
  });

  test("go when their last call is fourteen days old, and what is not theirs stays", async () => {
    mkdirSync(folder);
    const days = ["2026-02-28", "2026-03-01", "2026-03-14"];
    for (const day of days) writeFileSync(join(folder, `${day}-partners.jsonl`), "\n");
    writeFileSync(join(folder, "2020-01-01-notes.txt"), "");
    await openCallFiles(folder, { now: () => now }).prune();
    expect(names()).toEqual(["2020-01-01-notes.txt", ...days.slice(1).map((day) => `${day}-partners.jsonl`)]);
  });

  test("never outgrow their room: the oldest calls go, and strangers push out no partner's", async () => {
    const maxBytes = { partners: 600_000, strangers: 200_000 };
    const limits = { keepDays: 14, maxBytes, maxFileBytes: 25_000 };
    let at = now - 3 * dayMs;
    const files = openCallFiles(folder, { limits, now: () => at });
    const first = aCall({ requestId: idAt(at) });
    await files.append("partners", linesOf([first]));
    const bytesOf = (kind: string) =>
      names()
        .filter((name) => name.includes(kind))
        .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    for (let round = 0; round < 300; round++) {
      at += 600_000;
      const calls = Array.from({ length: 40 }, (_, n) => aStranger({ requestId: idAt(at, n) }));
      await files.append("strangers", linesOf(calls));
      expect(bytesOf("strangers")).toBeLessThanOrEqual(maxBytes.strangers);
    }
    expect(bytesOf("strangers")).toBeGreaterThan(maxBytes.strangers / 2);
    expect(await kept({ partnerId: "agency" })).toMatchObject([{ requestId: first.requestId }]);
    expect((await kept())[0]?.requestId).toBe(idAt(at, 39));
  });

  test("of days to come, which a clock that was ahead has left, go before today's", async () => {
    mkdirSync(folder);
    const [today, ahead] = ["2026-03-15-partners.jsonl", "2026-03-17-partners.jsonl"];
    for (const name of [today, ahead]) writeFileSync(join(folder, name), "\n".repeat(500));
    const limits = { keepDays: 14, maxBytes: { partners: 1_700, strangers: 1_700 }, maxFileBytes: 1_000 };
    const files = openCallFiles(folder, { limits, now: () => now });
    await files.append("partners", "{}\n");
    expect(names()).toEqual([today]);
  });

  test("are begun anew when they were moved away while the service writes them", async () => {
    const files = openCallFiles(folder);
    await files.append("partners", linesOf([aCall({ status: 200 })]));
    await rename(folder, `${folder}.old`);
    await files.append("partners", linesOf([aCall({ status: 401 })]));
    expect(await kept()).toMatchObject([{ status: 401 }]);
  });

  test("go on behind a line that was torn when the service was killed, in one of the same day", async () => {
    const [before, after] = [aCall(), aCall()];
    await openCallFiles(folder).append("partners", linesOf([before]));
    appendFileSync(join(folder, names()[0] ?? ""), linesOf([aCall()]).slice(0, 100));
    const files = openCallFiles(folder);
    for (const call of [after, aCall()]) await files.append("partners", linesOf([call]));
    expect((await kept()).map(({ requestId }) => requestId)).toEqual(
      expect.arrayContaining([before.requestId, after.requestId]),
    );
    expect(await kept()).toHaveLength(3);
  });

  test("are written through no link, and into nothing that is no file", async () => {
    const victim = join(temporary, "victim");
    writeFileSync(victim, "as it was");
    mkdirSync(folder);
    const path = join(folder, "2026-03-15-partners.jsonl");
    symlinkSync(victim, path);
    const append = () => openCallFiles(folder, { now: () => now }).append("partners", linesOf([aCall()]));
    expect(await rejection(append())).toBeInstanceOf(Error);
    rmSync(path);
    symlinkSync(join(temporary, "not there"), path);
    expect(await rejection(append())).toBeInstanceOf(Error);
    rmSync(folder, { recursive: true });
    mkdirSync(join(temporary, "other"));
    symlinkSync(join(temporary, "other"), folder);
    expect(await rejection(append())).toBeInstanceOf(Error);
    expect([readFileSync(victim, "utf8"), readdirSync(join(temporary, "other"))]).toEqual(["as it was", []]);
    expect(existsSync(join(temporary, "not there"))).toBe(false);
  });
});

describe("the access log as it is read", () => {
  test("is read whole where a day has many files", async () => {
    const ids = Array.from({ length: 60 }, (_, n) => idAt(now, n));
    const limits = { keepDays: 14, maxBytes: { partners: 1e6, strangers: 1e6 }, maxFileBytes: 1_200 };
    const files = openCallFiles(folder, { limits, now: () => now });
    for (const requestId of ids) await files.append("partners", linesOf([aCall({ requestId })]));
    expect(names().length).toBeGreaterThan(10);
    expect((await kept()).map(({ requestId }) => requestId)).toEqual(ids.toReversed());
    expect((await kept({ limit: 7 })).map(({ requestId }) => requestId)).toEqual(ids.slice(-7).reverse());
  });

  test("passes over what is no line of its own", async () => {
    mkdirSync(folder);
    const good = linesOf([aCall({ requestId: idAt(now) })]);
    const bad = [
      "{",
      "null",
      "[1]",
      '{"status":200}',
      good.slice(0, 60),
      "x".repeat(400_000),
      "\u0000".repeat(9),
    ];
    const other = JSON.stringify({ ...JSON.parse(good), requestId: "../../etc/passwd" });
    writeFileSync(
      join(folder, "2026-03-15-partners.jsonl"),
      `${[...bad, other].join("\n")}\n${good}${bad.join("\n")}`,
    );
    expect(await kept()).toMatchObject([{ requestId: idAt(now) }]);
  });

  test("that is none is not made by who only reads, and one that cannot be read is told in one line", async () => {
    expect(String(await rejection(kept()))).toContain("`tvs serve` begins one with --access-log");
    expect(existsSync(folder)).toBe(false);
    mkdirSync(join(folder, "2026-03-15-partners.jsonl"), { recursive: true });
    expect(await rejection(kept())).toMatchObject({ code: "INPUT_UNREADABLE" });
  });
});

describe("the access log", () => {
  test("takes a call without writing it, and has written all of them when it is closed", async () => {
    const log = openLog();
    for (let n = 0; n < 5_000; n++) log.observe(aCall());
    expect(log.figures()).toMatchObject({ written: 0, dropped: 0 });
    await log.close();
    expect(log.figures()).toEqual({ written: 5_000, dropped: 0, failure: null });
    expect(await kept()).toHaveLength(5_000);
    expect(logged).toEqual([]);
  });

  test("holds a bounded number of calls, of which strangers take no partner's place, and says how many it dropped", async () => {
    const goOn = Promise.withResolvers<void>();
    const files = openCallFiles(folder);
    const slow: CallFiles = { ...files, append: (...of) => goOn.promise.then(() => files.append(...of)) };
    const log = createCallLog(slow);
    for (let n = 0; n < 25_000; n++) log.observe(aStranger());
    for (let n = 0; n < 15_000; n++) log.observe(aCall());
    expect(log.figures().dropped).toBe(20_000);
    goOn.resolve();
    await log.close();
    expect(log.figures()).toEqual({ written: 20_000, dropped: 20_000, failure: null });
    expect(await kept({ partnerId: "agency" })).toHaveLength(15_000);
    expect(await find({ since: Date.now() - dayMs })).toMatchObject({ dropped: 20_000 });
    expect(logged).toMatchObject([{ message: "calls are missing from the access log", dropped: 20_000 }]);
  });

  test("says once that it cannot be written, goes on, and writes again when it can", async () => {
    writeFileSync(folder, "no folder");
    const log = openLog();
    for (let n = 0; n < 3; n++) {
      log.observe(aCall());
      await until(() => log.figures().dropped === n + 1);
    }
    expect(log.figures()).toMatchObject({ written: 0, failure: expect.stringContaining(folder) });
    expect(logged.filter(({ level }) => level === "ERROR")).toHaveLength(1);
    rmSync(folder);
    log.observe(aCall());
    await until(() => log.figures().written === 1);
    expect(log.figures().failure).toBeNull();
    expect(logged.at(-1)).toMatchObject({ message: "the access log is written again" });
    log.miss({ partners: 2, strangers: 1 });
    await log.close();
    expect(await kept()).toHaveLength(1);
    expect(await find()).toMatchObject({ dropped: 6 });
  });
});

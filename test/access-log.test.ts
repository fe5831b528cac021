import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openAccessLog } from "../src/access-log.ts";
import type { LoggedCall } from "../src/domain/calls.ts";
import { configureLog } from "../src/logger.ts";
import { until } from "./harness/eventually.ts";
import { makeFolder } from "./harness/folder.ts";

let folder: Awaited<ReturnType<typeof makeFolder>>;
let file: string;
let logged: string;
beforeEach(async () => {
  folder = makeFolder();
  file = join(folder.path, "access.log");
  logged = "";
  configureLog((line) => {
    logged += line;
  });
});
afterEach(() => folder.remove());

const aCall: LoggedCall = {
  requestId: "019cba7f-3c9a-7000-8000-000000000001",
  route: "/v1/inter-agency/lookup/by-tid/{tId}",
  method: "GET",
  status: 403,
  partnerId: "exam-body-a",
  keyId: "k1",
  ms: 1.234,
  error: "SCOPE_MISSING",
  replayed: false,
};
const aStranger: LoggedCall = {
  ...aCall,
  status: 401,
  partnerId: null,
  keyId: null,
  error: "CREDENTIAL_REQUIRED",
};

const linesOf = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { ms: number });
const isThere = (name: string) => readdirSync(folder.path).includes(name);
const msOf = (path: string) => linesOf(path).map(({ ms }) => ms);

test("a call becomes a line of JSON in a file that only its owner can read", async () => {
  const calls = openAccessLog(file);
  calls.observe(aCall);
  await calls.close();
  const { ms: _ms, ...kept } = aCall;
  expect(linesOf(file)).toEqual([{ ...kept, ms: 1.2, time: "2026-03-04T20:17:06.714Z" } as never]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("calls without a valid credential are logged to a file of their own", async () => {
  const calls = openAccessLog(file);
  for (let n = 0; n < 3; n++) calls.observe(aStranger);
  calls.observe(aCall);
  await calls.close();
  expect(linesOf(file)).toHaveLength(1);
  expect(linesOf(join(folder.path, "access-others.log"))).toHaveLength(3);
});

test("a full access log is renamed, and all but the newest twelve files are deleted", async () => {
  for (let n = 0; n < 20; n++) {
    const calls = openAccessLog(file, "100B");
    calls.observe({ ...aCall, ms: n });
    await calls.close();
  }
  const names = readdirSync(folder.path).filter((name) => /^access\.log/.test(name));
  expect(names).toHaveLength(12);
  expect(msOf(`${file}.1`)).toEqual([19]);
  expect(msOf(`${file}.11`)).toEqual([9]);
});

test("an access log that the operator deletes is created again", async () => {
  const calls = openAccessLog(file, "400B");
  calls.observe({ ...aCall, ms: 1 });
  await until(() => isThere("access.log") && readFileSync(file, "utf8").includes('"ms":1'));
  rmSync(file);
  calls.observe({ ...aCall, ms: 2 });
  await until(() => isThere("access.log"));
  calls.observe({ ...aCall, ms: 3 });
  await calls.close();
  expect(msOf(file)).toEqual([3]);
  expect(logged).toBe("");
});

test("a line that a kill cut off does not damage the lines after it", async () => {
  appendFileSync(file, '{"time":"2026-');
  const calls = openAccessLog(file);
  calls.observe(aCall);
  await calls.close();
  expect(readFileSync(file, "utf8").split("\n").slice(0, 2)).toEqual(['{"time":"2026-', expect.any(String)]);
  expect(readFileSync(file, "utf8")).toMatch(/\n\{"time":"2026-03-04.*\}\n$/);
});

test("an access log that cannot be written is reported once, and is written again once writing works", async () => {
  mkdirSync(file);
  const calls = openAccessLog(file);
  for (let n = 0; n < 3; n++) calls.observe(aCall);
  await until(() => logged.includes("cannot be written"));
  rmSync(file, { recursive: true });
  await until(() => {
    calls.observe({ ...aCall, ms: 7 });
    return logged.includes("is written again");
  });
  await calls.close();
  expect(logged.match(/cannot be written/g)).toHaveLength(1);
  expect(msOf(file)).toContain(7);
});

test("the access log drops lines when more than eight million characters wait to be written, and reports this", async () => {
  writeFileSync(file, "");
  const calls = openAccessLog(file);
  for (let n = 0; n < 60_000; n++) calls.observe(aCall);
  await calls.close();
  expect(linesOf(file).length).toBeLessThan(60_000);
  expect(logged).toContain("too slowly");
});

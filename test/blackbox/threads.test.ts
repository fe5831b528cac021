import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until, untilAnswer, withinOneSecond } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { roomInMinute, startService } from "../harness/program.ts";
import { get, openClient } from "../harness/raw-client.ts";
import { api, type Partner, sharedWorld } from "./world.ts";

const threads = 4;
const perMinute = 60;
const alone = { Connection: "close" };
const world = sharedWorld({
  args: [
    ...["--threads", String(threads), "--spread", "always", "--admin-port", "0", "--access-log"],
    ...["--public-per-minute", String(perMinute), "--trusted-proxy", "127.0.0.1/32"],
  ],
});

/** The value of a series, its labels as they are written. */
async function metric(series: string): Promise<number> {
  const consoleUrl = await untilAnswer(
    async () => /^console (http:\S+)\/open/m.exec(world.service().stdout())?.[1] ?? "",
    (url) => url !== "",
  );
  const text = await (await fetch(`${consoleUrl}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

/** Many calls, each on a connection of its own, which the kernel gives to any of the threads. */
const callsApart = (count: number, path: string, headers: Record<string, string> = {}) =>
  Promise.all(Array.from({ length: count }, () => world.get(path, { ...alone, ...headers })));

/** A partner that every thread knows, as all of them do within a second. */
async function partnerEverywhere(): Promise<Partner> {
  // Without the scope by which the harness finds out whether it is known, so that nothing else is refused for its form.
  const partner = await world.partner({ scopes: "lookup_by_tid" });
  const isKnown = async () => {
    const calls = Array.from({ length: 24 }, () => partner.get("/lookup/by-tid/1", alone));
    return (await Promise.all(calls)).every(({ status }) => status === 200);
  };
  expect(await withinOneSecond(isKnown)).toBe(true);
  return partner;
}

describe("a service with four threads", () => {
  test("listens in each of them", async () => {
    expect(await metric("tvs_serving_threads")).toBe(threads);
    expect(await metric("tvs_serving_thread_deaths_total")).toBe(0);
    if (process.platform !== "linux") return;
    const port = Number(new URL(world.service().url).port);
    const at = `:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A`;
    const listening = readFileSync("/proc/net/tcp", "utf8").split("\n");
    expect(listening.filter((line) => line.includes(at))).toHaveLength(threads);
  });

  test("counts the calls of all of them together", async () => {
    const series = `tvs_http_requests_total{route="${api}/.well-known/jwks.json",method="GET",status="200"}`;
    const answers = await callsApart(200, `${api}/.well-known/jwks.json`);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(200);
    expect(await metric(series)).toBe(200);
  });

  test("tells exactly what is left, whichever of them answers, and of a call that lacks its scope too", async () => {
    const partner = await partnerEverywhere();
    await roomInMinute();
    const tell = async (path: string) => {
      const { status, headers } = await partner.get(path, alone);
      return [status, Number(headers.get("X-RateLimit-Remaining"))];
    };
    const [, first = 0] = await tell("/lookup/by-tid/1");
    for (let left = first; left > first - 5; left--) {
      for (let times = 0; times < 4; times++)
        expect(await tell("/lookup/by-reg-no/A%2FB%2FC%2FD")).toEqual([403, left]);
      expect(await tell("/lookup/by-tid/1")).toEqual([200, left - 1]);
    }
  });

  test("keeps one access log, and tells of refusals wherever they were given", async () => {
    const partner = await partnerEverywhere();
    const refused = await Promise.all(
      Array.from({ length: 40 }, () => partner.get("/lookup/by-tid/none", alone)),
    );
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 400));
    const series = `tvs_calls_refused_total{partner="${partner.id}",code="REQUEST_INVALID",status="400"}`;
    await until(async () => (await metric(series)) === 40);
    const lines = () => readFileSync(join(world.dataDir, "access.log"), "utf8").split("\n");
    const written = () => lines().filter((line) => line.includes(`"status":400,"partnerId":"${partner.id}"`));
    await until(() => written().length === 40);
  });

  test("honours a new partner in all of them within a second", () => partnerEverywhere());
});

describe("connections", () => {
  test("go to the main thread alone until it has very many, and then to all: those that there are end", () =>
    withTempDir(async (dataDir) => {
      const args = ["--threads", "2", "--spread", "auto"];
      const service = await startService({ dataDir, args, env: { TVS_LOG_LEVEL: "debug" } });
      const port = Number(new URL(service.url).port);
      const asked = get(`${api}/.well-known/jwks.json`);
      const first = await openClient({ port });
      first.write(asked);
      expect(await first.receives('"keys"')).not.toContain("onnection: close");
      // Half of what one address may have of the thread's share.
      const others = await Promise.all(Array.from({ length: 250 }, () => openClient({ port })));
      await until(() => service.stderr().includes('"to":"all"'));
      first.write(asked);
      await first.receives("onnection: close");
      for (const { socket } of [first, ...others]) socket.destroy();
      expect(await service.stop()).toBe(0);
    }));
});

/** A partner's engineer in the sandbox: the real service, `tvs listen` and `tvs trigger` as processes of their own. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { verifyWebhook } from "../../../src/partner/verify-webhook.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { type Endpoint, type Received, withEndpoint } from "../../harness/endpoint.ts";
import { until, withinOneSecond } from "../../harness/eventually.ts";
import { makeFolder } from "../../harness/folder.ts";
import {
  childEnvironment,
  patienceMs,
  programWords,
  type Service,
  startService,
} from "../../harness/program.ts";
import { makeRegister } from "../../harness/service.ts";

setDefaultTimeout(patienceMs);

let folder: Awaited<ReturnType<typeof makeFolder>>;
let service: Service;

beforeAll(async () => {
  folder = await makeFolder();
  service = await startService({ dataDir: folder.path, args: ["--sandbox"] });
});

afterAll(async () => {
  expect(await service?.stop()).toBe(0);
  await folder?.remove();
});

const tvs = (line: string) => runTvs(line.split(" "), { dataDir: folder.path });
const json = <T>(line: string) => runJson<T>(line.split(" "), { dataDir: folder.path });

type Listening = {
  secret: string;
  lines: () => Record<string, unknown>[];
  end(signal: "SIGINT" | "SIGKILL"): Promise<number>;
};

/** `tvs listen --json`, from when it has said its secret. */
async function listen(...args: string[]): Promise<Listening> {
  const words = [...programWords, "listen", "--json", "--data", folder.path, ...args];
  const child = Bun.spawn(words, {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    env: childEnvironment({}),
  });
  let text = "";
  void (async () => {
    for await (const chunk of child.stdout) text += new TextDecoder().decode(chunk);
  })();
  const lines = () =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await until(() => lines().length > 0);
  return {
    secret: String(lines()[0]?.secret),
    lines,
    end(signal) {
      child.kill(signal);
      return child.exited;
    },
  };
}

/** Answers as a partner's receiver must. */
async function judge({ headers, body }: Received, secret: string): Promise<number> {
  const signature = String(headers["x-agency-signature"] ?? "");
  return (await verifyWebhook({ rawBody: body, signature, secret })).valid ? 204 : 400;
}

/** A receiver that knows its secret once somebody listens. */
async function withReceiver(act: (endpoint: Endpoint, learn: (secret: string) => void) => Promise<void>) {
  let secret = "";
  await withEndpoint(
    async (request) => ({ status: await judge(request, secret) }),
    (endpoint) =>
      act(endpoint, (known) => {
        secret = known;
      }),
  );
}

const demoUrl = async () => {
  const shown = await tvs("partners webhook show demo --sandbox --json");
  return shown.code === 0 ? shown.json<{ url: string }>().url : null;
};

test("an event is caused, delivered and answered, a forgery is refused, and nothing is left behind", () =>
  withReceiver(async ({ url, received }, learn) => {
    const listening = await listen("--forward", url);
    learn(listening.secret);
    const caused = await json<{ eventId: string; deliveries: unknown[] }>("trigger license.revoked");
    expect(caused.deliveries).toHaveLength(1);
    await until(() => received.length > 0);
    expect(JSON.parse(received[0]?.body ?? "")).toMatchObject({
      eventId: caused.eventId,
      eventType: "license.revoked",
      data: { regNo: "TR/2019/LA/000012", licenseStatus: "REVOKED" },
    });
    await until(() => listening.lines().length > 1);
    expect(listening.lines()[1]).toMatchObject({ type: "delivery", status: 204, genuine: true, attempt: 1 });

    const forged = await tvs("trigger forged --json");
    expect([forged.code, forged.json<{ refusedAll: boolean }>().refusedAll]).toEqual([0, true]);
    await until(() => listening.lines().length === 6);
    expect(listening.lines().slice(2)).toSatisfy((lines) => lines.every(({ genuine }) => genuine === false));

    expect(await listening.end("SIGINT")).toBe(0);
    expect(await demoUrl()).toBeNull();
    // The next one has the same secret: a receiver need not be told another.
    const again = await listen();
    expect(again.secret).toBe(listening.secret);
    expect(await again.end("SIGINT")).toBe(0);
  }));

test("a second one is refused while one listens, and what a killed one leaves is put back", async () => {
  const first = await listen();
  const second = await tvs("listen --json");
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining("another tvs listen")]);
  const before = await demoUrl();
  await first.end("SIGKILL");
  expect(await demoUrl()).toBe(before);
  const next = await listen();
  expect(await next.end("SIGINT")).toBe(0);
  expect(await demoUrl()).toBeNull();
});

test("a receiver that accepts forgeries is told so, and one that does not answer is not judged", async () => {
  await withEndpoint(
    () => ({ status: 204 }),
    async ({ url }) => {
      const listening = await listen("--forward", url);
      expect((await tvs("trigger forged")).code).toBe(1);
      expect(await listening.end("SIGINT")).toBe(0);
    },
  );
  const listening = await listen("--forward", "http://127.0.0.1:9/");
  const forged = await tvs("trigger forged");
  expect([forged.code, forged.stdout]).toEqual([2, expect.stringContaining("is it running?")]);
  expect(await listening.end("SIGINT")).toBe(0);
});

test("the day is moved for the running service within a second, and reset puts all back", async () => {
  const apiKey = /tvs_test_[0-9A-Za-z]{61}/.exec(service.stdout())?.[0] ?? "";
  const status = async (tId: number) => {
    const url = `${service.url}/v1/inter-agency/lookup/by-tid/${tId}`;
    const response = await fetch(url, { headers: { "x-agency-api-key": apiKey } });
    return ((await response.json()) as { result: { status: string } }).result.status;
  };
  expect(await status(1013)).toBe("VALID");
  expect(await json("sandbox clock +30d")).toMatchObject({ aheadDays: 30, expired: 1, events: 1 });
  expect(await withinOneSecond(async () => (await status(1013)) === "EXPIRED")).toBe(true);
  expect(await json("sandbox clock")).toMatchObject({ aheadDays: 30 });
  expect(await json("trigger license.revoked 1001")).toMatchObject({ told: ["demo"], deliveries: [] });
  expect(await status(1001)).toBe("REVOKED");
  const watch = async (path = "", method = "GET") => {
    const url = `${service.url}/v1/inter-agency/watch${path}`;
    return (await fetch(url, { method, headers: { "x-agency-api-key": apiKey } })).text();
  };
  await watch("/TR/2019/LA/000001", "PUT");
  expect(await watch()).toContain('["TR/2019/LA/000001"]');
  await json("partners set demo --teachers watched --sandbox");
  expect(await json("sandbox reset")).toMatchObject({ endpoint: "none" });
  expect(await json("partners show demo --sandbox")).toMatchObject({ told: { teachers: "all" } });
  expect(await watch()).toContain('"data":[]');
  expect(await withinOneSecond(async () => (await status(1013)) === "VALID")).toBe(true);
  expect(await status(1001)).toBe("VALID");
  expect(await json("sandbox clock")).toMatchObject({ aheadDays: 0 });
  expect(await json("sandbox reset")).toMatchObject({ teachers: 0 });
});

describe("on a live register", () => {
  const lines = [
    "listen",
    "trigger license.revoked",
    "trigger forged",
    "sandbox clock +30d",
    "sandbox reset",
  ];

  test.each(lines)("tvs %s is refused in plain words, and changes nothing", async (line) => {
    const configuration = await makeFolder();
    await makeRegister(configuration.path);
    const names = () => readdirSync(configuration.path).filter((name) => !/-(?:wal|shm)$/.test(name));
    const before = [names(), readFileSync(join(configuration.path, "tvs.db")).toBase64()];
    const beside = await runTvs([...line.split(" "), "--data", configuration.path]);
    expect([beside.code, beside.stderr]).toEqual([2, expect.stringContaining("only a live register")]);
    const database = `file:${join(configuration.path, "tvs.db")}`;
    const told = await runTvs([...line.split(" "), "--data", configuration.path, "--database", database]);
    expect([told.code, told.stderr]).toEqual([1, expect.stringContaining("is for a sandbox only")]);
    expect([names(), readFileSync(join(configuration.path, "tvs.db")).toBase64()]).toEqual(before);
    await configuration.remove();
  });

  test("where there is nothing, nothing is made", async () => {
    const nowhere = join(folder.path, "nowhere");
    expect((await runTvs(["listen", "--data", nowhere])).code).toBe(2);
    expect(existsSync(nowhere)).toBe(false);
  });
});

import { afterAll, beforeAll, expect } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Events } from "tvs/partner";
import { runJson } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { runToEnd, type Service } from "../../harness/program.ts";
import { environment, startSandbox, testEach } from "./languages.ts";

const folder = sharedFolder();
let service: Service;
let apiKey: string;
let announced: string[];

beforeAll(async () => {
  ({ service, apiKey } = await startSandbox(folder));
  const dataDir = join(folder, "data");
  const types = ["license.revoked", "license.expired", "teacher.deactivated"];
  for (const type of types) await runJson(["trigger", type], { dataDir });
  const answer = await fetch(`${service.url}/v1/inter-agency/events`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  });
  const { data } = (await answer.json()) as Events;
  expect(data.map(({ eventType }) => eventType)).toEqual(expect.arrayContaining(types));
  announced = data.map(({ eventId, eventType, data: { regNo } }) => `${eventId} ${eventType} ${regNo}`);
});
afterAll(() => service?.stop());

const problem = (code: string, statusCode: number) =>
  Response.json({ statusCode, message: "no" }, { status: statusCode, headers: { "X-Error-Code": code } });

/** A proxy that asks the service for pages of one event, or answers itself. */
function startBetween() {
  const asked: [path: string, after: string | null, key: string | null][] = [];
  const state = { answer: null as (() => Response) | null };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url, headers }) {
      const { pathname, searchParams } = new URL(url);
      asked.push([pathname, searchParams.get("after"), headers.get("Authorization")]);
      if (state.answer !== null) return state.answer();
      searchParams.set("limit", "1");
      const Authorization = headers.get("Authorization") ?? "";
      return fetch(`${service.url}${pathname}?${searchParams}`, { headers: { Authorization } });
    },
  });
  return { asked, state, server };
}

testEach(
  "the example events fetches each event once, continues from its cursor, and says why a fetch failed",
  async (language) => {
    const cwd = join(folder, `as-${language.name}`);
    await mkdir(cwd, { recursive: true });
    const start = await language.prepare("events", folder);
    const { asked, state, server } = startBetween();
    const run = async () => {
      const env = environment(folder, { API_KEY: apiKey });
      const { code, stdout, stderr: error } = await runToEnd([...start, server.url.origin], { cwd, env });
      return { code, lines: stdout.split("\n").filter(Boolean), error };
    };
    try {
      state.answer = () => problem("OVERLOADED", 503);
      const early = await run();
      expect(early).toMatchObject({ lines: [], error: expect.stringContaining("OVERLOADED") });
      state.answer = null;
      expect(await run()).toEqual({ code: 0, lines: announced, error: "" });
      const calls = asked.length;
      expect(calls).toBe(1 + announced.length);
      expect(await run()).toEqual({ code: 0, lines: [], error: "" });
      state.answer = () => Response.redirect(`${server.url}stolen`);
      const led = await run();
      state.answer = () => problem("EVENTS_GONE", 410);
      const gone = await run();
      expect(gone).toMatchObject({ lines: [], error: expect.stringContaining("EVENTS_GONE") });
      for (const { code } of [early, led, gone]) expect(code).not.toBe(0);
      // Each run asks from its cursor, also after a failure, and follows no redirect.
      const places = new Set(asked.slice(calls).map(String));
      expect([asked.length - calls, places.size]).toEqual([3, 1]);
      expect(asked.at(-1)).toEqual(["/v1/inter-agency/events", expect.any(String), `Bearer ${apiKey}`]);
    } finally {
      await server.stop(true);
    }
  },
);

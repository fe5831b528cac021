import { expect, test } from "bun:test";
import { type Context, Hono } from "hono";
import { requireLocalRequest } from "../../src/console/access.ts";
import type { HonoEnv } from "../../src/http/context.ts";
import { demoPartnerForCaller, findNotLocalReason } from "../../src/http/local-caller.ts";

const demo = { partnerId: "demo", apiKey: "tvs_test_x" };
const local = { Host: "127.0.0.1:8080" };

async function judged(remoteAddress: string, headers: Record<string, string>) {
  const info = { remoteAddress, tls: false, clientCertificate: null };
  const show = (c: Context<HonoEnv>) =>
    c.json({ why: findNotLocalReason(c), demo: demoPartnerForCaller(c, demo) });
  const open = await new Hono<HonoEnv>().get("/", show).request("/", { headers }, info);
  const console = new Hono<HonoEnv>().use(requireLocalRequest()).get("/", (c) => c.text(""));
  const { status } = await console.request("/", { headers }, info);
  return { ...((await open.json()) as { why: string | null; demo: unknown }), status };
}

test.each([
  ["127.0.0.1", "127.0.0.1:8080"],
  ["127.0.0.2", "127.0.0.2"],
  ["::ffff:127.0.0.1", "localhost:8080"],
  ["::1", "[::1]:8080"],
  ["127.0.0.1", "LOCALHOST:"],
])(
  "a request from %s for %s is local for the console, and is shown the demo partner's key",
  async (address, host) => {
    expect(await judged(address, { Host: host })).toEqual({ why: null, demo, status: 200 });
  },
);

test.each<[string, string, Record<string, string>]>([
  ["address", "192.0.2.7", local],
  ["address", "::ffff:192.0.2.7", local],
  ["address", "127.0.0.1.example", local],
  ["address", "127.evil", local],
  ["address", "2001:db8::1", local],
  ["address", "", local],
  ["name", "127.0.0.1", { Host: "evil.example" }],
  ["name", "127.0.0.1", { Host: "localhost.evil.example" }],
  ["name", "127.0.0.1", { Host: "localhost.evil.example:9090" }],
  ["name", "127.0.0.1", { Host: "127.0.0.1.evil.example" }],
  ["name", "127.0.0.1", { Host: "0.0.0.0" }],
  ["name", "127.0.0.1", {}],
  ...["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"].map(
    (name): [string, string, Record<string, string>] => ["proxy", "127.0.0.1", { ...local, [name]: "x" }],
  ),
])("a request is not local because of its %s: %s %o", async (why, address, headers) => {
  expect(await judged(address, headers)).toEqual({ why, demo: null, status: 403 });
});

test("a live service shows no demo partner's key, not even to a local request", async () => {
  const app = new Hono<HonoEnv>().get("/", (c) => c.json(demoPartnerForCaller(c, undefined)));
  const info = { remoteAddress: "127.0.0.1", tls: false, clientCertificate: null };
  expect(await (await app.request("/", { headers: local }, info)).json()).toBeNull();
});

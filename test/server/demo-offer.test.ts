import { describe, expect, test } from "bun:test";
import { Hono } from "hono";
import { createDemoOffer, type Demo } from "../../src/server/demo-offer.ts";
import type { AppEnv } from "../../src/server/http/hono-call.ts";

const demo: Demo = { partnerId: "demo", apiKey: "tvs_test_x" };

async function offered(
  remoteAddress: string,
  headers: Record<string, string>,
  known: Demo | undefined = demo,
) {
  const offer = createDemoOffer(known);
  const app = new Hono<AppEnv>().get("/", (c) => c.json(offer(c)));
  const response = await app.request(
    "/",
    { headers },
    { remoteAddress, tls: false, clientCertificate: null },
  );
  return response.json();
}

const local = { Host: "127.0.0.1:8080" };

describe("the sandbox's key", () => {
  test.each([
    ["127.0.0.1", "127.0.0.1:8080"],
    ["::ffff:127.0.0.1", "localhost:8080"],
    ["::1", "[::1]:8080"],
    ["127.0.0.1", "LOCALHOST"],
  ])("is shown to %s that asked for %s", async (address, host) => {
    expect(await offered(address, { Host: host })).toEqual(demo);
  });

  test.each([
    ["another machine", "192.0.2.7", local],
    ["an address that only begins alike", "127.0.0.1.example", local],
    ["a page whose name was resolved to here", "127.0.0.1", { Host: "evil.example" }],
    ["a name that only begins alike", "127.0.0.1", { Host: "localhost.evil.example" }],
    ["a request without a name", "127.0.0.1", {}],
    ["a proxy", "127.0.0.1", { ...local, "X-Forwarded-For": "192.0.2.7" }],
    ["another proxy", "127.0.0.1", { ...local, Via: "1.1 proxy" }],
    ["a third proxy", "127.0.0.1", { ...local, Forwarded: "for=192.0.2.7" }],
  ])("is not shown to %s", async (_, address, headers) => {
    expect(await offered(address, headers)).toBeNull();
  });

  test("of a live service does not exist", async () => {
    const app = new Hono<AppEnv>().get("/", (c) => c.json(createDemoOffer(undefined)(c)));
    const info = { remoteAddress: "127.0.0.1", tls: false, clientCertificate: null };
    expect(await (await app.request("/", { headers: local }, info)).json()).toBeNull();
  });
});

import { expect, test } from "bun:test";
import { until } from "../harness/eventually.ts";
import { teachers } from "./registry.ts";
import { api, sharedWorld } from "./world.ts";

const world = sharedWorld({ rows: [teachers.valid], args: ["--allow-private-webhooks"] });

type Answer = {
  readonly status: number;
  readonly code: string | null;
  readonly body: Record<string, unknown>;
};

async function ask(key: string, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${world.service().url}${api}${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, code: response.headers.get("X-Error-Code"), body: answer };
}

test("a partner reads its terms, events and deliveries, and sends a delivery again, also after a kill", async () => {
  const { id, apiKey } = await world.partner({ perMinute: 1_000 });
  const told = { events: ["license.revoked"], teachers: "watched" };
  const { reg_no: regNo } = teachers.valid;
  // Nobody listens there, so each delivery stays pending.
  const url = "http://127.0.0.1:9/";
  const filter = ["--events", "license.revoked", "--teachers", "watched"];
  await world.tvs("partners", "webhook", "set", id, url, ...filter, "--allow-private-webhooks");
  await until(async () => (await ask(apiKey, "GET", "/me")).body.webhook !== null);
  expect((await ask(apiKey, "GET", "/me")).body).toMatchObject({
    partnerId: id,
    eventFilter: told,
    webhook: { url },
  });
  expect((await ask(apiKey, "POST", "/watch", { add: [regNo] })).body).toEqual({ watched: 1 });
  expect((await world.tvs("teachers", "revoke", regNo, "--reason", "test")).code).toBe(0);
  const { body: fetched } = await ask(apiKey, "GET", "/events");
  expect(fetched).toMatchObject({ data: [{ eventType: "license.revoked", data: { regNo } }], done: true });
  const [{ deliveryId = "" } = {}] = (await ask(apiKey, "GET", "/me/deliveries")).body.data as {
    deliveryId?: string;
  }[];

  await world.restart({ kill: true });
  expect((await ask(apiKey, "GET", "/watch")).body.data).toEqual([regNo]);
  const behind = await ask(apiKey, "GET", `/events?after=${fetched.iterator}`);
  expect(behind.body).toEqual({ data: [], iterator: fetched.iterator, done: true });
  const gone = await ask(apiKey, "GET", `/events?after=${deliveryId}`);
  expect(gone).toMatchObject({ status: 410, code: "EVENTS_GONE" });
  await until(async () => {
    const { status, code } = await ask(apiKey, "POST", `/me/deliveries/${deliveryId}/retry`);
    return status === 200 || code !== "DELIVERY_UNDER_WAY";
  });
  expect((await ask(apiKey, "GET", `/me/deliveries/${deliveryId}`)).body).toMatchObject({ state: "pending" });
  const history = await world.tvsJson<{ actor: string }[]>("partners", "history", id);
  expect(history.filter(({ actor }) => !actor.startsWith("cli:"))).toEqual([]);
});

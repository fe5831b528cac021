import { expect, test } from "bun:test";
import { until } from "../harness/eventually.ts";
import { teachers } from "./registry.ts";
import { sharedWorld } from "./world.ts";

const world = sharedWorld({ rows: [teachers.valid], args: ["--allow-private-webhooks"] });

async function answerOf(response: Response) {
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, code: response.headers.get("X-Error-Code"), body };
}

test("a partner reads its terms, events and deliveries, and sends a delivery again, also after the service was killed", async () => {
  const { id, get, post } = await world.partner({ perMinute: 1_000 });
  const read = async (path: string) => answerOf(await get(path));
  const send = async (path: string, body: object) => answerOf(await post(path, body));
  const eventFilter = { events: ["license.revoked"], teachers: "watched" };
  const { reg_no: regNo } = teachers.valid;
  // Nobody listens there, so each delivery stays pending.
  const url = "http://127.0.0.1:9/";
  const filter = ["--events", "license.revoked", "--teachers", "watched"];
  await world.tvs("partners", "webhook", "set", id, url, ...filter, "--allow-private-webhooks");
  await until(async () => (await read("/me")).body.webhook !== null);
  expect((await read("/me")).body).toMatchObject({
    partnerId: id,
    eventFilter,
    webhook: { url },
  });
  expect((await send("/watch", { add: [regNo] })).body).toEqual({ watched: 1 });
  expect((await world.tvs("teachers", "revoke", regNo, "--reason", "test")).code).toBe(0);
  const { body: fetched } = await read("/events");
  expect(fetched).toMatchObject({ data: [{ eventType: "license.revoked", data: { regNo } }], done: true });
  const [{ deliveryId = "" } = {}] = (await read("/me/deliveries")).body.data as {
    deliveryId?: string;
  }[];

  await world.restart({ kill: true });
  expect((await read("/watch")).body.data).toEqual([regNo]);
  const behind = await read(`/events?after=${fetched.iterator}`);
  expect(behind.body).toEqual({ data: [], iterator: fetched.iterator, done: true });
  const gone = await read(`/events?after=${deliveryId}`);
  expect(gone).toMatchObject({ status: 410, code: "EVENTS_GONE" });
  await until(async () => {
    const { status, code } = await send(`/me/deliveries/${deliveryId}/retry`, {});
    return status === 200 || code !== "DELIVERY_UNDER_WAY";
  });
  expect((await read(`/me/deliveries/${deliveryId}`)).body).toMatchObject({ state: "pending" });
  const history = await world.tvsJson<{ actor: string }[]>("partners", "history", id);
  expect(history.filter(({ actor }) => !actor.startsWith("cli:"))).toEqual([]);
});

import { expect, test } from "bun:test";
import { mintApiKey } from "../../../src/domain/credentials.ts";
import { setWebhook, testWebhook } from "../../../src/domain/webhooks.ts";
import { aPartner } from "../../harness/samples.ts";
import { openTestService } from "../../harness/service.ts";
import { expectDocumented } from "./described.ts";
import { document, resolve } from "./document.ts";
import { errorsOf } from "./examples.ts";

const prefix = "/v1/inter-agency";
const unknown = "019ca8c4-7b72-7aa1-9c33-0b7de4f5a610";

/** Every kind of answer comes one way; what it is, the document has said. */
type Answer = Record<"state" | "data" | "attemptList" | "webhook", unknown>;
type Shown = { readonly content: { readonly "application/json": { readonly example: unknown } } };

/** A partner that asks over the real app; each answer is held to the document. */
async function openPartner() {
  const world = await openTestService();
  const { operator, service } = world;
  const now = service.clock.now();
  // Deliveries are held, so that none is under way while it is looked at.
  await operator.stores.settings.write({ allow_private_webhooks: "true", hold_webhooks: "true" });
  const { partners, webhooks } = operator.stores;
  const { text: key, record } = mintApiKey("own", { kind: "live", secrets: operator.secrets, now });
  const terms = { perMinute: 1_000, perDay: 10, watchLimit: 1_000 };
  await partners.add({ ...aPartner("own"), ...terms }, record);
  await service.configuration.refresh();
  const hooks = { webhooks, partners, secrets: operator.secrets, clock: service.clock };
  const url = "http://127.0.0.1:9/";
  /** Sets the webhook and makes a delivery to it, as the operator does. */
  async function deliver(): Promise<string> {
    await setWebhook(hooks, { partnerId: "own", url, check: async () => {} });
    return (await testWebhook(hooks, "own")).deliveryId;
  }

  async function ask(method: string, path: string, { body }: { body?: unknown } = {}) {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await world.call(prefix + path, {
      method,
      headers: { Authorization: `Bearer ${key}` },
      ...sent,
    });
    const value = (await expectDocumented(response, prefix + path, method)) as Answer;
    return { status: response.status, code: response.headers.get("X-Error-Code"), value };
  }
  return { world, url, deliver, ask };
}

test("every call of a partner about itself answers as the document says", async () => {
  const { world, url, deliver, ask } = await openPartner();
  for (const method of ["PUT", "DELETE"])
    expect((await ask(method, "/watch/TR%2F2019%2FLA%2F000001")).status).toBe(204);
  expect((await ask("POST", "/watch", { body: { add: ["A/B/C/D"] } })).value).toMatchObject({ watched: 1 });
  expect((await ask("GET", "/watch")).value.data).toEqual(["A/B/C/D"]);
  expect((await ask("GET", "/events")).value).toMatchObject({ data: [], iterator: null, done: true });
  const deliveryId = await deliver();
  expect((await ask("GET", "/me/deliveries")).value.data).toMatchObject([{ deliveryId }]);
  expect((await ask("GET", `/me/deliveries/${deliveryId}`)).value.attemptList).toEqual([]);
  expect((await ask("POST", `/me/deliveries/${deliveryId}/retry`)).value.state).toBe("pending");
  expect((await ask("GET", "/me")).value.webhook).toEqual({ url, state: "enabled" });
  await world.close();
});

test("every refusal of these calls that the document shows is one that they give", async () => {
  const { world, deliver, ask } = await openPartner();
  const manyNumbers = Array.from({ length: 1_001 }, (_, number) => `TR/2019/LA/${number}`);
  const retry = `/me/deliveries/${unknown}/retry`;
  const seen: Record<string, unknown> = {};
  const see = async (name: string, ...asked: Parameters<typeof ask>) => {
    seen[name] = (await ask(...asked)).value;
  };
  await see("InvalidPage", "GET", "/watch?limit=501");
  await see("InvalidWatch", "POST", "/watch", { body: { add: ["TR/2019/LA/000001", "1"] } });
  await see("WatchLimit", "POST", "/watch", { body: { add: manyNumbers } });
  await see("EventsGone", "GET", `/events?after=${unknown}`);
  await see("DeliveryUnknown", "GET", `/me/deliveries/${unknown}`);
  await see("NotSendable", "POST", retry);
  const deliveryId = await deliver();
  await world.operator.driver.batch([
    {
      sql: "UPDATE deliveries SET lease = 'somebody', due_at = ? WHERE delivery_id = ?",
      args: [world.service.clock.now() + 60_000, deliveryId],
    },
  ]);
  await see("DeliveryUnderWay", "POST", `/me/deliveries/${deliveryId}/retry`);
  for (const [name, value] of Object.entries(seen))
    expect({ [name]: value }).toEqual({
      [name]: (resolve(`#/components/responses/${name}`) as Shown).content["application/json"].example,
    });
  expect(Object.keys(seen).sort()).toEqual(errorsOf(document, true));
  await world.close();
});

import { expect, test } from "bun:test";
import { mintApiKey } from "../../../src/domain/credentials.ts";
import { aPartner } from "../../harness/samples.ts";
import { openTestService } from "../../harness/service.ts";
import { expectDocumented } from "./described.ts";
import { document, resolve } from "./document.ts";
import { errorsOf } from "./examples.ts";

const prefix = "/v1/inter-agency";
const unknown = "019ca8c4-7b72-7aa1-9c33-0b7de4f5a610";

/** Every kind of answer comes one way; what it is, the document has said. */
type Answer = Record<
  "teachers" | "secret" | "previousSecretUntil" | "deliveryId" | "state" | "apiKey" | "keyId",
  string
> &
  Record<"data" | "attemptList" | "credentials" | "webhook", unknown> & {
    readonly previous: { readonly keyId: string };
  };
type Shown = { readonly content: { readonly "application/json": { readonly example: unknown } } };

/** Partners with a key of their own each, who ask over the real app; each answer is held to the document. */
async function openPartners() {
  const world = await openTestService();
  const { operator, service } = world;
  const now = service.clock.now();
  // Deliveries are held, so that none is under way while it is looked at.
  await operator.stores.settings.write({ allow_private_webhooks: "true", hold_webhooks: "true" });
  async function partner(partnerId: string, changes: object) {
    const { text, record } = mintApiKey(partnerId, { kind: "live", secrets: operator.secrets, now });
    const terms = { perMinute: 1_000, perDay: 10, watchLimit: 1_000, ...changes };
    await operator.stores.partners.add({ ...aPartner(partnerId), ...terms }, record);
    return { text, keyId: record.keyId };
  }
  const [own, other] = [await partner("own", { selfService: true }), await partner("other", {})];
  await service.configuration.refresh();

  async function ask(
    method: string,
    path: string,
    { body, key = own.text }: { body?: unknown; key?: string } = {},
  ) {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await world.call(prefix + path, {
      method,
      headers: { Authorization: `Bearer ${key}` },
      ...sent,
    });
    const value = (await expectDocumented(response, prefix + path, method)) as Answer;
    return { status: response.status, code: response.headers.get("X-Error-Code"), value };
  }
  return { world, own, other, ask };
}

test("every call of a partner about itself answers as the document says, from the filter to the last key", async () => {
  const { world, own, ask } = await openPartners();
  expect((await ask("PUT", "/me/told", { body: { teachers: "watched" } })).value.teachers).toBe("watched");
  for (const method of ["PUT", "DELETE"])
    expect((await ask(method, "/watch/TR%2F2019%2FLA%2F000001")).status).toBe(204);
  expect((await ask("POST", "/watch", { body: { add: ["A/B/C/D"] } })).value).toMatchObject({ watched: 1 });
  expect((await ask("GET", "/watch")).value.data).toEqual(["A/B/C/D"]);
  expect((await ask("GET", "/events")).value).toMatchObject({ data: [], iterator: null, done: true });
  const url = "http://127.0.0.1:9/";
  expect((await ask("PUT", "/me/webhook", { body: { url } })).value.secret).toStartWith("whsec_");
  expect((await ask("PUT", "/me/webhook", { body: { url } })).value.secret).toBeUndefined();
  const { value: rotated } = await ask("POST", "/me/webhook/rotate-secret");
  expect(Date.parse(rotated.previousSecretUntil)).toBeGreaterThan(0);
  const { deliveryId } = (await ask("POST", "/me/webhook/test")).value;
  expect((await ask("GET", "/me/deliveries")).value.data).toMatchObject([{ deliveryId }]);
  expect((await ask("GET", `/me/deliveries/${deliveryId}`)).value.attemptList).toEqual([]);
  expect((await ask("POST", `/me/deliveries/${deliveryId}/retry`)).value.state).toBe("pending");
  const made = (await ask("POST", "/me/keys", { body: { overlap: "1h" } })).value;
  expect(made.previous.keyId).toBe(own.keyId);
  const left = await ask("DELETE", `/me/keys/${own.keyId}`, { key: made.apiKey });
  expect(left.value.credentials).toMatchObject([{ keyId: made.keyId }]);
  expect((await ask("GET", "/me", { key: made.apiKey })).value.webhook).toEqual({ url, state: "enabled" });
  await world.close();
});

test("every refusal of these calls that the document shows is one that they give", async () => {
  const { world, own, other, ask } = await openPartners();
  const manyNumbers = Array.from({ length: 1_001 }, (_, number) => `TR/2019/LA/${number}`);
  const retry = `/me/deliveries/${unknown}/retry`;
  const seen: Record<string, unknown> = {};
  const see = async (name: string, ...asked: Parameters<typeof ask>) => {
    seen[name] = (await ask(...asked)).value;
  };
  await see("InvalidPage", "GET", "/watch?limit=501");
  await see("InvalidWatch", "POST", "/watch", { body: { add: ["TR/2019/LA/000001", "1"] } });
  await see("WatchLimit", "POST", "/watch", { body: { add: manyNumbers } });
  await see("SelfServiceOff", "POST", "/me/keys", { key: other.text });
  await see("NoWebhook", "POST", "/me/webhook/test");
  await see("InvalidWebhook", "PUT", "/me/webhook", { body: { url: "ftp://127.0.0.1/" } });
  await see("DeliveryUnknown", "GET", `/me/deliveries/${unknown}`);
  await see("NotSendable", "POST", retry);
  await see("KeyUnknown", "DELETE", `/me/keys/${other.keyId}`);
  await see("KeyAsking", "DELETE", `/me/keys/${own.keyId}`);
  await ask("POST", "/me/keys");
  await see("KeyLimit", "POST", "/me/keys");
  await ask("PUT", "/me/webhook", { body: { url: "http://127.0.0.1:9/" } });
  const { deliveryId } = (await ask("POST", "/me/webhook/test")).value;
  await world.operator.driver.batch([
    {
      sql: "UPDATE deliveries SET lease = 'somebody', due_at = ? WHERE delivery_id = ?",
      args: [world.service.clock.now() + 60_000, deliveryId],
    },
  ]);
  await see("DeliveryUnderWay", "POST", `/me/deliveries/${deliveryId}/retry`);
  await world.operator.webhooks.disable("own", world.service.clock.now());
  await see("WebhookDisabled", "POST", "/me/webhook/test");
  for (const [name, value] of Object.entries(seen))
    expect({ [name]: value }).toEqual({
      [name]: (resolve(`#/components/responses/${name}`) as Shown).content["application/json"].example,
    });
  expect(Object.keys(seen).sort()).toEqual(errorsOf(document, true));
  await world.close();
});

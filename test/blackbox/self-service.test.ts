import { expect, test } from "bun:test";
import { withinOneSecond } from "../harness/eventually.ts";
import { teachers } from "./registry.ts";
import { api, type Partner, sharedWorld } from "./world.ts";

const world = sharedWorld({ rows: [teachers.valid] });

type Answer = {
  readonly status: number;
  readonly code: string | null;
  readonly body: Record<string, string>;
};

/** A call about the partner that has this key. @throws what `fetch` throws when nobody answers */
async function ask(key: string, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${world.service().url}${api}/me${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Record<string, string>;
  return { status: response.status, code: response.headers.get("X-Error-Code"), body: answer };
}

/** A partner that the operator has left its keys, webhook and filter to, as every thread and node knows. */
async function selfServing(): Promise<Partner> {
  const partner = await world.partner({ perMinute: 1_000 });
  await world.tvs("partners", "set", partner.id, "--self-service", "on");
  await withinOneSecond(
    async () => String((await ask(partner.apiKey, "GET", "")).body.selfService) === "true",
  );
  return partner;
}

test("a partner lives by itself: filter, webhook, deliveries, a new key and the end of the old one", async () => {
  const { id, apiKey, keyId } = await selfServing();
  const told = { events: ["license.revoked"], teachers: "watched" };
  expect((await ask(apiKey, "PUT", "/told", told)).body).toEqual(told as never);
  expect(await ask(apiKey, "POST", "/webhook/test")).toMatchObject({ status: 404, code: "NO_WEBHOOK" });
  const url = "https://203.0.114.7/hook";
  const { secret } = (await ask(apiKey, "PUT", "/webhook", { url })).body;
  expect((await ask(apiKey, "PUT", "/webhook", { url })).body).toEqual({ url, state: "enabled" });
  const rotated = await ask(apiKey, "POST", "/webhook/rotate-secret");
  expect([secret, rotated.body.secret]).toEqual([
    expect.stringMatching(/^whsec_/),
    expect.not.stringMatching(`^${secret}$`),
  ]);
  const sent = await ask(apiKey, "POST", "/webhook/test");
  const listed = await ask(apiKey, "GET", "/deliveries?limit=1");
  expect(listed.body.data).toMatchObject([{ deliveryId: sent.body.deliveryId }]);
  const made = (await ask(apiKey, "POST", "/keys")).body;
  const next = made.apiKey ?? "";
  expect(await ask(next, "DELETE", `/keys/${made.keyId}`)).toMatchObject({ status: 409, code: "KEY_ASKING" });
  expect((await ask(next, "DELETE", `/keys/${keyId}`)).status).toBe(200);
  expect(await ask(apiKey, "GET", "")).toMatchObject({ status: 401, code: "CREDENTIAL_INVALID" });
  expect((await ask(next, "GET", "")).body).toMatchObject({
    partnerId: id,
    told,
    webhook: { url },
    selfService: true,
  });

  const history = await world.tvsJson<{ actor: string; action: string }[]>("partners", "history", id);
  const own = history.filter(({ actor }) => actor === `partner:${id}`).map(({ action }) => action);
  expect(own).toEqual([
    "key revoked",
    "key issued",
    "webhook tested",
    "webhook secret rotated",
    "webhook set",
    "changed",
  ]);
  await world.tvs("partners", "set", id, "--self-service", "off");
  await withinOneSecond(async () => (await ask(next, "PUT", "/told", told)).code === "SELF_SERVICE_OFF");
});

test("what was answered is so after a kill, and a key that asks stays good through any", async () => {
  const { apiKey, keyId } = await selfServing();
  const url = "https://203.0.114.7/hook";
  await ask(apiKey, "PUT", "/webhook", { url });
  for (let round = 0; round < 3; round++) {
    const teachers = round % 2 === 0 ? "verified" : "all";
    const changes = [
      ask(apiKey, "PUT", "/told", { teachers }),
      ask(apiKey, "POST", "/keys"),
      ask(apiKey, "POST", "/webhook/rotate-secret"),
    ].map((one) => one.catch(() => null));
    // In the first round nothing is answered yet, in the others some of it is.
    if (round > 0) await changes[round - 1];
    await world.restart({ kill: true });
    const [toldNow, made] = await Promise.all(changes);
    const seen = (await ask(apiKey, "GET", "")).body as unknown as {
      told: { teachers: string };
      credentials: { keyId: string }[];
    };
    if (toldNow?.status === 200) expect(seen.told.teachers).toBe(teachers);
    const keys = seen.credentials.map((one) => one.keyId);
    expect([keys.includes(keyId), keys.length <= 2]).toEqual([true, true]);
    if (made?.status === 200) {
      expect(keys).toContain(made.body.keyId ?? "");
      expect((await ask(made.body.apiKey ?? "", "GET", "")).status).toBe(200);
    }
    for (const other of keys.filter((one) => one !== keyId))
      expect((await ask(apiKey, "DELETE", `/keys/${other}`)).status).toBe(200);
  }
  const { secret } = (await ask(apiKey, "POST", "/webhook/rotate-secret")).body;
  expect(secret).toMatch(/^whsec_/);
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { expectRefusal } from "../../harness/refusal.ts";
import { withTestContext } from "../../harness/service.ts";
import { makeWebhookTerminal, type WebhookTerminal } from "./webhook-terminal.ts";

let world: WebhookTerminal;
const secretPattern = /^whsec_[0-9A-Za-z+/]{43}=$/;
const allTypes = 7;
/** An address of the public internet. Nothing is ever sent to it: no service runs over these deliveries. */
const publicUrl = "https://8.8.8.8/events?token=hush";

beforeAll(async () => {
  world = await makeWebhookTerminal();
  await world.addPartner("bare");
});
afterAll(() => world.remove());

test("tvs partners webhook set prints a secret, and keeps it when the endpoint is set again", async () => {
  await world.addPartner("agency");
  const made = await world.json(`partners webhook set agency ${publicUrl}`);
  expect(Object.keys(made)).toEqual(["partnerId", "url", "secret"]);
  expect(made).toMatchObject({ partnerId: "agency", url: publicUrl });
  expect(made.secret).toMatch(secretPattern);
  const before = await world.json("partners webhook show agency");
  expect(before).toMatchObject({ state: "enabled", teachers: "all", pending: 0, dead: 0, lastError: null });
  expect(before.events).toHaveLength(allTypes);

  const flags = "--events license.revoked,license.expired --teachers verified";
  await world.json(`partners webhook set agency ${publicUrl} ${flags}`);
  await world.json("partners webhook disable agency");
  const again = await world.json("partners webhook set agency https://9.9.9.9/hooks");
  expect(again).toEqual({ partnerId: "agency", url: "https://9.9.9.9/hooks", secret: made.secret });
  expect(await world.json("partners webhook show agency")).toMatchObject({
    ...{ url: "https://9.9.9.9/hooks", teachers: "verified", events: ["license.expired", "license.revoked"] },
    ...{ state: "enabled", disabledAt: null, disabledReason: null },
  });
  await world.json("partners webhook set agency https://9.9.9.9/hooks --teachers all --events all");
  const all = await world.json("partners webhook show agency");
  expect([all.teachers, all.events.length]).toEqual(["all", allTypes]);
});

test("no command except tvs partners webhook set and rotate-secret prints a webhook's secret", async () => {
  await world.addPartner("quiet");
  const { secret } = await world.json(`partners webhook set quiet ${publicUrl}`);
  const own = ["show", "disable", "enable"].map((name) => `partners webhook ${name} quiet`);
  const lines = [...own, "partners show quiet", "webhooks list", "status"];
  for (const line of lines.flatMap((one) => [one, `${one} --json`])) {
    const { code, stdout, stderr } = await world.run(line);
    expect([line, code, (stdout + stderr).includes(secret)]).toEqual([line, 0, false]);
  }
});

test("tvs partners webhook set --allow-private-webhooks accepts private addresses and http, and says that serve needs the option too", async () => {
  await world.addPartner("private");
  const line = "partners webhook set private http://127.0.0.1:9/x --allow-private-webhooks";
  expect(await world.run(line)).toMatchObject({ code: 0, stderr: expect.stringContaining("tvs serve") });
});

test("tvs partners webhook rotate-secret prints a new secret, and until when the old one signs too", async () => {
  await world.addPartner("rotating");
  const { secret } = await world.json(`partners webhook set rotating ${publicUrl}`);
  const begun = Date.now();
  const rotated = await world.json("partners webhook rotate-secret rotating --overlap 2h");
  expect(rotated.secret).toMatch(secretPattern);
  expect(rotated.secret).not.toBe(secret);
  expect(Date.parse(rotated.previousSecretUntil) - 2 * 3_600_000).toBeWithin(begun, Date.now() + 1);
  const day = await world.json("partners webhook rotate-secret rotating");
  expect(Date.parse(day.previousSecretUntil)).toBeGreaterThanOrEqual(begun + 24 * 3_600_000);
  expect((await world.json("partners webhook set rotating https://9.9.9.9/")).secret).toBe(day.secret);
  const atOnce = await world.json("partners webhook rotate-secret rotating --overlap 0s");
  expect(atOnce.previousSecretUntil).toBeNull();
});

test("disabling a webhook endpoint holds its deliveries, and enabling it releases them", async () => {
  await world.addPartner("switched");
  await world.json(`partners webhook set switched ${publicUrl}`);
  const { deliveryId } = await world.json("partners webhook test switched");
  const { disabledAt, disabledReason, state } = await world.json("partners webhook disable switched");
  expect({ disabledReason, state }).toEqual({ disabledReason: "operator", state: "disabled" });
  expect((await world.json("partners webhook disable switched")).disabledAt).toBe(disabledAt);
  expect((await world.json(`webhooks show ${deliveryId}`)).heldBy).toBe("endpoint");
  const shown = await world.run("partners webhook show switched");
  expect(shown.stderr).toContain("tvs partners webhook enable switched");
  expect(await world.run("partners webhook test switched")).toMatchObject({ code: 1, stdout: "" });
  expect(await world.json("status")).toMatchObject({ webhooks: { disabledEndpoints: ["switched"] } });
  const enabled = await world.json("partners webhook enable switched");
  expect(enabled).toMatchObject({ state: "enabled", disabledAt: null, disabledReason: null });
  expect((await world.json(`webhooks show ${deliveryId}`)).heldBy).toBeNull();
});

test("removing a webhook endpoint marks its deliveries dead", async () => {
  await world.addPartner("removed");
  await world.json(`partners webhook set removed ${publicUrl}`);
  const { deliveryId } = await world.json("partners webhook test removed");
  const gone = await world.json("partners webhook remove removed");
  expect(gone).toEqual({ partnerId: "removed", removed: true, dead: 1 });
  expect((await world.json(`webhooks show ${deliveryId}`)).state).toBe("dead");
  expect((await world.run("partners webhook remove removed")).code).toBe(1);
  // A removal that is killed after its first commit leaves deliveries without an endpoint.
  await world.json(`partners webhook set removed ${publicUrl}`);
  await world.json("partners webhook test removed");
  await withTestContext(world.dataDir, ({ stores }) => stores.webhooks.remove("removed"));
  expect(await world.json("partners webhook remove removed")).toMatchObject({ dead: 1 });
});

test.each([
  ["set bare http://8.8.8.8/", 1, /^tvs: webhook .*https:\/\//],
  ["set bare http://localhost:3000", 1, /^tvs: webhook .*https:\/\//],
  ["set bare https://0x7f.1/", 1, /^tvs: webhook .*loopback/],
  ["set bare https://169.254.169.254/latest", 1, /^tvs: webhook .*not public/],
  // The refusals above have stored nothing.
  ["show bare", 1, "tvs partners webhook set"],
  ["set nobody https://8.8.8.8/", 1, "nobody"],
  ["set agency https://8.8.8.8/ --events license.vanished", 2, "--events"],
  ["set agency https://8.8.8.8/ --teachers some", 2, "--teachers"],
  ["set agency", 2, "URL"],
  ["rotate-secret agency --overlap 5", 2, "--overlap"],
  ["show nobody", 1, "nobody"],
  ["disable bare", 1, "tvs partners webhook set"],
  ["rotate-secret bare", 1, "tvs partners webhook set"],
])("tvs partners webhook %s exits with %i and one line", async (words, code, named) => {
  await expectRefusal(world.run(`partners webhook ${words}`), code, named);
});

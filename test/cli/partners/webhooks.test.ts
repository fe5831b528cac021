import { beforeAll, expect, test } from "bun:test";
import { openService } from "../../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { queueTestEvent } from "../../../src/domain/webhooks.ts";
import { configureLog } from "../../../src/logger.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { type Endpoint, type Received, signatureOf, withEndpoint } from "../../harness/endpoint.ts";
import { until } from "../../harness/eventually.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { addPartner, withTestContext } from "../../harness/service.ts";

configureLog(() => {});

/** Makes functions that run commands over a new register. */
function makeTerminal() {
  const dataDir = sharedFolder();
  return {
    dataDir,
    run: (line: string) => runTvs(line.split(" "), { dataDir }),
    json: (line: string) => runJson<ReturnType<typeof JSON.parse>>(line.split(" "), { dataDir }),
    addPartner: (id: string) => withTestContext(dataDir, (operator) => addPartner(operator, id)),
  };
}

/** A service runs only over the register of `sending`. */
const [world, sending, held] = [makeTerminal(), makeTerminal(), makeTerminal()];
const secretPattern = /^whsec_[0-9A-Za-z+/]{43}=$/;
const allTypes = 7;
/** An address of the public internet. Nothing is ever sent to it. */
const publicUrl = "https://8.8.8.8/events?token=hush";
const diedAt = Date.parse("2020-03-01T12:00:00Z");

beforeAll(() => world.addPartner("bare"));

test("tvs partners webhook set prints a secret, and keeps the secret when the endpoint is set again", async () => {
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

test("tvs partners webhook rotate-secret prints a new secret, and the time until which the old secret signs too", async () => {
  await world.addPartner("rotating");
  const { secret } = await world.json(`partners webhook set rotating ${publicUrl}`);
  const begun = Date.now();
  const rotated = await world.json("partners webhook rotate-secret rotating --overlap 2h");
  expect(rotated.secret).toMatch(secretPattern);
  expect(rotated.secret).not.toBe(secret);
  expect(Date.parse(rotated.previousSecretUntil) - 2 * 3_600_000).toBeWithin(begun, Date.now() + 1);
  expect(await world.json(`partners webhook set rotating ${publicUrl}`)).not.toHaveProperty("secret", secret);
  const usual = await world.json("partners webhook rotate-secret rotating");
  expect(Date.parse(usual.previousSecretUntil)).toBeGreaterThanOrEqual(begun + 24 * 3_600_000);
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
  ["partners webhook set bare http://8.8.8.8/", 1, /^tvs: webhook .*https:\/\//],
  ["partners webhook set bare http://localhost:3000", 1, /^tvs: webhook .*https:\/\//],
  ["partners webhook set bare https://0x7f.1/", 1, /^tvs: webhook .*loopback/],
  ["partners webhook set bare https://169.254.169.254/latest", 1, /^tvs: webhook .*not public/],
  // The refusals above have stored nothing.
  ["partners webhook show bare", 1, "tvs partners webhook set"],
  ["partners webhook set nobody https://8.8.8.8/", 1, "nobody"],
  ["partners webhook set agency https://8.8.8.8/ --events license.vanished", 2, "--events"],
  ["partners webhook set agency https://8.8.8.8/ --teachers some", 2, "--teachers"],
  ["partners webhook set agency", 2, "URL"],
  ["partners webhook rotate-secret agency --overlap 5", 2, "--overlap"],
  ["partners webhook show nobody", 1, "nobody"],
  ["partners webhook disable bare", 1, "tvs partners webhook set"],
  ["partners webhook rotate-secret bare", 1, "tvs partners webhook set"],
  ["webhooks list --state gone", 2, "--state"],
  ["webhooks list --partner nobody", 1, "nobody"],
  ["webhooks show", 2, "DELIVERY"],
  ["webhooks show 00000000-0000-7000-8000-000000000000", 1, "tvs webhooks list"],
  ["webhooks retry", 2, "--dead"],
  ["webhooks retry some --dead", 2, "--dead"],
  ["webhooks retry --dead --partner nobody", 1, "nobody"],
  ["webhooks retry 00000000-0000-7000-8000-000000000000", 1, "tvs webhooks list"],
])("tvs %s exits with %i and one line", async (line, code, named) => {
  await expectRefusal(world.run(line), code, named);
});

async function subscribe(partnerId: string, url = "http://127.0.0.1:9/events"): Promise<string> {
  await sending.addPartner(partnerId);
  return (await sending.json(`partners webhook set ${partnerId} ${url} --allow-private-webhooks`)).secret;
}

/** Without `retryAt` the delivery is dead. */
type Failure = { error: string; status: number | null; at: number; retryAt?: number };

/** Makes a delivery that has failed, as the sender records it. @returns its id */
function addFailed(partnerId: string, { error, status, at, retryAt }: Failure): Promise<string> {
  return withTestContext(sending.dataDir, async (operator) => {
    const { outbox, webhooks } = operator;
    const { deliveryId } = await queueTestEvent(operator, partnerId);
    const lease = { token: `of ${deliveryId}`, now: at, until: at + 60_000 };
    const [delivery] = await outbox.lease([{ partnerId, limit: 1, except: [] }], lease);
    const url = (await webhooks.endpoint(partnerId))?.url;
    if (delivery?.deliveryId !== deliveryId || url === undefined) throw new Error("another one was leased");
    const next = retryAt === undefined ? ("dead" as const) : { dueAt: retryAt };
    const times = { at, finishedAt: at + 12, durationMs: 12 };
    if (!(await outbox.finish({ delivery, url, ...times, status, error, next, isGone: false })))
      throw new Error("the lease was lost");
    return deliveryId;
  });
}

/** Runs a function with an endpoint that accepts everything. */
const withAccepting = (act: (endpoint: Endpoint) => Promise<void>) =>
  withEndpoint(() => ({ status: 204 }), act);

/** Runs a service that sends webhooks, also to this machine, until the endpoint has a request. @returns the request */
async function sendTo({ received }: Endpoint): Promise<Received> {
  const config = readCommandConfig({ data: sending.dataDir, "allow-private-webhooks": true }, {});
  const { close } = await openService(config);
  // `close` waits for attempts under way, so this attempt is recorded too.
  await until(() => received.length > 0).finally(close);
  return received[0] as Received;
}

test("tvs webhooks list, show and retry find, explain and resend a dead delivery", () =>
  withAccepting(async (endpoint) => {
    const secret = await subscribe("story", endpoint.url);
    const id = await addFailed("story", { error: "BAD_STATUS", status: 503, at: diedAt });

    const found = await sending.run("webhooks list --state dead --partner story");
    expect(found.code).toBe(0);
    expect(found.stdout).toContain(id);
    expect(found.stderr).toContain("tvs webhooks show DELIVERY");

    const explained = await sending.run(`webhooks show ${id}`);
    expect(explained).toMatchObject({ code: 0, stderr: "" });
    expect(explained.stdout).toMatch(/^state +dead$/m);
    expect(explained.stdout).toContain("The endpoint answered with 503, which is not 2xx.");
    expect(explained.stdout.trimEnd()).toEndWith(`then tvs webhooks retry ${id}`);

    const retried = await sending.run(`webhooks retry ${id}`);
    expect(retried).toMatchObject({ code: 0, stdout: "1 delivery is due now\n" });
    expect(retried.stderr).toContain("no service is running");

    const request = await sendTo(endpoint);
    expect(request.headers["x-agency-delivery-id"]).toBe(id);
    expect(signatureOf(request).isOf(secret, 0)).toBe(true);
    const shown = await sending.json(`webhooks show ${id}`);
    const delivered = { state: "delivered", attempts: 2, lastStatus: 204, lastError: null };
    expect(shown).toMatchObject({ ...delivered, body: request.body });
    expect(shown.attemptList).toMatchObject([
      { number: 1, at: "2020-03-01T12:00:00.000Z", error: "BAD_STATUS", status: 503, durationMs: 12 },
      { number: 2, error: null, status: 204, explanation: "The endpoint acknowledged it." },
    ]);
    await expectRefusal(sending.run(`webhooks retry ${id}`), 1, /^tvs: .*already been acknowledged.*\n$/);
  }));

test("a starting service sends a delivery that a killed service had leased, before that lease ends", () =>
  withAccepting(async (endpoint) => {
    await subscribe("killed", endpoint.url);
    const { deliveryId } = await withTestContext(sending.dataDir, async (operator) => {
      const sent = await queueTestEvent(operator, "killed");
      const now = Date.now();
      const lease = { token: "of the dead", now, until: now + 3_600_000 };
      const partners = [{ partnerId: "killed", limit: 8, except: [] }];
      expect(await operator.stores.outbox.lease(partners, lease)).toHaveLength(1);
      return sent;
    });
    expect((await sendTo(endpoint)).headers["x-agency-delivery-id"]).toBe(deliveryId);
    const delivered = { state: "delivered", attempts: 1 };
    expect(await sending.json(`webhooks show ${deliveryId}`)).toMatchObject(delivered);
  }));

test("tvs webhooks list shows the newest deliveries first, filtered by state and partner, up to the limit", async () => {
  await subscribe("listed");
  const retryAt = Date.parse("2099-01-01T00:00:00Z");
  const waiting = await addFailed("listed", { error: "TIMEOUT", status: null, at: diedAt, retryAt });
  const dead = await addFailed("listed", { error: "TLS_FAILED", status: null, at: diedAt });
  const [first, second] = await sending.json("webhooks list --partner listed");
  const expected = {
    ...{ "": [dead, waiting], "--limit 1": [dead], "--state pending": [waiting], "--state dead": [dead] },
    ...{ "--state delivered": [], "--since 2999-01-01": [] },
    [`--since ${second.createdAt}`]: [dead, waiting],
    [`--state dead --since ${first.createdAt}`]: [dead],
  };
  type Listed = { deliveryId: string }[];
  for (const [flags, ids] of Object.entries(expected)) {
    const listed: Listed = await sending.json(`webhooks list --partner listed ${flags}`.trim());
    expect([flags, listed.map(({ deliveryId }) => deliveryId)]).toEqual([flags, ids]);
  }
  expect((await sending.run("webhooks list --since yesterday")).code).toBe(2);
  expect(second).toMatchObject({ attempts: 1, lastError: "TIMEOUT", dueAt: "2099-01-01T00:00:00.000Z" });
  const people = await sending.run("webhooks list --partner listed");
  expect(people.stdout).toMatch(/ dead +listed +license\.verified +1 +TLS_FAILED /);
});

test("tvs webhooks retry --dead retries all dead deliveries, or those of a partner or period, and prints how many", async () => {
  await Promise.all([subscribe("first"), subscribe("second")]);
  const dead = (partnerId: string, at: number) =>
    addFailed(partnerId, { error: "TIMEOUT", status: null, at });
  await dead("first", diedAt - 1_000);
  const late = await dead("first", diedAt);
  const other = await dead("second", diedAt);
  const since = "--since 2020-03-01T12:00:00Z";
  expect(await sending.json(`webhooks retry --dead --partner first ${since}`)).toEqual({ retried: 1 });
  expect((await sending.json(`webhooks show ${late}`)).state).toBe("pending");
  expect((await sending.json(`webhooks show ${other}`)).state).toBe("dead");
  const rest = await sending.run("webhooks retry --dead");
  expect(rest.code).toBe(0);
  expect(Number.parseInt(rest.stdout, 10)).toBeGreaterThanOrEqual(2);
  expect((await sending.json("webhooks list --state dead --partner second")).length).toBe(0);
});

test("tvs webhooks release ends the hold after a restore, and enabling an endpoint does not end that hold", async () => {
  await held.addPartner("agency");
  await held.json("partners webhook set agency http://127.0.0.1:9/ --allow-private-webhooks");
  const { deliveryId } = await held.json("partners webhook test agency");
  await withTestContext(held.dataDir, ({ settings }) => settings.write({ hold_webhooks: "true" }));
  // The output does not say that held deliveries are sent.
  const enabled = await held.run("partners webhook enable agency");
  expect(enabled).toMatchObject({ code: 0, stdout: "the endpoint of agency is enabled\n" });
  const waits = "what waits for agency (1): it is held because the database was restored";
  expect(enabled.stderr).toContain(waits);
  expect((await held.run("partners enable agency")).stderr).toContain("tvs webhooks release");
  expect((await held.run("webhooks retry --dead")).stderr).toContain("tvs webhooks release");
  const next = { heldBy: "restore", nextStep: expect.stringContaining("tvs webhooks release") };
  expect(await held.json(`webhooks show ${deliveryId}`)).toMatchObject(next);
  expect(await held.json("webhooks release")).toEqual({ released: true });
  expect((await held.json(`webhooks show ${deliveryId}`)).heldBy).toBeNull();
  expect((await held.run("webhooks release")).stdout).toBe("webhooks were not held\n");
  const due = "the endpoint of agency is enabled; what was held is due now\n";
  expect(await held.run("partners webhook enable agency")).toMatchObject({ stdout: due, stderr: "" });
  await held.json("partners disable agency");
  const resting = await held.run("partners webhook enable agency");
  expect(resting.stdout).toBe("the endpoint of agency is enabled\n");
  expect(resting.stderr).toContain("tvs partners enable agency");
});

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startReceiver } from "../../delivery/receiver.ts";
import { runTvs } from "../../harness/command.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { withTestContext } from "../../harness/service.ts";
import { makeWebhookTerminal, type WebhookTerminal, withSender } from "./webhook-terminal.ts";

let world: WebhookTerminal;
const diedAt = Date.parse("2020-03-01T12:00:00Z");

beforeAll(async () => {
  world = await makeWebhookTerminal();
  // Whichever test comes first finds a register.
  await world.addPartner("somebody");
});
afterAll(() => world.remove());

async function subscribe(partnerId: string, port = 9): Promise<string> {
  await world.addPartner(partnerId);
  const url = `http://127.0.0.1:${port}/events`;
  return (await world.json(`partners webhook set ${partnerId} ${url} --allow-private-webhooks`)).secret;
}

test("three commands find, explain and retry a dead delivery", async () => {
  const received = Promise.withResolvers<string>();
  const receiver = await startReceiver((socket, request) => {
    socket.end("HTTP/1.1 204 No Content\r\n\r\n");
    received.resolve(request);
  });
  try {
    const secret = await subscribe("story", receiver.port);
    const id = await world.addFailed("story", { error: "BAD_STATUS", status: 503, at: diedAt });

    const found = await world.run("webhooks list --state dead --partner story");
    expect(found.code).toBe(0);
    expect(found.stdout).toContain(id);
    expect(found.stderr).toContain("tvs webhooks show DELIVERY");

    const explained = await world.run(`webhooks show ${id}`);
    expect(explained).toMatchObject({ code: 0, stderr: "" });
    expect(explained.stdout).toMatch(/^state +dead$/m);
    expect(explained.stdout).toContain("The endpoint answered with 503, which is not 2xx.");
    expect(explained.stdout.trimEnd()).toEndWith(`then tvs webhooks retry ${id}`);

    const retried = await world.run(`webhooks retry ${id}`);
    expect(retried).toMatchObject({ code: 0, stdout: "1 delivery is due now\n" });
    expect(retried.stderr).toContain("no service is running");

    const request = await withSender(world.dataDir, () => received.promise);
    const [head = "", body = ""] = request.split("\r\n\r\n");
    const header = (name: string) => new RegExp(`^${name}: (.+)$`, "im").exec(head)?.[1]?.trim() ?? "";
    expect(header("x-agency-delivery-id")).toBe(id);
    const signature = header("x-agency-signature");
    const words = ["verify-webhook", "-", "--secret", secret, "--signature", signature, "--json"];
    const verified = await runTvs(words, { stdin: body });
    expect(JSON.parse(verified.stdout)).toMatchObject({ valid: true, event: { data: { tId: null } } });
    const shown = await world.json(`webhooks show ${id}`);
    expect(shown).toMatchObject({ state: "delivered", attempts: 2, lastStatus: 204, lastError: null, body });
    expect(shown.attemptList).toMatchObject([
      { number: 1, at: "2020-03-01T12:00:00.000Z", error: "BAD_STATUS", status: 503, durationMs: 12 },
      { number: 2, error: null, status: 204, explanation: "The endpoint acknowledged it." },
    ]);
    await expectRefusal(world.run(`webhooks retry ${id}`), 1, /^tvs: .*already been acknowledged.*\n$/);
  } finally {
    receiver.close();
  }
});

test("tvs webhooks list shows the newest deliveries first, filtered by state and partner, up to the limit", async () => {
  await subscribe("listed");
  const retryAt = Date.parse("2099-01-01T00:00:00Z");
  const waiting = await world.addFailed("listed", { error: "TIMEOUT", status: null, at: diedAt, retryAt });
  const dead = await world.addFailed("listed", { error: "TLS_FAILED", status: null, at: diedAt });
  const [first, second] = await world.json("webhooks list --partner listed");
  const expected = {
    ...{ "": [dead, waiting], "--limit 1": [dead], "--state pending": [waiting], "--state dead": [dead] },
    ...{
      "--state delivered": [],
      "--since 2999-01-01": [],
      [`--since ${second.createdAt}`]: [dead, waiting],
    },
    [`--state dead --since ${first.createdAt}`]: [dead],
  };
  for (const [flags, ids] of Object.entries(expected)) {
    const listed: { deliveryId: string }[] = await world.json(
      `webhooks list --partner listed ${flags}`.trim(),
    );
    expect([flags, listed.map(({ deliveryId }) => deliveryId)]).toEqual([flags, ids]);
  }
  expect((await world.run("webhooks list --since yesterday")).code).toBe(2);
  expect(second).toMatchObject({ attempts: 1, lastError: "TIMEOUT", dueAt: "2099-01-01T00:00:00.000Z" });
  const people = await world.run("webhooks list --partner listed");
  expect(people.stdout).toMatch(/ dead +listed +license\.verified +1 +TLS_FAILED /);
});

test("tvs webhooks retry --dead retries all dead deliveries, or those of a partner or a period, and prints their number", async () => {
  await Promise.all([subscribe("first"), subscribe("second")]);
  const dead = (partnerId: string, at: number) =>
    world.addFailed(partnerId, { error: "TIMEOUT", status: null, at });
  await dead("first", diedAt - 1_000);
  const late = await dead("first", diedAt);
  const other = await dead("second", diedAt);
  const since = "--since 2020-03-01T12:00:00Z";
  expect(await world.json(`webhooks retry --dead --partner first ${since}`)).toEqual({ retried: 1 });
  expect((await world.json(`webhooks show ${late}`)).state).toBe("pending");
  expect((await world.json(`webhooks show ${other}`)).state).toBe("dead");
  const rest = await world.run("webhooks retry --dead");
  expect(rest.code).toBe(0);
  expect(Number.parseInt(rest.stdout, 10)).toBeGreaterThanOrEqual(2);
  expect((await world.json("webhooks list --state dead --partner second")).length).toBe(0);
});

test("tvs webhooks release ends the hold after a restore, which enabling an endpoint does not", async () => {
  const held = await makeWebhookTerminal();
  try {
    await held.addPartner("agency");
    await held.json("partners webhook set agency http://127.0.0.1:9/ --allow-private-webhooks");
    const { deliveryId } = await held.json("partners webhook test agency");
    await withTestContext(held.dataDir, ({ settings }) => settings.write({ hold_webhooks: "true" }));
    // Nothing says that it is sent while it is not.
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
  } finally {
    await held.remove();
  }
});

test.concurrent.each([
  ["list --state gone", 2, "--state"],
  ["list --partner nobody", 1, "nobody"],
  ["show", 2, "DELIVERY"],
  ["show 00000000-0000-7000-8000-000000000000", 1, "tvs webhooks list"],
  ["retry", 2, "--dead"],
  ["retry some --dead", 2, "--dead"],
  ["retry --dead --partner nobody", 1, "nobody"],
  ["retry 00000000-0000-7000-8000-000000000000", 1, "tvs webhooks list"],
])("tvs webhooks %s exits with %i and one line", async (words, code, named) => {
  await expectRefusal(world.run(`webhooks ${words}`), code, named);
});

import { expect, test } from "bun:test";
import { sweepLicenses } from "../../src/domain/sweep.ts";
import { bind } from "../../src/store/driver/driver.ts";
import { lagos } from "../harness/clock.ts";
import { type TestWebhooks, withWebhooks } from "../harness/webhooks.ts";

/** `partner event-type` of each delivery, in the order in which they were made. */
async function made(world: TestWebhooks): Promise<string[]> {
  const rows = await world.rows(
    `SELECT partner_id || ' ' || event_type AS line FROM deliveries JOIN events ON events.id = event ORDER BY deliveries.id`,
  );
  return rows.map((row) => String(row.line));
}

async function subscribe(world: TestWebhooks, ...[id, terms]: [string, object?]): Promise<void> {
  await world.subscribe(id, "http://127.0.0.1:9/hook", terms);
}

test("a delivery that a sweep causes has the time of the sweep, not of the expiry", () =>
  withWebhooks(async (world) => {
    await world.put("A/B/C/1");
    await subscribe(world, "board");
    world.clock.set("2100-03-01T00:00:00Z");
    await sweepLicenses(world.teachers, { calendar: lagos, clock: world.clock, actor: "test" });
    expect(await made(world)).toEqual(["board license.expired"]);
    const [row] = await world.rows("SELECT created_at FROM deliveries");
    expect(Number(row?.created_at)).toBe(world.clock.now());
  }));

test("a new event and its delivery do not raise the configuration's revision", () =>
  withWebhooks(async (world) => {
    await subscribe(world, "board");
    const revision = await world.settings.revision();
    await world.put("A/B/C/1");
    expect(await made(world)).toEqual(["board license.verified"]);
    expect(await world.settings.revision()).toBe(revision);
  }));

test("a partner's backlog is due since its oldest delivery that is due, new or retried", () =>
  withWebhooks(async ({ driver, put, subscribe, webhooks, clock }) => {
    await subscribe("board", "http://127.0.0.1:9/hook");
    const now = clock.now();
    const dueSince = async (at = now) => (await webhooks.backlog(at)).map(({ oldestDueAt }) => oldestDueAt);
    const retryAt = (at: number) =>
      driver.batch([bind("UPDATE deliveries SET due_at = ? WHERE id = 1", [at])]);
    await put("A/B/C/1");
    expect([await dueSince(), await dueSince(now - 1)]).toEqual([[now], [null]]);
    for (const at of [now - 50, now + 50]) {
      await retryAt(at);
      expect(await dueSince()).toEqual([at > now ? null : at]);
    }
    await put("A/B/C/2");
    expect([await dueSince(), await dueSince(now + 50)]).toEqual([[now], [now]]);
  }));

import { expect, test } from "bun:test";
import { sweepLicenses } from "../../src/domain/sweep.ts";
import { bind } from "../../src/store/driver/driver.ts";
import { lagos } from "../harness/clock.ts";
import { type TestWebhooks, withWebhooks } from "../harness/webhooks.ts";

const url = "http://127.0.0.1:9/hook";

/** Reads the event types of the deliveries, in the order of the deliveries' ids. */
async function made({ rows }: TestWebhooks): Promise<unknown[]> {
  const sql = "SELECT event_type FROM deliveries JOIN events ON events.id = event ORDER BY deliveries.id";
  return (await rows(sql)).map((row) => row.event_type);
}

test("a delivery that a sweep causes has the time of the sweep, not of the expiry", () =>
  withWebhooks(async (world) => {
    await world.put("A/B/C/1");
    await world.subscribe("board", url);
    world.clock.set("2100-03-01T00:00:00Z");
    await sweepLicenses(world.teachers, { calendar: lagos, clock: world.clock, actor: "test" });
    expect(await made(world)).toEqual(["license.expired"]);
    const [row] = await world.rows("SELECT created_at FROM deliveries");
    expect(Number(row?.created_at)).toBe(world.clock.now());
  }));

test("a new event and its delivery do not raise the configuration's revision", () =>
  withWebhooks(async (world) => {
    await world.subscribe("board", url);
    const revision = await world.settings.revision();
    await world.put("A/B/C/1");
    expect(await made(world)).toEqual(["license.verified"]);
    expect(await world.settings.revision()).toBe(revision);
  }));

test("a partner's backlog has the due time of its oldest due delivery, new or retried", () =>
  withWebhooks(async ({ driver, put, subscribe, webhooks, clock }) => {
    await subscribe("board", url);
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

import { describe, expect, test } from "bun:test";
import { sweep } from "../../src/domain/sweep.ts";
import { changeTeacher } from "../../src/domain/teachers/changes.ts";
import { planWrite } from "../../src/domain/teachers/store.ts";
import { createImportStore } from "../../src/store/imports.ts";
import { lagos } from "../harness/clock.ts";
import { beginImport, commitChunk } from "../harness/imports.ts";
import { rejection } from "../harness/rejection.ts";
import { aTeacher } from "../harness/samples.ts";
import { type TestWebhooks, withWebhooks } from "../harness/webhooks.ts";

const change = (world: TestWebhooks) => ({ ...world, calendar: lagos, actor: "test" });
const revoke = (world: TestWebhooks) =>
  changeTeacher(change(world), { by: "regNo", value: "A/B/C/1" }, { action: "revoke", reason: "test" });

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

describe("every path that stores an event makes its deliveries with it", () => {
  test("a command", () =>
    withWebhooks(async (world) => {
      await world.put("A/B/C/1");
      await subscribe(world, "board");
      await revoke(world);
      expect(await made(world)).toEqual(["board license.revoked"]);
      const [row] = await world.rows("SELECT state, attempts, due_at, created_at FROM deliveries");
      expect(row).toMatchObject({ state: "pending", attempts: 0, due_at: 0, created_at: world.clock.now() });
    }));

  test("the sweep, whose deliveries are made at the time of the sweep and not of the expiry", () =>
    withWebhooks(async (world) => {
      await world.put("A/B/C/1");
      await subscribe(world, "board");
      world.clock.set("2100-03-01T00:00:00Z");
      await sweep(world.teachers, { calendar: lagos, clock: world.clock, actor: "test" });
      expect(await made(world)).toEqual(["board license.expired"]);
      const [row] = await world.rows("SELECT created_at FROM deliveries");
      expect(Number(row?.created_at)).toBe(world.clock.now());
    }));

  test("an import, all of a chunk or nothing", () =>
    withWebhooks(async (world) => {
      await subscribe(world, "board");
      const imports = createImportStore(world.driver, world.folder);
      const run = await beginImport(imports);
      const at = world.clock.now();
      const write = (regNo: string, tId: number) => {
        const planned = planWrite(null, aTeacher(regNo, { tId }), {
          action: "import",
          actor: "test",
          calendar: lagos,
          at,
        });
        return { ...planned, changed: null };
      };
      const clash = [write("A/B/C/1", 1), write("A/B/C/2", 1)];
      expect(await rejection(commitChunk(imports, run, clash, { ...run, applied: 2 }))).toMatchObject({
        code: "STORE_CONSTRAINT",
      });
      expect([await made(world), await world.rows("SELECT 1 FROM events")]).toEqual([[], []]);
      const good = [write("A/B/C/1", 1), write("A/B/C/2", 2)];
      await commitChunk(imports, run, good, { ...run, applied: 2 });
      const both = ["board license.verified", "board certificate.verified"];
      expect(await made(world)).toEqual([...both, ...both]);
    }));

  test("a change that is not applied makes none", () =>
    withWebhooks(async (world) => {
      const teacher = await world.put("A/B/C/1");
      await subscribe(world, "board");
      const content = { ...teacher, certificateStatus: "VERIFIED" as const };
      const at = world.clock.now();
      const write = planWrite(teacher, content, { action: "import", actor: "test", calendar: lagos, at });
      expect(await world.teachers.apply([write, write])).toEqual([true, false]);
      expect(await made(world)).toEqual(["board certificate.verified"]);
    }));
});

describe("the outbox", () => {
  test("moves a revision of its own, and the service's only for what the service reads", () =>
    withWebhooks(async (world) => {
      const revisions = async () => [await world.settings.revision(), await world.outbox.revision()] as const;
      await world.put("A/B/C/1");
      const start = await revisions();
      expect(start[1]).toBe(`${start[0]} 1`);
      await subscribe(world, "board");
      const [service, sender] = await revisions();
      await world.put("A/B/C/2");
      expect((await revisions())[0]).toBe(service);
      expect((await revisions())[1]).not.toBe(sender);
    }));

  test("finds an endpoint's next work by its index, however many deliveries wait", () =>
    withWebhooks(async (world) => {
      const plan = await world.rows(
        `EXPLAIN QUERY PLAN SELECT due_at FROM deliveries WHERE state = 'pending' AND partner_id = ? ORDER BY due_at LIMIT 1`,
        ["board"],
      );
      expect(plan.map((row) => row.detail)).toEqual([
        "SEARCH deliveries USING COVERING INDEX deliveries_pending (partner_id=?)",
      ]);
    }));
});

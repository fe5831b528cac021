import { describe, expect, test } from "bun:test";
import { sweep } from "../../src/domain/sweep.ts";
import { changeTeacher } from "../../src/domain/teachers/changes.ts";
import { planWrite } from "../../src/domain/teachers/store.ts";
import { eventsOf } from "../../src/store/events.ts";
import { createImportStore } from "../../src/store/imports.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { lagos } from "../harness/clock.ts";
import { attest } from "../harness/evidence.ts";
import { anAttestation, aSigningKey, aTeacher } from "../harness/samples.ts";
import { type TestWebhooks, withWebhooks } from "../harness/webhooks.ts";

const change = (world: TestWebhooks) => ({ ...world, calendar: lagos, actor: "test" });

let attested = 0;
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
      const run = await imports.begin({ file: "f", sha256: "s", options: "{}", at: 1 });
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
      expect(await imports.commit(run, clash, { ...run, applied: 2 })).toMatchObject({ outcome: "conflict" });
      expect([await made(world), await world.rows("SELECT 1 FROM events")]).toEqual([[], []]);
      const good = [write("A/B/C/1", 1), write("A/B/C/2", 2)];
      expect(await imports.commit(run, good, { ...run, applied: 2 })).toMatchObject({ outcome: "applied" });
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

  test("a batch that fails leaves neither event nor delivery", () =>
    withWebhooks(async (world) => {
      const { id } = await world.put("A/B/C/1");
      await subscribe(world, "board");
      const before = await world.rows("SELECT * FROM events");
      const event = { eventId: "e", eventType: "license.expired", occurredAt: 1, body: "{}" } as const;
      const failing = world.driver.batch([
        ...eventsOf([{ id, events: [event] }]),
        { sql: "INSERT INTO deliveries (id) VALUES (NULL)", args: [] },
      ]);
      expect((await Promise.allSettled([failing]))[0]?.status).toBe("rejected");
      expect(await world.rows("SELECT * FROM events")).toEqual(before);
      expect(await made(world)).toEqual([]);
    }));
});

describe("an event goes to", () => {
  test("whoever subscribed to its type", () =>
    withWebhooks(async (world) => {
      await subscribe(world, "revocations", { events: ["license.revoked", "certificate.revoked"] });
      await subscribe(world, "everything");
      await world.put("A/B/C/1");
      await revoke(world);
      expect((await made(world)).sort()).toEqual([
        "everything license.revoked",
        "everything license.verified",
        "revocations license.revoked",
      ]);
    }));

  test("a partner that verified the teacher, when it wants to hear of those only", () =>
    withWebhooks(async (world) => {
      await createKeyStore(world.driver).create(aSigningKey("K", "active"), aSigningKey("P", "pending"));
      for (const name of ["verifier", "stranger", "asked-another"])
        await subscribe(world, name, { teachers: "verified" });
      const [one, other] = [await world.put("A/B/C/1"), await world.put("A/B/C/2")];
      expect(await made(world)).toEqual([]);
      await verify(world, "verifier", one.id);
      await verify(world, "asked-another", other.id);
      await verify(world, "stranger", null);
      await revoke(world);
      expect(await made(world)).toEqual(["verifier license.revoked"]);
    }));

  test("no partner that is disabled, but to a disabled endpoint, where it is held", () =>
    withWebhooks(async (world) => {
      await subscribe(world, "partner-off");
      await subscribe(world, "endpoint-off");
      await world.partners.disable("partner-off", 1);
      await world.webhooks.disable("endpoint-off", 1);
      await world.put("A/B/C/1");
      expect(await made(world)).toEqual(["endpoint-off license.verified"]);
      await world.partners.disable("partner-off", null);
      expect(await made(world)).toEqual(["endpoint-off license.verified"]);
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

  test("gives a claim to one of two, and to the next when its lease has ended", () =>
    withWebhooks(async (world) => {
      await subscribe(world, "board");
      await world.putMany(Array.from({ length: 10 }, (_, index) => `A/B/C/${index}`));
      const claim = (outbox: typeof world.outbox, token: string, now: number, except: number[] = []) =>
        outbox.lease([{ partnerId: "board", limit: 8, except }], { token, now, until: now + 1_000 });
      const [mine, theirs] = await Promise.all([
        claim(world.outbox, "a", 5_000),
        claim(world.other.outbox, "b", 5_000),
      ]);
      const ids = [...mine, ...theirs].map((one) => one.id);
      expect([ids.length, new Set(ids).size]).toEqual([10, 10]);
      expect(await claim(world.outbox, "c", 5_999)).toEqual([]);
      expect(await claim(world.outbox, "c", 6_000, ids)).toEqual([]);
      // Half of the room, because the rest of it is for fresh ones.
      expect((await claim(world.outbox, "c", 6_000)).length).toBe(4);
    }));

  test("hands nothing out for an endpoint that was disabled since it was looked at", () =>
    withWebhooks(async (world) => {
      await subscribe(world, "board");
      await world.put("A/B/C/1");
      expect(await world.outbox.open()).toMatchObject([{ partnerId: "board", nextDueAt: 0 }]);
      await world.webhooks.disable("board", 1);
      const lease = { token: "a", now: 5_000, until: 6_000 };
      expect(await world.outbox.lease([{ partnerId: "board", limit: 8, except: [] }], lease)).toEqual([]);
      expect(await world.outbox.open()).toEqual([]);
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

async function verify(world: TestWebhooks, partnerId: string, teacherId: number | null): Promise<void> {
  const attestation = anAttestation(++attested, { partnerId, teacherId, kid: "K" });
  expect(await attest(world.driver, [attestation])).not.toBeNull();
}

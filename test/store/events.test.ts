import { beforeAll, expect, test } from "bun:test";
import { isTold } from "../../src/domain/deliveries.ts";
import { createEvent } from "../../src/domain/events.ts";
import { planWrite } from "../../src/domain/teachers/store.ts";
import type { TeacherChoice } from "../../src/domain/webhooks.ts";
import { type EventType, eventTypes } from "../../src/partner/contract.ts";
import { type Driver, type Statement, statement } from "../../src/store/driver/driver.ts";
import { eventsOf } from "../../src/store/events.ts";
import { createPartnerStore } from "../../src/store/partners.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { createWebhookStore } from "../../src/store/webhooks.ts";
import { lagos } from "../harness/clock.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { numbers } from "../harness/random.ts";
import { anApiKey, aPartner, aTeacher } from "../harness/samples.ts";

const partnerIds = ["a", "b", "c", "d", "e"];
const teacherCount = 130;
const at = 1_700_000_000_000;

type Terms = { isDisabled: boolean; events: EventType[]; teachers: TeacherChoice } | null;
type Planned = { teacherId: number; eventType: EventType; eventId: string };

describeDrivers("events", (_kind, database) => {
  let driver: Driver;
  const below = numbers(7);
  const isLikely = (chance: number) => below(1_000) < chance * 1_000;

  beforeAll(async () => {
    driver = database.driver();
    const partners = createPartnerStore(driver);
    for (const id of partnerIds) await partners.add(aPartner(id), anApiKey(id, `key-${id}`));
    const writes = Array.from({ length: teacherCount }, (_, n) => ({
      ...planWrite(null, aTeacher(`R/${n + 1}`), { action: "import", actor: "test", calendar: lagos, at }),
      events: [],
    }));
    await createTeacherStore(driver).apply(writes);
  });

  /** Other endpoints each time: none, or one with some types, for all or for verified teachers, held or not. */
  async function drawEndpoints(): Promise<Map<string, Terms>> {
    const [partners, webhooks] = [createPartnerStore(driver), createWebhookStore(driver)];
    const drawn = new Map<string, Terms>();
    for (const partnerId of partnerIds) {
      const isDisabled = isLikely(0.25);
      await partners.disable(partnerId, isDisabled ? at : null);
      await webhooks.remove(partnerId);
      drawn.set(partnerId, null);
      if (isLikely(0.2)) continue;
      const events = eventTypes.filter(() => isLikely(0.5));
      const teachers: TeacherChoice = isLikely(0.5) ? "all" : "verified";
      const secret = new Uint8Array(32);
      await webhooks.set({ partnerId, url: "http://127.0.0.1:9/", events, teachers, secret, at });
      if (isLikely(0.2)) await webhooks.disable(partnerId, at);
      drawn.set(partnerId, { isDisabled, events, teachers });
    }
    return drawn;
  }

  /** Some lookups, of which a part was deleted since. @returns `partner teacher` of each */
  async function drawVerified(): Promise<Set<string>> {
    const verified = new Set<string>();
    const note = "INSERT OR IGNORE INTO verified_before (partner_id, teacher_id) VALUES (?, ?)";
    const insert = `INSERT INTO attestations (verification_id, partner_id, issued_at, kid, endpoint, purpose,
          policy_version, teacher_id, reference, status, eligible, credential, request_id, jws)
        VALUES (?, ?, 1, 'k', 'batch', 'p', '1', ?, 'r', 'VALID', 1, 'c', 'q', 'j')`;
    const statements: Statement[] = [
      statement("DELETE FROM verified_before"),
      statement("DELETE FROM attestations"),
    ];
    for (const partnerId of partnerIds) {
      for (let n = 0; n < 60; n++) {
        const id = 1 + below(teacherCount);
        verified.add(`${partnerId} ${id}`);
        const values = isLikely(0.5) ? [partnerId, id] : null;
        statements.push(
          values === null ? statement(insert, [crypto.randomUUID(), partnerId, id]) : statement(note, values),
        );
      }
    }
    await driver.batch(statements);
    return verified;
  }

  function drawEvent(): ReturnType<typeof createEvent> {
    const eventType = eventTypes[below(eventTypes.length)] as EventType;
    const statuses = { license: "VALID", certificate: "VERIFIED", active: true } as const;
    return createEvent(eventType, {
      tId: null,
      regNo: null,
      occurredAt: at,
      statuses,
      previousStatus: "VALID",
    });
  }

  /** Events as changes of single records make them, or as an import does. */
  async function storeEvents(): Promise<Planned[]> {
    const teachers = Array.from({ length: 1 + below(12) }, () => ({
      id: 1 + below(teacherCount),
      events: Array.from({ length: below(3) }, drawEvent),
    }));
    if (isLikely(0.5)) await driver.batch(eventsOf(teachers));
    else await changeEach(teachers);
    return teachers.flatMap(({ id, events }) =>
      events.map(({ eventId, eventType }) => ({ teacherId: id, eventType, eventId })),
    );
  }

  async function changeEach(teachers: readonly { id: number; events: ReturnType<typeof drawEvent>[] }[]) {
    const store = createTeacherStore(driver);
    for (const { id, events } of teachers) {
      const stored = await store.findStored({ by: "regNo", value: `R/${id}` });
      if (stored === null) throw new Error("not in the register");
      const plan = { action: "import", actor: "test", calendar: lagos, at } as const;
      expect(await store.apply([{ ...planWrite(stored, stored, plan), events }])).toEqual([true]);
    }
  }

  test("go to those whom the domain's rule names, whatever is subscribed, verified and disabled", async () => {
    for (let round = 0; round < 25; round++) {
      const [endpoints, verified] = [await drawEndpoints(), await drawVerified()];
      const planned = await storeEvents();
      const expected = planned.flatMap(({ teacherId, eventType, eventId }) =>
        partnerIds.flatMap((partnerId) => {
          const terms = endpoints.get(partnerId) ?? null;
          if (terms === null) return [];
          const partner = { disabledAt: terms.isDisabled ? at : null };
          const hasVerified = verified.has(`${partnerId} ${teacherId}`);
          const told = isTold({ eventType, teacherId }, { endpoint: terms, partner, hasVerified });
          return told ? [`${eventId} ${partnerId}`] : [];
        }),
      );
      const sql = `SELECT event_id || ' ' || partner_id AS line, delivery_id FROM deliveries
          JOIN events ON events.id = event WHERE event_id IN (SELECT value FROM json_each(?)) ORDER BY deliveries.id`;
      const rows = await driver.query(sql, [JSON.stringify(planned.map(({ eventId }) => eventId))]);
      expect(rows.map(({ line }) => String(line))).toEqual(expected);
      for (const { line, delivery_id: id } of rows) {
        expect(String(id)).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
        expect(String(id).slice(0, 14)).toBe(String(line).slice(0, 14));
      }
    }
  });
});

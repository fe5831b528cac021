import { beforeAll, expect, test } from "bun:test";
import { type EventFilter, teacherFilters } from "../../src/domain/event-filter.ts";
import { createEvent } from "../../src/domain/events.ts";
import { type EventType, eventTypes } from "../../src/partner/contract.ts";
import { bind, type Driver } from "../../src/store/driver/driver.ts";
import { makeEventStatements } from "../../src/store/events.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { seededNumbers } from "../harness/random.ts";
import { anApiKey, aPartner, aTeacherWrite } from "../harness/samples.ts";

const partnerIds = ["a", "b", "c", "d", "e"];
const teacherCount = 130;
const at = 1_700_000_000_000;

type Terms = { isDisabled: boolean; eventFilter: EventFilter; hasEndpoint: boolean };
type Planned = { teacherId: number; eventType: EventType; eventId: string };

describeDrivers("events", (_kind, database) => {
  let driver: Driver;
  const below = seededNumbers(7);
  const isLikely = (chance: number) => below(1_000) < chance * 1_000;

  beforeAll(async () => {
    driver = database.driver();
    const { partners, teachers } = database.stores();
    for (const id of partnerIds) await partners.add(aPartner(id), anApiKey(id, `key-${id}`));
    const writes = Array.from({ length: teacherCount }, (_, n) => aTeacherWrite(`R/${n + 1}`));
    await teachers.apply(writes.map((write) => ({ ...write, events: [] })));
  });

  /** Draws a partner: event types, a teacher filter, and no endpoint, an enabled or a disabled endpoint. */
  async function drawTerms(): Promise<Map<string, Terms>> {
    const { partners, webhooks } = database.stores();
    const drawn = new Map<string, Terms>();
    for (const partnerId of partnerIds) {
      const { disabledAt } = await partners.disable(partnerId, isLikely(0.25) ? at : null);
      await webhooks.remove(partnerId);
      const teachers = teacherFilters[below(3)] ?? "all";
      const eventFilter = { events: eventTypes.filter(() => isLikely(0.5)), teachers };
      const hasEndpoint = isLikely(0.8);
      const endpoint = { partnerId, url: "http://127.0.0.1:9/", secret: new Uint8Array(32), at };
      if (hasEndpoint) await webhooks.set({ ...endpoint, eventFilter });
      else await partners.update({ partnerId, eventFilter });
      if (isLikely(0.2)) await webhooks.disable(partnerId, at);
      drawn.set(partnerId, { isDisabled: disabledAt !== null, eventFilter, hasEndpoint });
    }
    return drawn;
  }

  /** Draws lookups, and deletes the attestations of some. @returns `partner teacher` for each lookup */
  async function drawVerified(): Promise<Set<string>> {
    const verified = new Set<string>();
    const note = "INSERT OR IGNORE INTO verified_before (partner_id, teacher_id) VALUES (?, ?)";
    const insert = `INSERT INTO attestations (verification_id, partner_id, issued_at, kid, operation, purpose,
          policy_version, teacher_id, reference, status, eligible, credential, request_id, jws)
        VALUES (?, ?, 1, 'k', 'batch', 'p', '1', ?, 'r', 'VALID', 1, 'c', 'q', 'j')`;
    const statements = [bind("DELETE FROM verified_before"), bind("DELETE FROM attestations")];
    for (const partnerId of partnerIds) {
      for (let n = 0; n < 60; n++) {
        const id = 1 + below(teacherCount);
        verified.add(`${partnerId} ${id}`);
        const isDeleted = isLikely(0.5);
        const values = [partnerId, id];
        statements.push(isDeleted ? bind(note, values) : bind(insert, [crypto.randomUUID(), ...values]));
      }
    }
    await driver.batch(statements);
    return verified;
  }

  /** Draws watches, some of numbers that no teacher has. @returns `partner teacher` for each watch */
  async function drawWatched(): Promise<Set<string>> {
    const drawn = partnerIds.flatMap((id) => Array.from({ length: 50 }, () => [id, below(150)] as const));
    const insert = "INSERT OR IGNORE INTO watches (partner_id, reg_no) VALUES (?, 'R/' || ?)";
    const each = drawn.map(([id, n]) => bind(insert, [id, n]));
    await driver.batch([bind("DELETE FROM watches"), ...each]);
    return new Set(drawn.map(([id, n]) => `${id} ${n}`));
  }

  function drawEvent(): ReturnType<typeof createEvent> {
    const eventType = eventTypes[below(eventTypes.length)] as EventType;
    const statuses = { license: "VALID", certificate: "VERIFIED" } as const;
    const subject = { tId: null, regNo: null, occurredAt: at };
    return createEvent({ eventType, previousStatus: "VALID" }, statuses, subject);
  }

  async function storeEvents(): Promise<Planned[]> {
    const teachers = Array.from({ length: 1 + below(12) }, () => ({
      id: 1 + below(teacherCount),
      events: Array.from({ length: below(3) }, drawEvent),
    }));
    await driver.batch(makeEventStatements(teachers));
    return teachers.flatMap(({ id, events }) =>
      events.map(({ eventId, eventType }) => ({ teacherId: id, eventType, eventId })),
    );
  }

  test("an event goes to each enabled partner whose event filter includes its type and its teacher", async () => {
    for (let round = 0; round < 25; round++) {
      const [terms, verified, watched] = [await drawTerms(), await drawVerified(), await drawWatched()];
      const planned = await storeEvents();
      const published = planned.flatMap(({ teacherId, eventType, eventId }) =>
        [...terms].flatMap(([partnerId, { isDisabled, eventFilter, hasEndpoint }]) => {
          const about = `${partnerId} ${teacherId}`;
          const isChosen = { all: true, verified: verified.has(about), watched: watched.has(about) };
          const isDue =
            !isDisabled && eventFilter.events.includes(eventType) && isChosen[eventFilter.teachers];
          return isDue ? [{ line: `${eventId} ${partnerId}`, hasEndpoint }] : [];
        }),
      );
      const expected = published.filter(({ hasEndpoint }) => hasEndpoint).map(({ line }) => line);
      const publishedSql = `SELECT event_id || ' ' || partner_id AS line FROM partner_events CROSS JOIN events ON events.id = event
          WHERE event_id IN (SELECT value FROM json_each(?)) ORDER BY event, partner_id`;
      const ids = JSON.stringify(planned.map(({ eventId }) => eventId));
      expect((await driver.query(publishedSql, [ids])).map(({ line }) => line)).toEqual(
        published.map(({ line }) => line),
      );
      const sql = `SELECT event_id || ' ' || partner_id AS line, delivery_id FROM deliveries
          JOIN events ON events.id = event WHERE event_id IN (SELECT value FROM json_each(?)) ORDER BY deliveries.id`;
      const rows = await driver.query(sql, [ids]);
      expect(rows.map(({ line }) => String(line))).toEqual(expected);
      for (const { line, delivery_id: id } of rows) {
        expect(String(id)).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
        expect(String(id).slice(0, 14)).toBe(String(line).slice(0, 14));
      }
    }
  });
});

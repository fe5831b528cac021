import { describe, expect, test } from "bun:test";
import { createCalendar } from "../../../src/domain/clock.ts";
import { planWrite } from "../../../src/domain/teachers/store.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { aStoredTeacher, aTeacher } from "../../harness/samples.ts";

const calendar = createCalendar("Africa/Lagos");
const at = Date.parse("2026-03-01T12:00:00Z");
const change = { action: "import", actor: "cli:test", calendar, at } as const;
const content = (changes: Partial<TeacherContent> = {}) => aTeacher("LA/2019/PRI/04417", changes);
const types = (write: ReturnType<typeof planWrite>) => write.events.map((event) => event.eventType);

describe("what a change of a record means", () => {
  test("a first import is a change from nobody", () => {
    const write = planWrite(null, content(), change);
    expect(write).toMatchObject({ replaces: null, announcedStatus: "VALID", at });
    expect(types(write)).toEqual(["license.verified", "certificate.verified"]);
    expect(write.history).toEqual({
      at,
      action: "import",
      actor: "cli:test",
      reason: null,
      before: null,
      after: { license: "VALID", certificate: "VERIFIED", active: true },
    });
  });

  test("a first import of somebody without a licence and certificate is noted, and announced to nobody", () => {
    const nothing = {
      licenseIssueDate: null,
      licenseExpiryDate: null,
      certificateStatus: "NOT_FOUND" as const,
    };
    const write = planWrite(null, content(nothing), change);
    expect(write.events).toEqual([]);
    expect(write.history?.before).toBeNull();
    expect(write.announcedStatus).toBe("NOT_FOUND");
  });

  test("a baseline tells partners nothing, and later changes count from it", () => {
    const write = planWrite(null, content(), { ...change, announce: false });
    expect(write.events).toEqual([]);
    expect(write.announcedStatus).toBe("VALID");
  });

  test("it replaces the version that it was computed from", () => {
    const before = aStoredTeacher({ id: 9, version: 4 });
    expect(planWrite(before, content({ name: "Ada O. Obi" }), change).replaces).toEqual({
      id: 9,
      version: 4,
    });
  });

  test("a change of other fields moves no status: no event, no line of history", () => {
    const write = planWrite(aStoredTeacher(), content({ name: "Ada O. Obi", state: null }), change);
    expect(write.events).toEqual([]);
    expect(write.history).toBeNull();
  });

  test("is compared with what partners were told, not with what the calendar made of it since", () => {
    const before = aStoredTeacher({ licenseExpiryDate: "2026-02-28", announcedStatus: "VALID" });
    const write = planWrite(before, content({ licenseExpiryDate: "2026-02-28", name: "Ada O. Obi" }), change);
    expect(types(write)).toEqual(["license.expired"]);
    expect(write.history).toMatchObject({ before: { license: "VALID" }, after: { license: "EXPIRED" } });
    const renewed = planWrite(before, content({ licenseExpiryDate: "2028-02-28" }), change);
    expect(renewed.events).toEqual([]);
  });

  test("a move that is in no row of the table is noted all the same", () => {
    const write = planWrite(
      aStoredTeacher({ certificateStatus: "CLAIMED" }),
      content({ certificateStatus: "NOT_FOUND" }),
      change,
    );
    expect(write.events).toEqual([]);
    expect(write.history).toMatchObject({
      before: { certificate: "CLAIMED" },
      after: { certificate: "NOT_FOUND" },
    });
  });

  test("activity alone is a move", () => {
    const unlicensed = { licenseExpiryDate: null };
    const before = aStoredTeacher({ ...unlicensed, announcedStatus: "NOT_FOUND", active: false });
    const write = planWrite(before, content(unlicensed), {
      ...change,
      action: "reactivate",
      reason: "appeal",
    });
    expect(write.events).toEqual([]);
    expect(write.history).toMatchObject({
      action: "reactivate",
      reason: "appeal",
      before: { active: false },
      after: { active: true },
    });
  });

  test("statuses are those of the service's day, one millisecond before midnight and at it", () => {
    const midnight = Date.parse("2026-03-31T23:00:00Z");
    const status = (now: number) =>
      planWrite(null, content({ licenseExpiryDate: "2026-03-31" }), { ...change, at: now }).announcedStatus;
    expect([status(midnight - 1), status(midnight)]).toEqual(["VALID", "EXPIRED"]);
  });

  test("an event stands at the time of the change, the history at the time of the writing", () => {
    const occurredAt = at - 3_600_000;
    const write = planWrite(null, content(), { ...change, occurredAt });
    expect(write.events[0]?.occurredAt).toBe(occurredAt);
    expect(write.history?.at).toBe(at);
    expect(planWrite(null, content(), change).events[0]?.occurredAt).toBe(at);
  });

  test("events carry the identifiers of the record as it is after the change", () => {
    const write = planWrite(
      aStoredTeacher({ tId: 1 }),
      content({ tId: 2, licenseRevokedOn: "2026-03-01" }),
      change,
    );
    expect(JSON.parse(write.events[0]?.body ?? "").data).toMatchObject({
      tId: 2,
      previousStatus: "VALID",
      licenseStatus: "REVOKED",
    });
  });
});

import { expect, test } from "bun:test";
import type { Statuses } from "../../src/domain/events.ts";
import { createEvent, diffStatuses, eventsOfChange, statusesBefore } from "../../src/domain/events.ts";
import { certificateStatuses, licenseStatuses } from "../../src/partner/contract.ts";

type Change = [before: Partial<Statuses>, after: Partial<Statuses>];
type Move = [...Change, events: [string, string][]];

const usual: Statuses = { license: "VALID", certificate: "VERIFIED", active: true };
const statuses = (changes: Partial<Statuses>): Statuses => ({ ...usual, ...changes });
const gone = { license: "NOT_FOUND", certificate: "NOT_FOUND", hidden: true } as const;
const eventsOf = (before: Partial<Statuses>, after: Partial<Statuses>): string[][] =>
  diffStatuses(statuses(before), statuses(after)).map((one) => [one.eventType, one.previousStatus]);

// biome-ignore format: a table reads better in rows
test.each<Move>([
  [{ license: "NOT_FOUND" }, { license: "VALID" }, [["license.verified", "NOT_FOUND"]]],
  [{ license: "EXPIRED" }, { license: "VALID" }, [["license.reinstated", "EXPIRED"]]],
  [{ license: "REVOKED" }, { license: "VALID" }, [["license.reinstated", "REVOKED"]]],
  [{ license: "NOT_FOUND", active: false }, { license: "VALID" }, [["license.reinstated", "NOT_FOUND"]]],
  [{ license: "VALID" }, { license: "EXPIRED" }, [["license.expired", "VALID"]]],
  [{ license: "REVOKED" }, { license: "EXPIRED" }, [["license.expired", "REVOKED"]]],
  [{ license: "VALID" }, { license: "REVOKED" }, [["license.revoked", "VALID"]]],
  [{ license: "EXPIRED" }, { license: "REVOKED" }, [["license.revoked", "EXPIRED"]]],
  [{ certificate: "NOT_FOUND" }, {}, [["certificate.verified", "NOT_FOUND"]]],
  [{ certificate: "CLAIMED" }, {}, [["certificate.verified", "CLAIMED"]]],
  [{ certificate: "LEGACY_RECORD" }, {}, [["certificate.verified", "LEGACY_RECORD"]]],
  [{}, { certificate: "NOT_FOUND" }, [["certificate.revoked", "VERIFIED"]]],
  [{}, { certificate: "CLAIMED" }, [["certificate.revoked", "VERIFIED"]]],
  [{}, { certificate: "LEGACY_RECORD" }, [["certificate.revoked", "VERIFIED"]]],
  [{}, { license: "NOT_FOUND", active: false }, [["teacher.deactivated", "VALID"]]],
  [{ license: "EXPIRED" }, { license: "NOT_FOUND", active: false }, [["teacher.deactivated", "EXPIRED"]]],
  [{ license: "REVOKED" }, { license: "NOT_FOUND", active: false }, [["teacher.deactivated", "REVOKED"]]],
  [{ license: "NOT_FOUND" }, { license: "NOT_FOUND", active: false },
    [["teacher.deactivated", "NOT_FOUND"]]],
  [{}, { license: "NOT_FOUND", certificate: "CLAIMED", active: false }, [["teacher.deactivated", "VALID"]]],
  [{}, { license: "REVOKED", certificate: "CLAIMED" },
    [["license.revoked", "VALID"], ["certificate.revoked", "VERIFIED"]]],
  [{}, gone, [["teacher.deactivated", "VALID"]]],
  [{ license: "NOT_FOUND", active: false }, { ...gone, active: false },
    [["teacher.deactivated", "NOT_FOUND"]]],
  [gone, {}, [["license.reinstated", "NOT_FOUND"], ["certificate.verified", "NOT_FOUND"]]],
  [gone, { license: "EXPIRED", certificate: "CLAIMED" }, []],
  [gone, { ...gone, active: false }, []],
])("a change of statuses from %j to %j causes the contract's events", (before, after, events) => {
  expect(eventsOf(before, after)).toEqual(events);
});

const inactive = { license: "NOT_FOUND", active: false } as const;
// biome-ignore format: a table reads better in rows
test.each<Change>([
  ...(["VALID", "EXPIRED", "REVOKED"] as const).map((license): Change => [{ license }, { license: "NOT_FOUND" }]),
  ...(["EXPIRED", "REVOKED"] as const).map((license): Change => [{ license: "NOT_FOUND" }, { license }]),
  ...(["EXPIRED", "REVOKED", "NOT_FOUND"] as const).map((license): Change => [inactive, { license }]),
  [inactive, inactive],
  [{ certificate: "CLAIMED" }, { certificate: "NOT_FOUND" }],
  [{ certificate: "NOT_FOUND" }, { certificate: "LEGACY_RECORD" }],
  [{ certificate: "LEGACY_RECORD" }, { certificate: "CLAIMED" }],
])("a change of statuses from %j to %j causes no event", (before, after) => {
  expect(eventsOf(before, after)).toEqual([]);
});

test("unchanged statuses cause no event", () => {
  for (const license of licenseStatuses)
    for (const certificate of certificateStatuses)
      expect(eventsOf({ license, certificate }, { license, certificate })).toEqual([]);
});

test.each<[Partial<Statuses>, string[]]>([
  [{ license: "NOT_FOUND", certificate: "NOT_FOUND", active: false }, []],
  [{}, ["license.verified", "certificate.verified"]],
])("a new teacher with the statuses %j causes the events %j", (changes, events) => {
  const after = statuses(changes);
  const made = diffStatuses(statusesBefore(null, after), after);
  expect(made.map(({ eventType }) => eventType)).toEqual(events as never);
});

const subject = { tId: 7, regNo: "LA/2019/PRI/04417", occurredAt: Date.parse("2026-03-01T09:30:00.250Z") };

test("an event has exactly the members of the contract", () => {
  const [event] = eventsOfChange(statuses({}), statuses({ license: "NOT_FOUND", active: false }), subject);
  expect(JSON.parse(event?.body ?? "")).toEqual({
    eventId: event?.eventId,
    eventType: "teacher.deactivated",
    occurredAt: "2026-03-01T09:30:00.250Z",
    data: {
      tId: 7,
      regNo: "LA/2019/PRI/04417",
      licenseStatus: "NOT_FOUND",
      certificateStatus: "VERIFIED",
      previousStatus: "VALID",
    },
  });
  expect(event).toMatchObject({ eventType: "teacher.deactivated", occurredAt: subject.occurredAt });
});

test("the event of a test delivery names no teacher", () => {
  const nobody = { tId: null, regNo: null };
  const transition = { eventType: "license.verified", previousStatus: "NOT_FOUND" } as const;
  const { body } = createEvent(transition, statuses({}), { ...nobody, occurredAt: 0 });
  expect(JSON.parse(body).data).toMatchObject(nobody);
});

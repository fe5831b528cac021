import { expect, test } from "bun:test";
import {
  changeTeacher,
  checkChangeReason,
  parseTeacherReference,
  type TeacherAction,
} from "../../../src/domain/teachers/changes.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import type { TeacherStore } from "../../../src/store/teachers.ts";
import { lagos } from "../../harness/clock.ts";
import { catchError } from "../../harness/rejection.ts";
import { type TestStores, withStoresAt } from "../../harness/store.ts";

const regNo = "TR/LA/2020/000001";
const key = { by: "regNo", value: regNo } as const;
const start = "2026-05-01T09:00:00Z";

function perform(world: Pick<TestStores, "teachers" | "clock">, action: TeacherAction, reason = "decision") {
  return changeTeacher({ ...world, calendar: lagos, actor: "cli:ada" }, key, { action, reason });
}

/** The last event, as [type, licence, previous licence]. */
async function lastEvent({ events }: TestStores): Promise<unknown[] | undefined> {
  const last = (await events(regNo)).at(-1);
  return last && [last.eventType, last.data.licenseStatus, last.data.previousStatus];
}

test("a revocation stores the reason and the current date in the service's time zone, and makes an event", () =>
  withStoresAt("2026-05-01T23:30:00Z", async (world) => {
    const { id } = await world.put(regNo);
    const change = await perform(world, "revoke", "decision 14");
    const record = { licenseRevokedOn: "2026-05-02", licenseRevokedReason: "decision 14" };
    expect(change).toMatchObject({
      teacher: { ...record, announcedStatus: "REVOKED", version: 2 },
      ...{ before: { license: "VALID" }, after: { license: "REVOKED" } },
    });
    expect(await world.find(regNo)).toEqual(change.teacher);
    expect(await lastEvent(world)).toEqual(["license.revoked", "REVOKED", "VALID"]);
    const rest = { certificate: "VERIFIED", active: true } as const;
    expect((await world.teachers.history(id)).at(-1)).toEqual({
      ...{ at: world.clock.now(), action: "revoke", actor: "cli:ada", reason: "decision 14" },
      ...{ before: { license: "VALID", ...rest }, after: { license: "REVOKED", ...rest } },
    });
  }));

test("the revocation of an expired licence first makes the event of the expiry", () =>
  withStoresAt(start, async (world) => {
    await world.put(regNo, { licenseExpiryDate: "2026-05-31" });
    world.clock.set("2026-06-03T09:00:00Z");
    await perform(world, "revoke", "x");
    const last = (await world.events(regNo)).slice(-2);
    expect(last.map(({ eventType, occurredAt }) => [eventType, occurredAt])).toEqual([
      ["license.expired", "2026-05-31T23:00:00.000Z"],
      ["license.revoked", "2026-06-03T09:00:00.000Z"],
    ]);
    expect(await lastEvent(world)).toEqual(["license.revoked", "REVOKED", "EXPIRED"]);
  }));

test("the revocation of a deactivated teacher makes no event, and stays after a reactivation", () =>
  withStoresAt(start, async (world) => {
    const { id } = await world.put(regNo, { active: false });
    const before = (await world.events(regNo)).length;
    await perform(world, "revoke", "decision 14");
    const noted = { action: "revoke", reason: "decision 14" } as const;
    expect((await world.teachers.history(id)).at(-1)).toMatchObject(noted);
    await perform(world, "reactivate");
    expect((await world.events(regNo)).length).toBe(before);
    expect(await world.find(regNo)).toMatchObject({ active: true, announcedStatus: "REVOKED" });
  }));

test.each<[TeacherAction, Partial<TeacherContent>]>([
  ["revoke", { licenseRevokedOn: "2026-01-01", licenseRevokedBy: "operator" }],
  ["revoke", { licenseIssueDate: null, licenseExpiryDate: null }],
  ["reinstate", {}],
  ["deactivate", { active: false }],
  ["reactivate", {}],
  ["hide", { hidden: true }],
  ["unhide", {}],
])("the command %s is refused for a record with %j", (action, content) =>
  withStoresAt(start, async (world) => {
    const { id } = await world.put(regNo, content);
    expect(await catchError(perform(world, action, "x"))).toMatchObject({ code: "REFUSED" });
    expect(await world.teachers.history(id)).toHaveLength(1);
  }),
);

test("a revocation that is committed between the read and the write of a deactivation stays", () =>
  withStoresAt(start, async (world) => {
    await world.put(regNo);
    const { teachers } = await world.another();
    let interfered = false;
    const slow: TeacherStore = {
      ...world.teachers,
      async apply(writes) {
        if (!interfered) {
          interfered = true;
          await perform({ ...world, teachers }, "revoke", "meanwhile");
        }
        return world.teachers.apply(writes);
      },
    };
    await perform({ ...world, teachers: slow }, "deactivate", "left");
    const both = { active: false, licenseRevokedReason: "meanwhile", version: 3 };
    expect(await world.find(regNo)).toMatchObject(both);
    expect(await lastEvent(world)).toEqual(["teacher.deactivated", "NOT_FOUND", "REVOKED"]);
  }));

test("a change of a teacher is refused if other processes keep changing the record", () =>
  withStoresAt(start, async (world) => {
    await world.put(regNo);
    const restless: TeacherStore = { ...world.teachers, apply: async (writes) => writes.map(() => false) };
    expect(await catchError(perform({ ...world, teachers: restless }, "deactivate", "x"))).toMatchObject({
      code: "STORE_BUSY",
    });
  }));

test("a command names a teacher by a teacher id, or by a registration number in any spelling", () => {
  expect(parseTeacherReference("100123")).toEqual({ by: "tId", value: 100123 });
  expect(parseTeacherReference(" tr/la/2020/000001")).toEqual(key);
});

test("a text that is no teacher's reference is a usage error, and the message does not repeat the text", () => {
  for (const text of ["", "X/Y/Z", "12x", "99999999999999999", "ada@example.com"]) {
    const refusal = expect.objectContaining({
      code: "USAGE",
      message: "REF must be a registration number of four segments (A/B/C/D) or a teacher id (digits)",
    });
    expect(() => parseTeacherReference(text)).toThrow(refusal);
  }
});

test("the reason of a change is stored without surrounding white space", () => {
  expect(checkChangeReason("  Decision 2026/14: Ọlọ́run, “quoted” ✓ ")).toBe(
    "Decision 2026/14: Ọlọ́run, “quoted” ✓",
  );
  expect(checkChangeReason("é".repeat(500))).toHaveLength(500);
});

test("the reason of a change must be printable and short, without a contact or a NIN", () => {
  const unprintable = ["", "   ", "x".repeat(501), "two\nlines", "bell\u0007", "zero\u200bwidth"];
  const personal = ["NIN 12345678901", "ada@example.com", "+2348031234567", "call 0803 123 4567"];
  for (const text of [...unprintable, ...personal])
    expect(() => checkChangeReason(text)).toThrow(expect.objectContaining({ code: "USAGE" }));
});

import { expect, test } from "bun:test";
import { countTeachers } from "../../../src/domain/status.ts";
import { changeTeacher, type TeacherAction } from "../../../src/domain/teachers/changes.ts";
import { exportTeachers } from "../../../src/domain/teachers/export.ts";
import type { TeacherKey } from "../../../src/domain/teachers/teachers.ts";
import { createStatusStore } from "../../../src/store/status.ts";
import { lagos } from "../../harness/clock.ts";
import { csv, row, type TestImports, today, withImports } from "../../harness/imports.ts";

const regNo = "TR/2019/LA/1";
const key = { by: "regNo", value: regNo } as const;

const act = (world: Pick<TestImports, "teachers" | "clock">, action: TeacherAction) =>
  changeTeacher({ ...world, calendar: lagos, actor: "cli:ada" }, key, { action, reason: "decision" });

const hidden = { license: "NOT_FOUND", certificate: "NOT_FOUND", active: true } as const;
const full = { t_id: "1", nin: "99900000001", email: "ada@example.org", phone: "+2348030000001" };

test("a hidden teacher is found by no number and no contact, and by all of them once they are shown", () =>
  withImports(async ({ blindIndex, ...world }) => {
    await world.add(csv([row(1, full), row(2, { t_id: "2" })]), { baseline: true });
    const keys: TeacherKey[] = [
      key,
      { by: "tId", value: 1 },
      { by: "nin", value: blindIndex.nin(full.nin) },
      { by: "email", value: blindIndex.email(full.email) },
      { by: "phone", value: blindIndex.phone(full.phone) },
    ];
    const found = async () => Promise.all(keys.map(async (one) => (await world.teachers.find(one)) !== null));
    expect(await found()).toEqual(keys.map(() => true));
    await act(world, "hide");
    expect(await found()).toEqual(keys.map(() => false));
    expect(await world.teachers.findEach([key, { by: "regNo", value: "TR/2019/LA/2" }])).toMatchObject([
      null,
      { tId: 2 },
    ]);
    await act(world, "unhide");
    expect(await found()).toEqual(keys.map(() => true));
  }));

test("a contact that a hidden teacher shares with another names the other one", () =>
  withImports(async ({ blindIndex, ...world }) => {
    const { email } = full;
    await world.add(csv([row(1, { email }), row(2, { email, t_id: "2" })]), { baseline: true });
    const shared = { by: "email", value: blindIndex.email(email) } as const;
    expect(await world.teachers.find(shared)).toBeNull();
    await act(world, "hide");
    expect(await world.teachers.find(shared)).toMatchObject({ tId: 2 });
    expect(await world.teachers.holders(shared, 9)).toHaveLength(2);
  }));

test("the hiding stands in the history with its reason, and is announced as teacher.deactivated alone", () =>
  withImports(async (world) => {
    await world.add(csv([row(1)]), { baseline: true });
    const { teacher, events } = await act(world, "hide");
    expect(events.map(({ eventType }) => eventType)).toEqual(["teacher.deactivated"]);
    expect(JSON.parse(events[0]?.body ?? "").data).toMatchObject({
      ...{ regNo, licenseStatus: "NOT_FOUND", certificateStatus: "NOT_FOUND", previousStatus: "VALID" },
    });
    expect((await world.teachers.history(teacher.id)).at(-1)).toMatchObject({
      ...{ action: "hide", actor: "cli:ada", reason: "decision", after: hidden },
      before: { license: "VALID", certificate: "VERIFIED" },
    });
    const shown = await act(world, "unhide");
    expect(shown.events.map(({ eventType }) => eventType)).toEqual([
      "license.reinstated",
      "certificate.verified",
    ]);
  }));

test("an extract changes a hidden teacher, shows nobody again and announces nothing", () =>
  withImports(async (world) => {
    await world.add(csv([row(1, { t_id: "1" }), row(2, { t_id: "2" })]), { baseline: true });
    await act(world, "hide");
    const change = { name: "Other Name", certificate_status: "CLAIMED", active: "no", hidden: "false" };
    const applied = await world.add(csv([row(1, { t_id: "1", ...change })]), { allowChange: true });
    expect(applied).toMatchObject({ updated: 1, rejected: 0, events: 0 });
    expect(await world.find(regNo)).toMatchObject({ name: "Other Name", active: false, hidden: true });
    const taken = await world.add(csv([row(3, { t_id: "1" })]), { allowChange: true });
    expect(taken.codes.map(({ code }) => code)).toEqual(["DUPLICATE_T_ID"]);
  }));

test("an extract whose column hidden is true hides a teacher, and one of another register hides a newcomer", () =>
  withImports(async (world) => {
    await world.add(csv([row(1)]), { baseline: true });
    const hiding = csv([row(1, { hidden: "yes" }), row(2, { hidden: "yes" })]);
    expect(await world.add(hiding, { allowChange: true })).toMatchObject({
      inserted: 1,
      updated: 1,
      events: 1,
    });
    for (const value of [regNo, "TR/2019/LA/2"]) {
      expect(await world.teachers.find({ by: "regNo", value })).toBeNull();
      expect(await world.find(value)).toMatchObject({ hidden: true });
    }
    // The column is the register's own: who never exports it is not asked for it.
    expect(await world.add(csv([row(1), row(2)]))).toMatchObject({ unchanged: 2, rejected: 0 });
  }));

test.each(["csv", "ndjson"] as const)(
  "an export as %s has who is hidden, and imported again it changes nothing",
  (format) =>
    withImports(async (world) => {
      await world.add(csv([row(1), row(2)]), { baseline: true });
      await act(world, "hide");
      let text = "";
      for await (const piece of exportTeachers({ ...world, calendar: lagos }, { format })) text += piece.text;
      expect(text).toContain(format === "csv" ? ",hidden," : '"hidden":true');
      expect(await world.add(text, { name: `all.${format}` })).toMatchObject({
        unchanged: 2,
        updated: 0,
        events: 0,
      });
      expect(await world.find(regNo)).toMatchObject({ hidden: true });
    }),
);

test("a hidden teacher is in no count of active teachers and licences", () =>
  withImports(async (world) => {
    await world.add(csv([row(1), row(2), row(3)]), { baseline: true });
    const counts = () => countTeachers(createStatusStore(world.driver), today);
    expect(await counts()).toMatchObject({ total: 3, active: 3, licensed: 3 });
    await act(world, "hide");
    expect(await counts()).toMatchObject({ total: 3, active: 2, licensed: 2 });
    expect(await world.teachers.countHoldings(today)).toMatchObject({
      validLicenses: 2,
      verifiedCertificates: 2,
    });
  }));

test("a licence that ends while its teacher is hidden is announced by nobody, and is EXPIRED when they are shown", () =>
  withImports(async (world) => {
    await world.add(csv([row(1, { license_expiry_date: "2026-03-20" })]), { baseline: true });
    await act(world, "hide");
    world.clock.set("2026-04-01T09:00:00Z");
    expect(await world.teachers.countDue("2026-04-01")).toBe(0);
    const { events, after } = await act(world, "unhide");
    expect(after.license).toBe("EXPIRED");
    expect(events.map(({ eventType }) => eventType)).toEqual(["certificate.verified"]);
  }));

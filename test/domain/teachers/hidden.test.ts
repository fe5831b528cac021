import { expect, test } from "bun:test";
import { changeTeacher, type TeacherAction } from "../../../src/domain/teachers/changes.ts";
import { lagos } from "../../harness/clock.ts";
import { csv, row, type TestImports, withImports } from "../../harness/imports.ts";

const regNo = "TR/2019/LA/1";
const key = { by: "regNo", value: regNo } as const;

const perform = (world: Pick<TestImports, "teachers" | "clock">, action: TeacherAction) =>
  changeTeacher({ ...world, calendar: lagos, actor: "cli:ada" }, key, { action, reason: "decision" });

const hidden = { license: "NOT_FOUND", certificate: "NOT_FOUND", active: true } as const;
const full = { t_id: "1", nin: "99900000001", email: "ada@example.org", phone: "+2348030000001" };

test("a contact that a hidden teacher shares with another teacher finds the other teacher", () =>
  withImports(async ({ blindIndex, ...world }) => {
    const { email } = full;
    await world.add(csv([row(1, { email }), row(2, { email, t_id: "2" })]), { baseline: true });
    const shared = { by: "email", value: blindIndex.email(email) } as const;
    expect(await world.teachers.find(shared)).toBeNull();
    await perform(world, "hide");
    expect(await world.teachers.find(shared)).toMatchObject({ tId: 2 });
    expect(await world.teachers.holders(shared, 9)).toHaveLength(2);
  }));

test("hiding a teacher adds the reason to the history, and makes only the event teacher.deactivated", () =>
  withImports(async (world) => {
    await world.add(csv([row(1)]), { baseline: true });
    const { teacher, events } = await perform(world, "hide");
    expect(events.map(({ eventType }) => eventType)).toEqual(["teacher.deactivated"]);
    expect(JSON.parse(events[0]?.body ?? "").data).toMatchObject({
      ...{ regNo, licenseStatus: "NOT_FOUND", certificateStatus: "NOT_FOUND", previousStatus: "VALID" },
    });
    expect((await world.teachers.history(teacher.id)).at(-1)).toMatchObject({
      ...{ action: "hide", actor: "cli:ada", reason: "decision", after: hidden },
      before: { license: "VALID", certificate: "VERIFIED" },
    });
    const shown = await perform(world, "unhide");
    expect(shown.events.map(({ eventType }) => eventType)).toEqual([
      "license.reinstated",
      "certificate.verified",
    ]);
  }));

test("an extract changes a hidden teacher without showing the record or making an event", () =>
  withImports(async (world) => {
    await world.add(csv([row(1, { t_id: "1" }), row(2, { t_id: "2" })]), { baseline: true });
    await perform(world, "hide");
    const change = { name: "Other Name", certificate_status: "CLAIMED", active: "no", hidden: "false" };
    const applied = await world.add(csv([row(1, { t_id: "1", ...change })]), { allowChange: true });
    expect(applied).toMatchObject({ updated: 1, rejected: 0, events: 0 });
    expect(await world.find(regNo)).toMatchObject({ name: "Other Name", active: false, hidden: true });
    const taken = await world.add(csv([row(3, { t_id: "1" })]), { allowChange: true });
    expect(taken.codes.map(({ code }) => code)).toEqual(["DUPLICATE_T_ID"]);
  }));

import { expect, test } from "bun:test";
import {
  defaultTeacher,
  expiringTeacher,
  makeSandboxExtract,
  sandboxTeachers,
  statusExampleTeachers,
} from "../../../src/domain/sandbox/teachers.ts";
import { today, withImports } from "../../harness/imports.ts";

test("the sandbox's teachers are imported without a warning, each with a profile", () =>
  withImports(async ({ add, find, blindIndex, teachers }) => {
    const options = { name: "sandbox.ndjson", baseline: true };
    const added = await add(makeSandboxExtract(sandboxTeachers, today), options);
    expect(added).toMatchObject({ inserted: sandboxTeachers.length, rejected: 0, warnings: 0, events: 0 });
    for (const { regNo, name, tId } of sandboxTeachers) {
      const teacher = await find(regNo);
      expect(teacher).toMatchObject({ name, tId });
      expect(teacher?.profile?.qualifications).toHaveLength(2);
      expect(teacher?.profile?.employment).toHaveLength(2);
    }
    expect((await find(expiringTeacher.regNo))?.licenseExpiryDate).toBe("2026-03-30");
    // A lookup by a phone number that two teachers share finds neither.
    const [one, other] = sandboxTeachers.filter(({ phone }) => phone === "+2348030000999");
    expect([one?.tId, other?.tId]).toEqual([1015, 1016]);
    const value = blindIndex.phone(one?.phone ?? "");
    expect(await teachers.find({ by: "phone", value })).toBeNull();
  }));

test("the identifiers of the sandbox's teachers never change", () => {
  expect(statusExampleTeachers).toHaveLength(11);
  expect(statusExampleTeachers[0]).toMatchObject({
    regNo: "TR/2019/LA/000001",
    tId: 1001,
    nin: "99900000001",
  });
  expect(defaultTeacher.regNo).toBe("TR/2019/LA/000012");
  expect(expiringTeacher.regNo).toBe("TR/2019/LA/000013");
  expect(new Set(sandboxTeachers.map(({ regNo }) => regNo)).size).toBe(sandboxTeachers.length);
  const names = sandboxTeachers.map(({ name }) => name.length);
  expect(Math.max(...names)).toBe(200);
});

test("each profile member that may be null is null for at least one teacher of the sandbox", () => {
  const courses = sandboxTeachers.flatMap(({ profile }) => profile.qualifications);
  const posts = sandboxTeachers.flatMap(({ profile }) => profile.employment);
  for (const member of ["institution", "year"] as const)
    expect(courses.some((course) => course[member] === null)).toBe(true);
  for (const member of ["role", "from", "to"] as const)
    expect(posts.some((post) => post[member] === null)).toBe(true);
});

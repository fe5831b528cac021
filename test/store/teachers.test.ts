import { expect, test } from "bun:test";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { catchError } from "../harness/rejection.ts";

const keys = [
  { by: "regNo", value: "A/B/C/1" },
  { by: "regNo", value: "A/B/C/2" },
] as const;

/** Looks up both keys in a database whose lookup returns the given JSON text. */
function lookUp(teachers: string) {
  const query = async () => [{ teachers, is_loaded: 1 }];
  return createTeacherStore({ query } as unknown as Driver).findEach(keys);
}

test("a lookup fails if the database leaves out a key or returns no list for it, instead of finding nobody", async () => {
  for (const answer of ["[]", "[[0,[]]]", "[[0,[]],[1,null]]", '[[0,[]],[1,{"id":1}]]'])
    expect([answer, await catchError(lookUp(answer))]).toMatchObject([answer, { code: "STORE_CORRUPT" }]);
  expect(await lookUp("[[0,[]],[1,[]]]")).toEqual([null, null]);
});

test("a lookup finds nobody if two teachers have the key", async () => {
  expect(await lookUp('[[0,[{"id":1},{"id":2}]],[1,[{"id":3}]]]')).toMatchObject([null, { id: 3 }]);
});

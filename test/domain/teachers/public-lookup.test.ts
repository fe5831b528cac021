import { expect, test } from "bun:test";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import { createConfiguration } from "../../../src/domain/configuration.ts";
import { createPublicLookup } from "../../../src/domain/teachers/public-lookup.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { aClock } from "../../harness/clock.ts";
import { fillRing } from "../../harness/keys.ts";
import { catchError } from "../../harness/rejection.ts";
import { aSettings, aSigningKey, planImport, secrets } from "../../harness/samples.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

const start = "2026-03-01T09:30:00.250Z";
const index = createBlindIndex(secrets.blindIndexKey);
const regNo = "LA/2019/PRI/04417";
const nothing = { found: false, verifiedAt: start } as const;

async function open(stores: TestStores, ...teachers: Partial<TeacherContent>[]) {
  const clock = aClock(start);
  await fillRing(stores.keys, clock.now());
  const configuration = await createConfiguration({ ...stores, secrets, clock, defaults: aSettings });
  await stores.teachers.apply(teachers.map((one) => planImport(one.regNo ?? regNo, one, clock.now())));
  const dependencies = {
    configuration,
    teachers: stores.teachers,
    blindIndex: index,
    clock,
    mayBeReplaced: true,
  };
  return { lookup: createPublicLookup(dependencies), clock, dependencies };
}

// test/api/openapi/examples.test.ts has every member of an answer.
const none = { issueDate: null, expiryDate: null };
const later = { issueDate: "2026-03-02", expiryDate: "2028-03-01" };

test.each<[string, Partial<TeacherContent>, object]>([
  ["revoked", { licenseRevokedOn: "2026-01-01", licenseRevokedReason: "a secret reason" }, none],
  ["revoked and expired", { licenseRevokedOn: "2026-01-01", licenseExpiryDate: "2026-02-01" }, none],
  ["a deactivated teacher's", { active: false }, none],
  ["missing", { licenseIssueDate: null, licenseExpiryDate: null }, none],
  ["yet to begin", { licenseIssueDate: later.issueDate, licenseExpiryDate: later.expiryDate }, later],
])(
  "the public lookup answers Not licensed if the licence is %s, and shows dates only of a future licence",
  (_what, changes, dates) =>
    withStores(async (stores) => {
      const { lookup } = await open(stores, changes);
      const answer = await lookup(regNo);
      const license = { status: "NOT_FOUND", ...dates, daysRemaining: null };
      expect(answer).toMatchObject({ found: true, status: "Not licensed", license });
      expect(JSON.stringify(answer)).not.toMatch(/revoke|secret|deactivat/i);
    }),
);

test("the public lookup follows the current day in the service's time zone", () =>
  withStores(async (stores) => {
    const { lookup, clock } = await open(stores, { licenseExpiryDate: "2026-03-31" });
    const ended = { status: "EXPIRED", expiryDate: "2026-03-31", daysRemaining: 0 };
    clock.set("2026-03-31T22:59:59.999Z");
    expect(await lookup(regNo)).toMatchObject({ status: "Licensed", license: { daysRemaining: 0 } });
    clock.add(1);
    expect(await lookup(regNo)).toMatchObject({ status: "Expired", license: ended });
  }));

test("a lookup fails if the register's database was replaced, instead of answering that nobody was found", () =>
  withStores(async (stores) => {
    const { lookup } = await open(stores, { tId: 1 });
    expect(await lookup("2")).toEqual(nothing);
    await stores.driver.batch([{ sql: "DELETE FROM signing_keys", args: [] }]);
    await stores.keys.create(aSigningKey("new", "active"), aSigningKey("next", "pending"));
    expect(await catchError(lookup("2"))).toMatchObject({ code: "REFUSED" });
  }));

test("a lookup that cannot read the database fails, instead of answering that nobody was found", () =>
  withStores(async (stores) => {
    const { dependencies } = await open(stores, { tId: 1 });
    const broken = createPublicLookup({
      ...dependencies,
      teachers: { find: () => Promise.reject(new Error("away")) },
    });
    for (const term of ["1", regNo, "12345678901", "a@b.example"]) {
      expect(await catchError(broken(term))).toMatchObject({ message: "away" });
    }
  }));

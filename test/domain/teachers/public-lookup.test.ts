import { describe, expect, test } from "bun:test";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import { createCalendar } from "../../../src/domain/clock.ts";
import { createConfiguration } from "../../../src/domain/configuration.ts";
import { defaultPolicy } from "../../../src/domain/policy.ts";
import { defaultSite } from "../../../src/domain/site.ts";
import { createPublicLookup, type PublicAnswer } from "../../../src/domain/teachers/public-lookup.ts";
import { planWrite } from "../../../src/domain/teachers/store.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { aClock } from "../../harness/clock.ts";
import { fillRing } from "../../harness/keys.ts";
import { rejection } from "../../harness/rejection.ts";
import { aSigningKey, aTeacher, secrets } from "../../harness/samples.ts";
import { type TestStores, withStores } from "../../harness/store.ts";

const start = "2026-03-01T09:30:00.250Z";
const index = createBlindIndex(secrets.blindIndexKey);
const regNo = "LA/2019/PRI/04417";
const nothing = { found: false, verifiedAt: start } as const;

async function open(stores: TestStores, ...teachers: Partial<TeacherContent>[]) {
  const clock = aClock(start);
  await fillRing(stores.keys, clock.now());
  const settings = {
    issuer: "https://teachers.example",
    timeZone: "Africa/Lagos",
    policy: defaultPolicy,
    allowPrivateWebhooks: false,
    site: defaultSite,
  };
  const configuration = await createConfiguration({ ...stores, secrets, clock, defaults: settings });
  const calendar = createCalendar("Africa/Lagos");
  const change = { action: "import", actor: "test", calendar, at: clock.now() } as const;
  await stores.teachers.apply(
    teachers.map((one) => planWrite(null, aTeacher(one.regNo ?? regNo, one), change)),
  );
  const dependencies = {
    configuration,
    teachers: stores.teachers,
    blindIndex: index,
    clock,
    mayBeReplaced: true,
  };
  return { lookup: createPublicLookup(dependencies), clock, dependencies };
}

/** The public answer about one teacher. */
function answerFor(
  changes: Partial<TeacherContent>,
  act: (answer: Extract<PublicAnswer, { found: true }>) => void,
) {
  return withStores(async (stores) => {
    const { lookup } = await open(stores, changes);
    const answer = await lookup(regNo);
    if (!answer.found) throw new Error("not found");
    act(answer);
  });
}

/** What every member says, and whom which term finds, is in blackbox/public-lookup. */
describe("what the public is told", () => {
  test("of an expired licence", () =>
    answerFor({ licenseExpiryDate: "2026-02-28" }, (answer) => {
      expect(answer.status).toBe("Expired");
      expect(answer.license).toEqual({
        status: "EXPIRED",
        issueDate: "2020-01-01",
        expiryDate: "2026-02-28",
        daysRemaining: 0,
      });
    }));

  test.each<[string, Partial<TeacherContent>]>([
    ["revoked", { licenseRevokedOn: "2026-01-01", licenseRevokedReason: "a secret reason" }],
    ["revoked and expired", { licenseRevokedOn: "2026-01-01", licenseExpiryDate: "2026-02-01" }],
    ["of a deactivated teacher", { active: false }],
    ["that was never given", { licenseIssueDate: null, licenseExpiryDate: null }],
  ])("of a licence %s: that there is none, without dates", (_what, changes) =>
    answerFor(changes, (answer) => {
      expect(answer.status).toBe("Not licensed");
      expect(answer.license).toEqual({
        status: "NOT_FOUND",
        issueDate: null,
        expiryDate: null,
        daysRemaining: null,
      });
      expect(JSON.stringify(answer)).not.toMatch(/revoke|secret|deactivat/i);
    }),
  );

  test("of a licence that starts later: its dates", () =>
    answerFor({ licenseIssueDate: "2026-03-02", licenseExpiryDate: "2028-03-01" }, (answer) => {
      expect(answer.status).toBe("Not licensed");
      expect(answer.license).toEqual({
        status: "NOT_FOUND",
        issueDate: "2026-03-02",
        expiryDate: "2028-03-01",
        daysRemaining: null,
      });
    }));

  test("changes with the day of the service's time zone", () =>
    withStores(async (stores) => {
      const { lookup, clock } = await open(stores, { licenseExpiryDate: "2026-03-31" });
      const status = async () => {
        const answer = await lookup(regNo);
        return answer.found ? answer.status : "nobody";
      };
      clock.set("2026-03-31T22:59:59.999Z");
      expect(await status()).toBe("Licensed");
      clock.add(1);
      expect(await status()).toBe("Expired");
    }));
});

describe("nobody is never said", () => {
  test("of a register that was made anew in the place of this one", () =>
    withStores(async (stores) => {
      const { lookup } = await open(stores, { tId: 1 });
      expect(await lookup("2")).toEqual(nothing);
      await stores.driver.batch([{ sql: "DELETE FROM signing_keys", args: [] }]);
      await stores.keys.create(aSigningKey("new", "active"), aSigningKey("next", "pending"));
      expect(await rejection(lookup("2"))).toMatchObject({ code: "REFUSED" });
    }));

  test("because a lookup failed", () =>
    withStores(async (stores) => {
      const { dependencies } = await open(stores, { tId: 1 });
      const broken = createPublicLookup({
        ...dependencies,
        teachers: { find: () => Promise.reject(new Error("away")) },
      });
      for (const term of ["1", regNo, "12345678901", "a@b.example"]) {
        expect(await rejection(broken(term))).toMatchObject({ message: "away" });
      }
    }));
});

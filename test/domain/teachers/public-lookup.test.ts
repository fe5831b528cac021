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

describe("what the public is told", () => {
  test("of a licensed teacher", () =>
    answerFor(
      { tId: 204_417, licenseExpiryDate: "2026-03-31", photoUrl: "https://photos.example/1.jpg" },
      (answer) => {
        expect(answer).toEqual({
          found: true,
          name: "Ada Obi",
          tId: "204417",
          status: "Licensed",
          state: "Lagos",
          teacher: {
            name: "Ada Obi",
            tId: "204417",
            state: "Lagos",
            category: "A",
            photoUrl: "https://photos.example/1.jpg",
          },
          certificate: { status: "VERIFIED", regNo, issueDate: "2020-01-01" },
          license: { status: "VALID", issueDate: "2020-01-01", expiryDate: "2026-03-31", daysRemaining: 30 },
          verifiedAt: start,
        });
      },
    ));

  test("unknown members are null, but the photo is left out", () =>
    answerFor({ state: null, category: null, certificateIssueDate: null }, (answer) => {
      expect(answer).toMatchObject({ tId: null, state: null });
      expect(answer.teacher).toEqual({ name: "Ada Obi", tId: null, state: null, category: null });
      expect(answer.certificate.issueDate).toBeNull();
    }));

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

describe("who is found", () => {
  const nin = "08031234567";

  test("whoever the term names, in each of its forms", () =>
    withStores(async (stores) => {
      const { lookup } = await open(stores, {
        tId: 204_417,
        ninIndex: index.nin("12345678901"),
        emailIndex: index.email("ada@example.com"),
        phoneIndex: index.phone("+2348031234567"),
      });
      const terms = [
        regNo,
        ` ${regNo.toLowerCase()} `,
        "204417",
        "12345678901",
        "ADA@example.com",
        nin,
        "2348031234567",
        "+234 803 123 4567",
      ];
      for (const term of terms) expect(await lookup(term)).toMatchObject({ found: true, name: "Ada Obi" });
      for (const term of [
        "204418",
        "12345678902",
        "eve@example.com",
        "08031234568",
        "A/B/C/D",
        "Ada Obi",
        "\0",
        "'; --",
      ]) {
        expect(await lookup(term)).toEqual(nothing);
      }
    }));

  test("eleven digits are a NIN before they are a phone number, and a phone number before a teacher id", () =>
    withStores(async (stores) => {
      const tId = Number(nin);
      const { lookup } = await open(
        stores,
        { regNo: "A/1/B/1", name: "By NIN", ninIndex: index.nin(nin) },
        { regNo: "A/1/B/2", name: "By phone", phoneIndex: index.phone("+2348031234567") },
        { regNo: "A/1/B/3", name: "By id", tId },
      );
      expect(await lookup(nin)).toMatchObject({ name: "By NIN" });
    }));

  test("with no such NIN the phone number counts, and with neither the teacher id", () =>
    withStores(async (stores) => {
      const byPhone = { regNo: "A/1/B/2", name: "By phone", phoneIndex: index.phone("+2348031234567") };
      const { lookup } = await open(stores, byPhone, {
        regNo: "A/1/B/3",
        name: "By id",
        tId: 12_345_678_901,
      });
      expect(await lookup(nin)).toMatchObject({ name: "By phone" });
      expect(await lookup("12345678901")).toMatchObject({ name: "By id" });
    }));

  test("a contact that belongs to two teachers names neither", () =>
    withStores(async (stores) => {
      const emailIndex = index.email("shared@example.com");
      const { lookup } = await open(
        stores,
        { regNo: "A/1/B/1", emailIndex },
        { regNo: "A/1/B/2", emailIndex },
      );
      expect(await lookup("shared@example.com")).toEqual(nothing);
    }));

  test("nobody is never said of a register that was made anew in the place of this one", () =>
    withStores(async (stores) => {
      const { lookup } = await open(stores, { tId: 1 });
      expect(await lookup("2")).toEqual(nothing);
      await stores.driver.batch([{ sql: "DELETE FROM signing_keys", args: [] }]);
      await stores.keys.create(aSigningKey("new", "active"), aSigningKey("next", "pending"));
      expect(await rejection(lookup("2"))).toMatchObject({ code: "REFUSED" });
    }));

  test("nobody is never said because a lookup failed", () =>
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

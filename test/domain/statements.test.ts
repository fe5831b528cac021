import { expect, test } from "bun:test";
import { findContradictingColumns } from "../../src/domain/evidence/audit-rows.ts";
import { QuotaExceededError } from "../../src/domain/quota.ts";
import type { StatementRequest } from "../../src/domain/statements.ts";
import { exportPersonalData } from "../../src/domain/teachers/export.ts";
import type { SignedStatement } from "../../src/partner/contract.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import { verifyStatement } from "../../src/partner/verify-statement.ts";
import { catchError } from "../harness/rejection.ts";
import type { World } from "./with-verification.ts";
import { ask, blindIndex, enrol, nin, purpose, regNo, withVerification } from "./with-verification.ts";

type Listed = StatementRequest["teachers"][number];
function named(identifier: Listed["identifier"], name: string | null = null): Listed {
  return { identifier, name };
}

const anybody = named({ regNo });
const nobody = named({ tId: 999_999 });

async function stated(world: World, teachers: readonly Listed[]): Promise<SignedStatement> {
  return JSON.parse((await world.roster(teachers)).body);
}

/** A partner whose quota of a day suffices for long lists. */
const room = { partner: { perMinute: 9, perDay: 1_000 } };

test.each([1, 2, 3, 24, 25, 257])("a partner can verify a statement of %i rows", (count) =>
  withVerification(async (world) => {
    await enrol(world, { regNo: "A/1/B/é", licenseExpiryDate: "2020-01-01" });
    const misnamed = named({ regNo: "A/1/B/é" }, "Ада");
    const some = [anybody, nobody, misnamed, named({ nin }), named({ nin: "99999999999" })];
    const teachers = Array.from({ length: count }, (_, index) => some[index % some.length] as Listed);
    const statement = await stated(world, teachers);
    const { issuer, issuedAt, audience, signatureKid, rows } = statement;
    const keys = await createKeySet({ jwks: world.configuration.current().jwks });
    const options = { keys, issuer, audience: "agency", now: new Date(issuedAt) };
    const { reason, statement: signed } = await verifyStatement(JSON.stringify(statement), options);
    expect([reason, signed?.rows]).toEqual([null, rows]);
    expect([issuedAt, audience, signatureKid]).toEqual(["2026-03-01T09:30:00Z", "agency", world.active.kid]);
    expect(rows.map(({ row }) => row)).toEqual(teachers.map((_, index) => index + 1));
  }, room),
);

test("the summary of a statement counts people and not rows, in all and for each reason", () =>
  withVerification(async (world) => {
    const expired = { licenseExpiryDate: "2020-01-01", certificateStatus: "CLAIMED" } as const;
    await enrol(world, { regNo: "A/1/B/1", tId: 5, ...expired });
    const known = [anybody, named({ tId: 204_417 }), named({ nin })];
    const ofExpired = [named({ regNo: "A/1/B/1" }), named({ tId: 5 })];
    const unknown = [nobody, nobody, named({ nin: "99999999999" })];
    const statement = await stated(world, [...known, ...ofExpired, ...unknown]);
    expect(statement.summary).toEqual({
      ...{ listed: 8, distinct: 4, found: 2, eligible: 1, percentEligible: 25 },
      byReason: { TEACHER_NOT_FOUND: 2, LICENSE_EXPIRED: 1, CERTIFICATE_CLAIMED: 1 },
    });
    for (const row of statement.rows.slice(0, 3))
      expect(row).toMatchObject({ regNo, tId: 204_417, eligible: true });
  }));

test("a person whom a list gives another name is not eligible, unless a second row has the registered name", () =>
  withVerification(async (world) => {
    for (const n of [1, 2, 3]) await enrol(world, { regNo: `N/1/B/${n}`, name: "Ngozi Bello" });
    const row = (n: number, name: string) => ({ ...named({ regNo: `N/1/B/${n}` }), name });
    const [bello, okeke] = ["Ngozi Bello", "Chidi Okeke"];
    const list = [row(1, bello), row(2, okeke), row(3, okeke), row(3, "Bello, Ngozi")];
    const statement = await stated(world, list);
    expect(JSON.stringify(statement)).not.toContain("Bello");
    const { rows, summary } = statement;
    expect(rows.map(({ eligible }) => eligible)).toEqual([true, false, false, true]);
    expect(rows.map(({ reasons }) => reasons.join())).toEqual(["", "NAME_DIFFERS", "NAME_DIFFERS", ""]);
    expect(summary).toMatchObject({ listed: 4, distinct: 3, found: 3, eligible: 2, percentEligible: 66.6 });
    expect(summary.byReason).toEqual({ NAME_DIFFERS: 1 });
  }));

test("a list that gives one person more than three names is refused", () =>
  withVerification(async (world) => {
    const tried = ["A", "B", "A", "C", "D"].map((name) => named({ regNo }, name));
    expect((await stated(world, tried.slice(0, 4))).summary.distinct).toBe(1);
    const refusal = { code: "REQUEST_INVALID", message: expect.stringContaining("teachers[4]") };
    expect(await catchError(stated(world, tried))).toMatchObject(refusal);
  }));

test("a statement repeats an unknown identifier, unless it may be a NIN", () =>
  withVerification(async (world) => {
    const asked = [{ regNo: "X/1/Y/2" }, { tId: 77 }, { nin: "99999999999" }, { tId: 99_999_999_999 }];
    const { rows } = await stated(
      world,
      asked.map((identifier) => named(identifier)),
    );
    expect(rows.map(({ regNo }) => regNo)).toEqual(["X/1/Y/2", null, null, null]);
    expect(rows.map(({ tId }) => tId)).toEqual([null, 77, null, null]);
  }));

test("a statement is stored as one attestation that names the people in it", () =>
  withVerification(async (world) => {
    const statement = await stated(world, [anybody, nobody, named({ nin: "99999999999" })]);
    const [kept, ...others] = await world.stored();
    expect(others).toEqual([]);
    expect(kept).toMatchObject({
      ...{ verificationId: statement.statementId, partnerId: "agency", operation: "roster", purpose },
      ...{ teacherId: null, ninIndex: null, reference: "list:Government College, Ikorodu", eligible: false },
      ...{ status: "STATEMENT", context: '{"reference":"CENTRE-4711"}', jws: statement.signature },
    });
    expect(findContradictingColumns({ ...(kept as typeof kept & object), id: 1 } as never)).toEqual([]);
    const reference = "row 1 of list:Government College, Ikorodu";
    expect(await world.attestations.list({ teacherId: 1, limit: 9 })).toMatchObject([
      { reference, status: "VALID", eligible: true, teacherId: 1 },
    ]);
    expect(await world.attestations.countOfTeacher(1)).toBe(1);
    expect(await world.attestations.answeredValid(1, 0)).toMatchObject([{ partnerId: "agency", times: 1 }]);
    expect(await world.attestations.verifiedBy(1)).toEqual(["agency"]);
  }));

test("a statement costs one call of the minute's quota, and each row costs one call of the day's quota", () =>
  withVerification(async (world) => {
    await stated(world, [anybody, named({ nin }), nobody, nobody]);
    const windows = (await world.quotaStore.windows()).map(({ kind, used }) => `${kind} ${used}`).sort();
    expect(windows).toEqual(["day 4", "minute 1"]);
  }));

test("a statement is refused as a whole if the day's quota has room for only some of its rows", () =>
  withVerification(
    async (world) => {
      const refusal = await catchError(stated(world, [anybody, nobody, named({ tId: 1 })]));
      expect(refusal).toBeInstanceOf(QuotaExceededError);
      expect((refusal as QuotaExceededError).refusal).toMatchObject({ window: "day", remaining: 2 });
      expect(await world.stored()).toEqual([]);
      expect((await stated(world, [anybody, nobody])).summary.distinct).toBe(2);
      expect(await catchError(world.one(ask({ regNo })))).toBeInstanceOf(QuotaExceededError);
    },
    { partner: { perMinute: 9, perDay: 2 } },
  ));

test("the export of a person's data contains the statement rows about the person's record or NIN", () =>
  withVerification(async (world) => {
    const { statementId } = await stated(world, [nobody, anybody, named({ nin: "99999999999" })]);
    const stores = { ...world, blindIndex, kept: { from: null, through: null } as never };
    const found = await exportPersonalData(stores, nin);
    const reference = "row 2 of list:Government College, Ikorodu";
    expect(found.lookups).toMatchObject([
      { verificationId: statementId, partnerId: "agency", reference, status: "VALID" },
    ]);
    const { lookups } = await exportPersonalData(stores, "99999999999");
    expect(lookups).toMatchObject([{ verificationId: statementId, status: "NOT_FOUND", eligible: false }]);
  }));

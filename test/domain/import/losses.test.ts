import { expect, test } from "bun:test";
import {
  describeLosses,
  findExcessiveLosses,
  findNotableLosses,
  noLosses,
  sumLosses,
} from "../../../src/domain/import/losses.ts";
import { csv, rows, withImports } from "../../harness/imports.ts";

const hour = 3_600_000;
const expired = { license_expiry_date: "2025-12-31" };
/** Writes an extract of 200 teachers, of whom the first `count` have an expired licence. */
const without = (count: number) => csv(rows(200).map((one, n) => (n < count ? { ...one, ...expired } : one)));

test("the brake adds up the losses of 24 hours, so that many small losses stop an import", () =>
  withImports(async ({ add, clock }) => {
    await add(without(0));
    expect((await add(without(2))).stopped).toBeUndefined();
    clock.add(hour);
    expect((await add(without(4))).stopped).toBeUndefined();
    clock.add(hour);
    const stopped = { by: "brake", losses: [{ kind: "validLicenses", lost: 1, of: 200, earlier: 4 }] };
    expect(await add(without(5))).toMatchObject({ stopped });
    // A stopped import has no losses, and an import without losses is not stopped.
    expect(await add(without(5))).toMatchObject({ stopped });
    expect((await add(without(4))).stopped).toBeUndefined();
    clock.add(24 * hour);
    expect((await add(without(7))).stopped).toBeUndefined();
  }));

test("the brake counts only the losses after the last import with --allow-change", () =>
  withImports(async ({ add }) => {
    await add(without(0));
    await add(without(4));
    expect(await add(without(10))).toMatchObject({ stopped: { by: "brake" } });
    expect((await add(without(10), { allowChange: true })).stopped).toBeUndefined();
    expect((await add(without(13))).stopped).toBeUndefined();
    expect(await add(without(14))).toMatchObject({ stopped: { by: "brake" } });
  }));

const losing = (validLicenses: number, of = 400) => ({
  lost: { ...noLosses.lost, validLicenses },
  of: { ...noLosses.of, validLicenses: of },
});

test("losses above half of the brake's limit are reported", () => {
  expect(findNotableLosses(losing(4))).toEqual([]);
  expect(findNotableLosses(losing(5))).toEqual([{ kind: "validLicenses", lost: 5, of: 400 }]);
  expect(findExcessiveLosses(losing(8), noLosses)).toEqual([]);
  expect(findExcessiveLosses(losing(1, 392), losing(8))).toEqual([
    { kind: "validLicenses", lost: 1, of: 400, earlier: 8 },
  ]);
  expect(sumLosses([losing(2), "allowed", losing(300)])).toEqual(losing(2));
  expect(describeLosses([{ kind: "validLicenses", lost: 1, of: 400, earlier: 8 }])).toBe(
    "1 of 400 valid licences (beside the 8 of the last 24 hours)",
  );
});

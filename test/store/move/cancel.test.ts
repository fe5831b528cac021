import { describe, expect, test } from "bun:test";
import { createSettingsStore } from "../../../src/store/settings.ts";
import { rejection } from "../../harness/rejection.ts";
import {
  aFile,
  aRegister,
  cancel,
  dump,
  isInUse,
  move,
  over,
  refusal,
  usePlaces,
  withoutRevision,
} from "./places.ts";

usePlaces();

describe("a move is taken back", () => {
  test("as long as the register was not changed in its new place", async () => {
    const [from, to] = [await aRegister(), aFile()];
    const before = await dump(from);
    await move(from, to);
    await cancel(from, to);
    expect([await isInUse(from), await isInUse(to)]).toEqual([true, false]);
    expect(withoutRevision(await dump(from))).toEqual(withoutRevision(before));
    await move(from, to);
    await over(to, (driver) => createSettingsStore(driver).write({ issuer: "https://two.example" }));
    expect(await rejection(cancel(from, to))).toMatchObject(refusal(/was changed since/));
    expect([await isInUse(from), await isInUse(to)]).toEqual([false, true]);
  });

  test("without a look at the new place only when none is named", async () => {
    const [from, to, other] = [await aRegister(), aFile(), await aRegister()];
    expect(await rejection(cancel(from, to))).toMatchObject(refusal(/was not moved/));
    await move(from, to);
    expect(await rejection(cancel(from, other))).toMatchObject(refusal(/not to/));
    await cancel(from, null);
    expect(await isInUse(from)).toBe(true);
  });
});

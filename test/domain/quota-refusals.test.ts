import { describe, expect, test } from "bun:test";
import { createQuota } from "../../src/domain/quota.ts";
import type { QuotaCharge, WindowsUsed } from "../../src/domain/quota-windows.ts";
import { aClock } from "../harness/clock.ts";
import { entered, minuteEnd, partner, refusalOf, start } from "./quota-samples.ts";

describe("a call whose commit was refused", () => {
  /** A database in which another server has used as much, and whose revision is 7. */
  function aDatabase(used: WindowsUsed) {
    const now = { ...used };
    return {
      used: async () => ({ ...now }),
      async chargeMinute({ calls, limits }: QuotaCharge, revision: number) {
        if (revision !== 7 || now.minute + calls > limits.minute) return null;
        now.minute += calls;
        return { ...now };
      },
    };
  }
  const opened = (used: WindowsUsed) =>
    createQuota({ clock: aClock(start), store: aDatabase(used), stored: [] });

  test("is judged by what the database says, and so is who comes after it", async () => {
    const quota = opened({ minute: 3, day: 3 });
    const call = entered(quota, partner());
    call.chargeFor(1);
    await call.reread();
    expect(refusalOf(() => call.enter(partner()))).toMatchObject({
      window: "minute",
      remaining: 0,
    });
    expect(refusalOf(() => entered(quota, partner()))?.window).toBe("minute");
    const raised = partner({ perMinute: 4 });
    call.enter(raised);
    expect(call.chargeFor(1)).toMatchObject({ calls: 1, limits: { minute: 4 } });
  });

  test("is not refused for what its neighbours may use", async () => {
    const quota = opened({ minute: 2, day: 2 });
    const [call] = [entered(quota, partner()), entered(quota, partner())];
    await call?.reread();
    expect(refusalOf(() => call?.enter(partner()))).toBeNull();
  });

  test("pays its minute token while the minute has room, and only as it is judged now", async () => {
    const quota = opened({ minute: 1, day: 5 });
    const call = entered(quota, partner());
    expect(await call.pay(6)).toBe(false);
    expect(await call.pay(7)).toBe(true);
    expect(call.state()).toEqual({ limit: 3, remaining: 1, resetAt: minuteEnd });
    const last = entered(quota, partner());
    expect(await last.pay(7)).toBe(true);
    expect(last.state()?.remaining).toBe(0);
  });

  test("is refused by the window that blocks when there is none", async () => {
    const call = entered(opened({ minute: 3, day: 10 }), partner());
    expect(await call.pay(7)).toBe(false);
    expect(refusalOf(() => call.enter(partner()))).toMatchObject({ window: "day", remaining: 0 });
  });
});

import { expect, test } from "bun:test";
import { timersOf } from "../../src/domain/clock.ts";
import { numbers } from "../harness/random.ts";
import { countOf, seedOf, tell } from "../harness/trial.ts";
import { takesAll, withBoard } from "../harness/webhooks.ts";
import { canFail, diskFaults, failAt, failuresOf, isFailing, mend } from "./failing-disk.ts";

/** A sender while the disk fails at one of its writes, of leases and of outcomes: so many tries, drawn by TVS_SEED. */
const tries = countOf("TVS_KILLS", 12);
const seed = seedOf();
/** More writes than a sender makes for a delivery, with those of its lease. */
const mostWrites = 24;

if (!isFailing)
  test.skipIf(!canFail)(
    "a delivery whose lease or outcome a failing disk refuses is made, and finished once it is well",
    async () => expect(await failuresOf(import.meta.path)).toBe(""),
    7_200_000,
  );

if (isFailing)
  test("the deliveries", () =>
    withBoard(takesAll, async ({ world, received }) => {
      const [draw, wrong] = [numbers(seed), [] as string[]];
      for (let n = 0; n < tries; n++) {
        const fault = diskFaults[draw(diskFaults.length)] ?? diskFaults[0];
        const at = 1 + draw(mostWrites);
        await world.put(`A/B/C/${n}`);
        let passedMs = 0;
        const timers = { ...timersOf(world.clock), elapsed: () => performance.now() + passedMs };
        const sender = world.sender({ clock: { now: world.clock.now, timers }, onError() {} });
        failAt(world.folder, at, fault);
        await sender.settle().catch(() => {});
        mend();
        // By then what it could not finish is leased no more, and its pause after a failure is over.
        passedMs = 600_000;
        world.clock.add(passedMs);
        await sender.settle();
        await sender.close();
        const [delivery] = await world.webhooks.deliveries({ limit: 1 });
        const made = received.filter(
          ({ headers }) => headers["x-agency-delivery-id"] === delivery?.deliveryId,
        );
        if (delivery?.state !== "delivered" || made.length === 0)
          wrong.push(`${fault.name} at write ${at}: ${delivery?.state}, sent ${made.length} times`);
      }
      tell("faults-disk", { tried: { deliveries: tries }, wrong: wrong.length });
      expect(
        wrong,
        `TVS_SEED=${seed} TVS_KILLS=${tries} npm test -- test/faults/disk-webhooks.test.ts`,
      ).toEqual([]);
    }));

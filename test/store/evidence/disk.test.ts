import { expect, test } from "bun:test";
import { TvsError } from "../../../src/domain/errors.ts";
import type { AttestationStore } from "../../../src/store/evidence/attestations.ts";
import { createEvidenceDisk } from "../../../src/store/evidence/disk.ts";
import { catchError } from "../../harness/rejection.ts";
import { withStores } from "../../harness/store.ts";

/** A store whose disk is full. */
const full = {
  record: () => Promise.reject(new TvsError("STORE_FULL", "the disk is full")),
} as unknown as AttestationStore;

test("a disk that refused evidence counts as refusing until a probe finds room", () =>
  withStores(async ({ driver }) => {
    const disk = createEvidenceDisk(driver);
    expect(await catchError(disk.watch(full).record({} as never))).toMatchObject({ code: "STORE_FULL" });
    expect(disk.isRefusing()).toBe(true);
    await disk.probe();
    expect(disk.isRefusing()).toBe(false);
  }));

test("a stored attestation ends the state of a refusing disk", () =>
  withStores(async ({ driver }) => {
    const disk = createEvidenceDisk(driver);
    await catchError(disk.watch(full).record({} as never));
    await disk.watch({ record: async () => ({}) } as unknown as AttestationStore).record({} as never);
    expect(disk.isRefusing()).toBe(false);
  }));

test("a refusal of the disk during a probe for room is not forgotten", () =>
  withStores(async ({ driver }) => {
    let batches = 0;
    const disk = createEvidenceDisk({
      ...driver,
      async batch(statements) {
        // The second batch writes the probe.
        if (++batches === 2) await catchError(disk.watch(full).record({} as never));
        return driver.batch(statements);
      },
    });
    await catchError(disk.watch(full).record({} as never));
    expect(await catchError(disk.probe())).toMatchObject({ code: "STORE_FULL" });
    expect(disk.isRefusing()).toBe(true);
  }));

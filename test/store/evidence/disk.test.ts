import { expect, test } from "bun:test";
import { TvsError } from "../../../src/domain/errors.ts";
import type { AttestationStore } from "../../../src/store/evidence/attestations.ts";
import { createDiskMonitor } from "../../../src/store/evidence/disk.ts";
import { catchError } from "../../harness/rejection.ts";
import { withStores } from "../../harness/store.ts";

type Record = AttestationStore["record"];
/** Records an attestation through a watched store whose `record` is the given function. */
const record = (disk: ReturnType<typeof createDiskMonitor>, by: Record) =>
  disk.watch({ record: by } as AttestationStore).record({} as never);
const refuse = () => Promise.reject(new TvsError("STORE_FULL", "the disk is full"));

test("the monitor reports a disk that refused evidence as refusing until a probe succeeds or an attestation is stored", () =>
  withStores(async ({ driver }) => {
    const disk = createDiskMonitor(driver);
    for (const end of [disk.probe, () => record(disk, async () => ({}) as never)]) {
      expect(await catchError(record(disk, refuse))).toMatchObject({ code: "STORE_FULL" });
      expect(disk.isRefusing()).toBe(true);
      await end();
      expect(disk.isRefusing()).toBe(false);
    }
  }));

test("the monitor reports a disk that refused evidence during a probe as refusing, even if the probe succeeds", () =>
  withStores(async ({ driver }) => {
    let batches = 0;
    const disk = createDiskMonitor({
      ...driver,
      async batch(statements) {
        // The second batch writes the 1 MiB probe. During it the disk refuses another answer.
        if (++batches === 2) await catchError(record(disk, refuse));
        return driver.batch(statements);
      },
    });
    await catchError(record(disk, refuse));
    expect(await catchError(disk.probe())).toMatchObject({ code: "STORE_FULL" });
    expect(disk.isRefusing()).toBe(true);
  }));

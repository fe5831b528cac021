import { isTvsError, TvsError } from "../../domain/errors.ts";
import { bind, type Driver } from "../driver/driver.ts";
import type { AttestationStore } from "./attestations.ts";

/** A write that changes nothing, but fails in a read-only database. */
const emptyWrite = "UPDATE revision SET value = value WHERE id = 1";
/** Half of the probe's size in bytes, because hex doubles it. A commit may have the evidence of over 100 answers. */
const roomBytes = 512 * 1024;
/** SQL for the probe, a replay record. No real id is so short. After a kill, pruning deletes the record. */
const takeRoom = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body)
  VALUES (x'00', x'00', 0, '', hex(randomblob(${roomBytes})))`;
const giveRoomBack = "DELETE FROM idempotency WHERE id = x'00'";

/**
 * Watches whether the disk accepts the evidence of answers. A full disk may still accept a small write. So after a
 * refusal the probe writes as much as many answers, and deletes it: a load balancer sends no call that could show free
 * space. Otherwise the probe is small, to spare the disk.
 */
export function createDiskMonitor(driver: Driver) {
  let refusals = 0;
  let isRefusing = false;

  async function tryForRoom(): Promise<void> {
    const before = refusals;
    await driver.batch([bind(takeRoom)]);
    await driver.batch([bind(giveRoomBack)]);
    // During the probe the disk may have refused another answer.
    if (refusals === before) isRefusing = false;
  }

  return {
    /** Wraps a store to see whether its commits succeed. */
    watch: (store: AttestationStore): AttestationStore => ({
      ...store,
      async record(call) {
        try {
          const stored = await store.record(call);
          if (stored !== null) isRefusing = false;
          return stored;
        } catch (error) {
          if (isTvsError(error, "STORE_FULL") || isTvsError(error, "STORE_READ_ONLY")) {
            refusals++;
            isRefusing = true;
          }
          throw error;
        }
      },
    }),
    /** Tries an empty write, and after a refusal one of 1 MiB. @throws TvsError STORE_* if the disk refuses either */
    async probe(): Promise<void> {
      await driver.batch([bind(emptyWrite)]);
      if (isRefusing) await tryForRoom();
      if (isRefusing) throw new TvsError("STORE_FULL", "the disk refuses the evidence of answers");
    },
    /** Whether the disk refused the last evidence, and has accepted neither an answer nor the large probe since. */
    isRefusing: () => isRefusing,
  };
}

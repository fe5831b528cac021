import { isTvsError, TvsError } from "../../domain/errors.ts";
import { type Driver, statement } from "../driver/driver.ts";
import type { AttestationStore } from "./attestations.ts";

/** A write that changes nothing. A read-only database refuses it. */
const emptyWrite = "UPDATE revision SET value = value WHERE id = 1";
/** Half of the probe's size in bytes. A commit may carry the evidence of more than a hundred answers. */
const roomBytes = 512 * 1024;
/** Writes the probe as a replay record. No other id is so short, and pruning deletes the record after a kill. */
const takeRoom = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body)
  VALUES (x'00', x'00', 0, '', hex(randomblob(${roomBytes})))`;
const giveRoomBack = "DELETE FROM idempotency WHERE id = x'00'";

/**
 * Watches whether the disk accepts the evidence of answers. A full disk may still have room for a small change in the
 * write-ahead log. So after a refusal the probe commits as much as the evidence of many answers, and deletes it again: a load
 * balancer may send no calls that would show free space. Without a refusal the probe is small, to spare the disk.
 */
export function createEvidenceDisk(driver: Driver) {
  let refusals = 0;
  let isRefusing = false;

  async function tryForRoom(): Promise<void> {
    const before = refusals;
    await driver.batch([statement(takeRoom)]);
    await driver.batch([statement(giveRoomBack)]);
    // The disk may have refused another answer in between.
    if (refusals === before) isRefusing = false;
  }

  return {
    /** Wraps a store, and notes whether its commits succeed. */
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
    /** Tries a write. @throws TvsError STORE_* if the disk refuses a write, or still refuses the size of evidence */
    async probe(): Promise<void> {
      await driver.batch([statement(emptyWrite)]);
      if (isRefusing) await tryForRoom();
      if (isRefusing) throw new TvsError("STORE_FULL", "the disk refuses the evidence of answers");
    },
    /** Whether the disk refused the last evidence, and no commit of that size has succeeded since. */
    isRefusing: () => isRefusing,
  };
}

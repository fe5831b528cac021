import { isTvsError, TvsError } from "../../domain/errors.ts";
import { type Driver, statement } from "../driver/driver.ts";
import type { AttestationStore } from "./attestations.ts";

/** A probe: it changes nothing, and yet a database that cannot be written refuses it. */
const emptyWrite = "UPDATE revision SET value = value WHERE id = 1";
/** Half of the length, in bytes, of what the evidence of a busy moment needs: a commit may carry more than a hundred answers. */
const roomBytes = 512 * 1024;
/** A record that only takes room: no other has an id so short, and pruning deletes it if the process ends first. */
const takeRoom = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body)
  VALUES (x'00', x'00', 0, '', hex(randomblob(${roomBytes})))`;
const giveRoomBack = "DELETE FROM idempotency WHERE id = x'00'";

/**
 * Watches whether the disk accepts the evidence of answers: a full disk may still have room for a small change in the
 * write-ahead log. After a refusal a load balancer may send no calls, so the probe commits as much as the evidence of many
 * answers and deletes it again. Without a refusal it does not, because that would wear the disk out.
 */
export function createEvidenceDisk(driver: Driver) {
  let refusals = 0;
  let isRefusing = false;

  async function tryForRoom(): Promise<void> {
    const before = refusals;
    await driver.batch([statement(takeRoom)]);
    await driver.batch([statement(giveRoomBack)]);
    // Another answer may have been refused in between.
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
    /** @throws TvsError STORE_* when nothing can be written, or evidence was refused and would be again */
    async probe(): Promise<void> {
      await driver.batch([statement(emptyWrite)]);
      if (isRefusing) await tryForRoom();
      if (isRefusing) throw new TvsError("STORE_FULL", "the disk refuses the evidence of answers");
    },
    /** Whether the last evidence was refused and nothing of its size has gone through since. */
    isRefusing: () => isRefusing,
  };
}

import { isTvsError, TvsError } from "../../domain/errors.ts";
import { bind, type Driver } from "../driver/driver.ts";
import type { AttestationStore } from "./attestations.ts";

/** A write that changes nothing, but fails in a read-only database. */
const emptyWrite = "UPDATE revision SET value = value WHERE id = 1";
/** Random bytes of the probe. As hex they are 1 MiB. A commit may have the evidence of over 100 answers. */
const probeBytes = 512 * 1024;
/** SQL of the probe: an idempotency record with an impossibly short id. After a kill, pruning deletes the record. */
const writeProbe = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body)
  VALUES (x'00', x'00', 0, '', hex(randomblob(${probeBytes})))`;
const deleteProbe = "DELETE FROM idempotency WHERE id = x'00'";

/**
 * Creates a monitor that shows whether the disk accepts the evidence of answers. The probe is an empty write, to spare
 * the disk. A full disk may still accept an empty write, so after a refusal the probe also writes and deletes 1 MiB.
 * Without it free space would stay unnoticed, because a load balancer sends no calls to a refusing node.
 */
export function createDiskMonitor(driver: Driver) {
  let refusals = 0;
  let isRefusing = false;

  async function probeForSpace(): Promise<void> {
    const before = refusals;
    await driver.batch([bind(writeProbe)]);
    await driver.batch([bind(deleteProbe)]);
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
    /** Tries an empty write, and after a refusal also 1 MiB. @throws TvsError STORE_* if the disk refuses either */
    async probe(): Promise<void> {
      await driver.batch([bind(emptyWrite)]);
      if (isRefusing) await probeForSpace();
      if (isRefusing) throw new TvsError("STORE_FULL", "the disk refuses the evidence of answers");
    },
    /** Whether the disk refused the last evidence, and has accepted neither an answer nor the large probe since. */
    isRefusing: () => isRefusing,
  };
}

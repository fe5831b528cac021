import { isTvsError, TvsError } from "../../domain/errors.ts";
import { type Driver, statement } from "../driver/driver.ts";
import type { AttestationStore } from "./attestations.ts";

/** A probe: it changes nothing, and yet a database that cannot be written refuses it. */
const emptyWrite = "UPDATE revision SET value = value WHERE id = 1";
/** Half of the length, in bytes, of what the evidence of a busy moment needs: a commit may carry more than a hundred answers. */
const roomBytes = 512 * 1024;
/**
 * A record that only takes room. No other has an id so short, and it is old enough to be pruned should the process
 * end before it is taken back.
 */
const takeRoom = `INSERT OR REPLACE INTO idempotency (id, fingerprint, created_at, headers, body)
  VALUES (x'00', x'00', 0, '', hex(randomblob(${roomBytes})))`;
const giveRoomBack = "DELETE FROM idempotency WHERE id = x'00'";

const none = 0;

/** What all threads of a process know of the disk: the last refusal, or none; and how many there were. */
export function newEvidenceDisk(): SharedArrayBuffer {
  return new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Whether the disk still takes what an answer leaves behind: remembers that it refused evidence. On a full one a small
 * change still goes through, for it fits into room that the write-ahead log has already; an answer's evidence does not.
 * Nobody may call meanwhile, because a load balancer believes the probe, so the probe itself finds out that there is
 * room again: by a commit as large as the evidence of many answers, which is taken back at once. It does so only after
 * a refusal: a healthy service would wear its disk out.
 */
export function createEvidenceDisk(driver: Driver, memory: SharedArrayBuffer = newEvidenceDisk()) {
  const refusal = new Int32Array(memory);

  async function tryForRoom(): Promise<void> {
    const tried = Atomics.load(refusal, 0);
    await driver.batch([statement(takeRoom)]);
    await driver.batch([statement(giveRoomBack)]);
    // Another answer may have been refused while this went on.
    Atomics.compareExchange(refusal, 0, tried, none);
  }

  /** Each refusal is another number than the one before. */
  function remember(): void {
    Atomics.store(refusal, 0, 1 + (Atomics.add(refusal, 1, 1) & 0xff_ff_ff));
  }

  /** Whether the last evidence was refused and nothing of its size has gone through since. */
  const isRefusing = () => Atomics.load(refusal, 0) !== none;
  return {
    /** Puts itself around a store, to see what becomes of its commits. */
    watch: (store: AttestationStore): AttestationStore => ({
      ...store,
      async record(call) {
        try {
          const stored = await store.record(call);
          if (stored !== null && isRefusing()) Atomics.store(refusal, 0, none);
          return stored;
        } catch (error) {
          if (isTvsError(error, "STORE_FULL") || isTvsError(error, "STORE_READ_ONLY")) remember();
          throw error;
        }
      },
    }),
    /** @throws TvsError STORE_* when nothing can be written, or evidence was refused and would be again */
    async probe(): Promise<void> {
      await driver.batch([statement(emptyWrite)]);
      if (isRefusing()) await tryForRoom();
      if (isRefusing()) throw new TvsError("STORE_FULL", "the disk refuses the evidence of answers");
    },
    isRefusing,
  };
}

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import type { SigningBoard } from "./board.ts";
import type { Calls, Job } from "./calls.ts";

type Offered<K> = { readonly slot: number; readonly job: Job<K> };

/** The owner's side of a board: what it offers and gets back. */
export function createSharing<K>(board: SigningBoard, calls: Calls<K>) {
  /** What this thread has put on its board, each in the order in which it was asked. */
  const offered: Record<"single" | "bulk", Offered<K>[]> = { single: [], bulk: [] };
  /** What others could not sign; it is not offered again. */
  const returned: Record<"single" | "bulk", Job<K>[]> = { single: [], bulk: [] };
  const sortOf = (bulk: boolean) => (bulk ? "bulk" : "single");
  /** Others have signed for this thread of late: they will take more. */
  let isHelped = false;

  function offerOne(job: Job<K>): void {
    const slot = board.offer({ kid: job.kid, hash: hash("sha256", job.input, "buffer"), bulk: job.bulk });
    if (slot === undefined) returned[sortOf(job.bulk)].push(job);
    else offered[sortOf(job.bulk)].push({ slot, job });
  }

  /** @returns whether it still is where it was */
  function isPending({ slot, job }: Offered<K>): boolean {
    const outcome = board.outcome(slot);
    if (outcome === "offered") return true;
    isHelped = true;
    if (outcome === "claimed") return true;
    if (outcome === "returned") returned[sortOf(job.bulk)].push(job);
    else job.resolve(Buffer.from(outcome).toString("base64url"));
    board.release(slot);
    return false;
  }

  const announce = () => board.announce(offered.single.length + offered.bulk.length > 0);

  return {
    /** Offers what waits, as long as others have nothing to do, or have just taken some. */
    offer(): void {
      if (!isHelped && !board.isAnyoneAsleep()) return;
      for (const bulk of [false, true]) {
        while (board.hasRoom(bulk)) {
          const job = calls.take(bulk);
          if (job === undefined) break;
          offerOne(job);
        }
      }
    },
    /** Takes back the oldest of a sort that nobody has taken. */
    takeBack(bulk: boolean): Job<K> | undefined {
      const sort = sortOf(bulk);
      const refused = returned[sort].shift();
      if (refused !== undefined) return refused;
      const place = offered[sort].findIndex(({ slot }) => board.takeBack(slot));
      if (place === -1) return undefined;
      const [back] = offered[sort].splice(place, 1);
      announce();
      return back?.job;
    },
    /** How many there are to take back. */
    count: () =>
      returned.single.length +
      returned.bulk.length +
      [...offered.single, ...offered.bulk].filter(({ slot }) => board.outcome(slot) !== "claimed").length,
    /** Settles what others have signed. */
    collect(): void {
      isHelped = false;
      offered.single = offered.single.filter(isPending);
      offered.bulk = offered.bulk.filter(isPending);
      announce();
    },
  };
}

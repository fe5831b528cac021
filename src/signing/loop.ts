import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { TvsError } from "../domain/errors.ts";
import type { SigningBoard } from "./board.ts";
import type { Calls, Job } from "./calls.ts";

/** A signature that this thread makes next, for itself or for another. */
export type Task<K> = {
  readonly key: K;
  /** SHA-256 of what is to be signed. */
  readonly hash: Uint8Array;
  /** @param signature null when it could not be made */
  settle(signature: Uint8Array | null): void;
};

type LoopParts<K> = {
  readonly calls: Calls<K>;
  /** Where this thread shares with others; without it, it signs alone. */
  readonly board: SigningBoard | undefined;
  /** How many are signed together at most, and how many must wait for that; 1 and 1 where it wins nothing. */
  readonly together: { readonly most: number; readonly from: number };
  /** The key of a key id, if this thread can sign with it for another. */
  find(kid: string): K | undefined;
  /** Signs, and settles each. */
  sign(tasks: readonly Task<K>[]): void;
};

/** How long a thread signs until it looks after its connections again, in milliseconds; one signature at least. */
const turnMs = 1;
/** While both wait, every fourth signature is a batch's: single checks go first, and batches still move. */
const bulkEvery = 4;

/**
 * Signs in the thread that also reads, answers and commits, about a millisecond at a time, so that nobody's
 * connection waits for longer than that. What waits besides is offered to threads that have nothing to do; one that
 * has nothing of its own makes signatures for others, and holds none that it has not begun.
 */
export function createSigningLoop<K>({ calls, board, together, ...keys }: LoopParts<K>) {
  const sharing = board === undefined ? undefined : createSharing(board, calls);
  const stopListening = board?.listen(() => {
    if (!isScheduled) turn();
  });
  let isScheduled = false;
  let isClosed = false;
  let taken = 0;
  const hasKey = (kid: string) => keys.find(kid) !== undefined;

  /** The oldest of a sort: what is still offered was asked for before what is not. */
  const oldest = (bulk: boolean) => sharing?.takeBack(bulk) ?? calls.take(bulk);

  function next(): Job<K> | undefined {
    const isBulksTurn = taken % bulkEvery === bulkEvery - 1;
    const job = oldest(isBulksTurn) ?? oldest(!isBulksTurn);
    if (job !== undefined) taken++;
    return job;
  }

  function takeOwn(): Task<K>[] {
    const isEnough = () => calls.count() + (sharing?.count() ?? 0) >= together.from;
    const most = together.most > 1 && isEnough() ? together.most : 1;
    const tasks: Task<K>[] = [];
    for (let job = next(); job !== undefined; job = next()) {
      if (job.isOpen()) tasks.push(taskOf(job));
      if (tasks.length === most) break;
    }
    if (tasks.length > 0) sharing?.offer();
    return tasks;
  }

  function takeOthers(): Task<K>[] {
    const most = together.most > 1 && board?.areOffered(together.from, hasKey) ? together.most : 1;
    const tasks: Task<K>[] = [];
    for (let claim = board?.claim(hasKey); board && claim !== undefined; claim = board.claim(hasKey)) {
      const mine = claim;
      const key = keys.find(mine.kid);
      if (key === undefined) board.deliver(mine, null);
      else tasks.push({ key, hash: mine.hash, settle: (signature) => board.deliver(mine, signature) });
      if (tasks.length === most) break;
    }
    return tasks;
  }

  function turn(): void {
    isScheduled = false;
    if (isClosed) return;
    board?.rise();
    const until = performance.now() + turnMs;
    sharing?.collect();
    let tasks: Task<K>[];
    do {
      tasks = takeOwn();
      if (tasks.length === 0) tasks = takeOthers();
      keys.sign(tasks);
    } while (tasks.length > 0 && performance.now() < until);
    if (tasks.length > 0) wake();
    else rest();
  }

  /** Sleeps until something is asked of it, looking once more when others know that it does. */
  function rest(): void {
    if (board === undefined) return;
    board.sleep();
    if ((sharing?.count() ?? 0) > 0 || board.areOffered(1, hasKey)) wake();
  }

  /** There may be something to sign, now or from others. */
  function wake(): void {
    if (isScheduled || isClosed) return;
    isScheduled = true;
    setImmediate(turn);
  }

  return {
    wake,
    close(): void {
      isClosed = true;
      stopListening?.();
    },
  };
}

function taskOf<K>({ key, input, resolve, reject }: Job<K>): Task<K> {
  return {
    key,
    hash: hash("sha256", input, "buffer"),
    settle(signature) {
      if (signature === null) reject(new TvsError("SIGNER_UNAVAILABLE", "OpenSSL could not sign; try again"));
      else resolve(Buffer.from(signature).toString("base64url"));
    },
  };
}

type Offered<K> = { readonly slot: number; readonly job: Job<K> };

/** The owner's side of a board: what it offers and gets back. */
function createSharing<K>(board: SigningBoard, calls: Calls<K>) {
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

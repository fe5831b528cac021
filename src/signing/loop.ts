import type { SigningBoard } from "./board.ts";
import type { Calls, Job } from "./calls.ts";
import { createSharing } from "./sharing.ts";

type LoopParts<K> = {
  readonly calls: Calls<K>;
  /** Where this thread shares with others; without it, it signs alone. */
  readonly board: SigningBoard | undefined;
  /** Signs one of this thread's own, and settles it. */
  sign(job: Job<K>): void;
  /** Whether this thread has the key of a key id, so that it can sign for another. */
  hasKey(kid: string): boolean;
  /** Signs a hash for another thread. @returns null when it cannot */
  signFor(kid: string, hash: Uint8Array): Uint8Array | null;
};

/** How long a thread signs until it looks after its connections again, in milliseconds; one signature at least. */
const turnMs = 1;
/** While both wait, every fourth signature is a batch's: single checks go first, and batches still move. */
const bulkEvery = 4;

/**
 * Signs in the thread that also reads, answers and commits, about a millisecond at a time, so that nobody's
 * connection waits for longer than that. What waits besides is offered to threads that have nothing to do; one that
 * has nothing of its own makes signatures for others, one after the other, and holds none that it has not begun.
 */
export function createSigningLoop<K>({ calls, board, ...keys }: LoopParts<K>) {
  const sharing = board === undefined ? undefined : createSharing(board, calls);
  const stopListening = board?.listen(() => {
    if (!isScheduled) turn();
  });
  let isScheduled = false;
  let isClosed = false;
  let signed = 0;

  /** The oldest of a sort: what is still offered was asked for before what is not. */
  const oldest = (bulk: boolean) => sharing?.takeBack(bulk) ?? calls.take(bulk);

  function next(): Job<K> | undefined {
    const isBulksTurn = signed % bulkEvery === bulkEvery - 1;
    return oldest(isBulksTurn) ?? oldest(!isBulksTurn);
  }

  /** @returns false when there was nothing to sign */
  function signOwn(): boolean {
    const job = next();
    if (job === undefined) return false;
    sharing?.offer();
    signed++;
    if (job.isOpen()) keys.sign(job);
    return true;
  }

  function signOthers(): boolean {
    const claim = board?.claim(keys.hasKey);
    if (claim === undefined) return false;
    board?.deliver(claim, keys.signFor(claim.kid, claim.hash));
    return true;
  }

  function turn(): void {
    isScheduled = false;
    if (isClosed) return;
    board?.rise();
    const until = performance.now() + turnMs;
    let hasSigned: boolean;
    sharing?.collect();
    do hasSigned = signOwn() || signOthers();
    while (hasSigned && performance.now() < until);
    if (hasSigned) wake();
    else rest();
  }

  /** Sleeps until something is asked of it, looking once more when others know that it does. */
  function rest(): void {
    if (board === undefined) return;
    board.sleep();
    if (sharing?.hasLeft() || board.isAnythingOffered(keys.hasKey)) wake();
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

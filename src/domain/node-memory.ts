/** What the threads of a node share about it: who else serves, whether its clock is right, what each has loaded. */

const liveNodesAt = 0;
const clockWrongAt = 1;
const endingAt = 2;
const firstThreadAt = 3;

export type NodeMemory = ReturnType<typeof openNodeMemory>;

export function newNodeMemory(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer((firstThreadAt + threads) * Int32Array.BYTES_PER_ELEMENT);
}

/** @param memory of {@link newNodeMemory} */
export function openNodeMemory(memory: SharedArrayBuffer) {
  const words = new Int32Array(memory);
  const threads = words.length - firstThreadAt;
  return {
    /** How many nodes serve the database, this one included. */
    liveNodes: () => Math.max(1, Atomics.load(words, liveNodesAt)),
    /** Whether this node's clock differs from the database's by more than it may (decision D12.4). */
    isClockWrong: () => Atomics.load(words, clockWrongAt) === 1,
    /** Whether this node still answers, and says that it is about to end (decision D12.7). */
    isEnding: () => Atomics.load(words, endingAt) === 1,
    announceEnd: () => void Atomics.store(words, endingAt, 1),
    /** Notes what a beat has found. */
    found({ liveNodes, isClockWrong }: { liveNodes: number; isClockWrong: boolean }): void {
      Atomics.store(words, liveNodesAt, liveNodes);
      Atomics.store(words, clockWrongAt, isClockWrong ? 1 : 0);
    },
    /** Notes the revision of the snapshot that a thread answers by. */
    loaded: (thread: number, revision: number) => void Atomics.store(words, firstThreadAt + thread, revision),
    /** Whether every thread answers by a snapshot of this revision or a later one. */
    haveAllLoaded(revision: number): boolean {
      for (let thread = 0; thread < threads; thread++)
        if (Atomics.load(words, firstThreadAt + thread) < revision) return false;
      return true;
    },
  };
}

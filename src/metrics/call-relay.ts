import type { Call } from "../domain/calls.ts";
import { isRefusal } from "./refusals.ts";

/** Calls that a thread has answered, and how many it could not keep until they were taken. */
export type CallsOfThread = { readonly calls: readonly Call[]; readonly dropped: number };

/** How long calls are gathered before they are sent. */
const gatherMs = 200;
/** Calls of one message: more would keep the main thread from answering for too long. */
const maxCalls = 2_000;
/** Calls that may wait. Callers without a credential have their own room, so that they take no partner's place. */
const maxWaiting = { partners: 15_000, strangers: 5_000 };

function kindOf({ partnerId }: Call): keyof typeof maxWaiting {
  return partnerId === null ? "strangers" : "partners";
}

/**
 * Tells the main thread of the calls that another thread answers: all of them where an access log is kept, else those
 * that were refused. They are sent in batches, and one only when the one before was taken, so that a main thread that
 * is slow is never buried in messages.
 */
export function createCallRelay({
  send,
  wantsAll,
}: {
  send: (batch: CallsOfThread) => void;
  wantsAll: boolean;
}) {
  let waiting: Call[] = [];
  const held = { partners: 0, strangers: 0 };
  let dropped = 0;
  let isUnderWay = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const isEmpty = () => waiting.length === 0 && dropped === 0;

  function sendFirst(most: number): void {
    const calls = waiting.slice(0, most);
    waiting = waiting.slice(most);
    for (const call of calls) held[kindOf(call)]--;
    send({ calls, dropped });
    dropped = 0;
  }

  function flush(): void {
    timer = undefined;
    if (isUnderWay || isEmpty()) return;
    isUnderWay = true;
    sendFirst(maxCalls);
  }

  function schedule(): void {
    if (timer !== undefined) return;
    timer = setTimeout(flush, gatherMs);
    timer.unref?.();
  }

  return {
    /** Takes a call. One that nobody wants to hear of costs two comparisons. */
    observe(call: Call): void {
      if (!wantsAll && !isRefusal(call)) return;
      const kind = kindOf(call);
      if (held[kind] < maxWaiting[kind]) {
        held[kind]++;
        waiting.push(call);
      } else dropped++;
      schedule();
    },
    /** The calls that were sent have been taken: further ones may be sent. */
    taken(): void {
      isUnderWay = false;
      if (waiting.length >= maxCalls) flush();
      else if (!isEmpty()) schedule();
    },
    /** Sends what is left; nothing is taken from now on. */
    end(): void {
      clearTimeout(timer);
      if (!isEmpty()) sendFirst(waiting.length);
    },
  };
}

import type { Call, CallObserver } from "../domain/calls.ts";
import { isRefusal } from "./refusals.ts";

/** Calls that a thread has answered, and how many it could not keep until they were taken. */
export type CallsOfThread = { readonly calls: readonly Call[]; readonly dropped: number };

export type CallRelay = {
  /** Takes a call. One that nobody wants to hear of costs two comparisons. */
  readonly observe: CallObserver;
  /** The calls that were sent have been taken: further ones may be sent. */
  taken(): void;
  /** Sends what is left; nothing is taken from now on. */
  end(): void;
};

/** How long calls are gathered: as long as the access log itself gathers them. */
const gatherMs = 200;
/** Calls that wait to be sent; further ones are dropped and counted. */
const maxWaiting = 20_000;
/** Calls of one message: more would keep the main thread from answering for too long. */
const maxCalls = 2_000;

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
}): CallRelay {
  let waiting: Call[] = [];
  let dropped = 0;
  let isUnderWay = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    timer = undefined;
    if (isUnderWay || (waiting.length === 0 && dropped === 0)) return;
    isUnderWay = true;
    send({ calls: waiting.slice(0, maxCalls), dropped });
    waiting = waiting.slice(maxCalls);
    dropped = 0;
  }

  function schedule(): void {
    if (timer !== undefined) return;
    timer = setTimeout(flush, gatherMs);
    timer.unref?.();
  }

  return {
    observe(call) {
      if (!wantsAll && !isRefusal(call)) return;
      if (waiting.length < maxWaiting) waiting.push(call);
      else dropped++;
      schedule();
    },
    taken() {
      isUnderWay = false;
      if (waiting.length >= maxCalls) flush();
      else if (waiting.length > 0 || dropped > 0) schedule();
    },
    end() {
      clearTimeout(timer);
      if (waiting.length > 0 || dropped > 0) send({ calls: waiting, dropped });
      waiting = [];
      dropped = 0;
    },
  };
}

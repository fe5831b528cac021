/** The model of events: a log that every reader reads in one order, from the beginning, without gaps or repeats. */
import type { Model } from "./linearizability.ts";

/** New events, or a page read after the first `from` events. */
export type LogCall =
  | { readonly events: readonly string[] }
  | {
      readonly from: number;
      readonly limit: number;
      readonly page: readonly string[];
      readonly isDone: boolean;
    };

export const eventLog: Model<readonly string[], LogCall> = {
  initial: [],
  step(log, call) {
    if ("events" in call) return [[...log, ...call.events]];
    const shown = log.slice(call.from, call.from + call.limit);
    const isDone = call.from + call.limit >= log.length;
    return shown.join() === call.page.join() && isDone === call.isDone ? [log] : [];
  },
  key: (log) => log.join(),
};

import { configureSync, getJsonLinesFormatter, getLogger, type LogLevel } from "@logtape/logtape";

/**
 * The service's log: one JSON object a line. No call may pass a NIN, an e-mail address, a phone number, a
 * search term, a key or a secret; request paths count as such, because partners put numbers into them.
 */
export const log = getLogger(["tvs"]);

/** @param write takes one line, its line end included */
export function configureLog(write: (line: string) => void, level: LogLevel = "info"): void {
  const format = getJsonLinesFormatter({ properties: "flatten" });
  configureSync({
    reset: true,
    sinks: { lines: (record) => write(format(record)) },
    loggers: [
      { category: ["tvs"], sinks: ["lines"], lowestLevel: level },
      { category: ["logtape", "meta"], sinks: ["lines"], lowestLevel: "error" },
    ],
  });
}

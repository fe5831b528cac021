import { configureSync, getJsonLinesFormatter, getLogger, type LogLevel } from "@logtape/logtape";

/**
 * The service's log: one JSON object per line. No caller may log a NIN, an e-mail address, a phone number, a search
 * term, a key, a secret, or a request's path, because partners put people's numbers into paths.
 */
export const log = getLogger(["tvs"]);

/** Sets where the log is written and its lowest level. @param write gets one line with its line end */
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

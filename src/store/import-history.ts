import type { ImportHistory, ImportRecord } from "../domain/readings.ts";
import type { Driver, Row } from "./driver/driver.ts";
import { integer, integerOrNull, text } from "./driver/rows.ts";

/** The imports that were run, as the console shows them. */
export function createImportHistory(driver: Driver): ImportHistory {
  return {
    async latest(limit) {
      const rows = await driver.query("SELECT * FROM imports ORDER BY id DESC LIMIT ?", [limit]);
      return rows.map(importRecord);
    },
  };
}

function importRecord(row: Row): ImportRecord {
  return {
    file: text(row, "file"),
    startedAt: integer(row, "started_at"),
    finishedAt: integerOrNull(row, "finished_at"),
    abandonedAt: integerOrNull(row, "abandoned_at"),
    inserted: integer(row, "inserted"),
    updated: integer(row, "updated"),
    unchanged: integer(row, "unchanged"),
    rejected: integer(row, "rejected"),
    warnings: integer(row, "warnings"),
    events: integer(row, "events"),
  };
}

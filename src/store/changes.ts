/** Who changed what: one row a change, written in the commit of the change itself (decision D1.10). */

import type { Acting, Change, ChangedKind, RecordedChange } from "../domain/changes.ts";
import type { Driver, Row, Statement } from "./driver/driver.ts";
import { integer, text, textOrNull } from "./driver/rows.ts";

const insert = "INSERT INTO changes (at, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?)";

/** Makes the statement that records a change in the name of who acts. */
export type Recorder = (change: Change) => Statement;

export function createRecorder(acting: Acting): Recorder {
  return ({ action, kind, id, detail = null }) => ({
    sql: insert,
    args: [acting.clock.now(), acting.actor, action, `${kind}:${id}`, detail],
  });
}

type ChangeFilter = {
  readonly subject?: string | null | undefined;
  readonly actor?: string | null | undefined;
  readonly since?: number | undefined;
  readonly limit: number;
};

export type ChangeStore = ReturnType<typeof createChangeStore>;

export function createChangeStore(driver: Driver) {
  return {
    async list({ subject = null, actor = null, since = 0, limit }: ChangeFilter) {
      const sql = `SELECT at, actor, action, subject, detail FROM changes WHERE at >= ?1
        ${subject === null ? "" : "AND subject = ?2"} ${actor === null ? "" : "AND actor = ?3"}
        ORDER BY id DESC LIMIT ?4`;
      return (await driver.query(sql, [since, subject, actor, limit])).map(recordedChange);
    },
    async lastActors(kind: ChangedKind) {
      const sql = `SELECT subject, actor, max(id) FROM changes WHERE subject > ?1 || ':' AND subject < ?1 || ';'
        GROUP BY subject`;
      const rows = await driver.query(sql, [kind]);
      return new Map(rows.map((row) => [text(row, "subject").slice(kind.length + 1), text(row, "actor")]));
    },
  };
}

function recordedChange(row: Row): RecordedChange {
  return {
    at: integer(row, "at"),
    actor: text(row, "actor"),
    action: text(row, "action"),
    subject: text(row, "subject"),
    detail: textOrNull(row, "detail"),
  };
}

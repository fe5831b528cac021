/** Records who changed what. The transaction of a change also writes the change's row (decision D1.10). */

import type { ActorAndClock, ChangeDetails, ChangedSubjectKind, RecordedChange } from "../domain/changes.ts";
import type { Driver, SqlStatement } from "./driver/driver.ts";
import { integer, tableOf, text, textOrNull } from "./driver/rows.ts";

const readers = { at: integer, actor: text, action: text, subject: text, detail: textOrNull };
const changes = tableOf<RecordedChange>("changes", readers);

export type ChangeRecorder = (change: ChangeDetails) => SqlStatement;

/** Makes a recorder. @param acting `actor` is read only at a change, so a command that only reads needs no valid actor */
export function createChangeRecorder(acting: ActorAndClock): ChangeRecorder {
  return ({ action, kind, id, detail = null }) =>
    changes.insert({ at: acting.clock.now(), actor: acting.actor, action, subject: `${kind}:${id}`, detail });
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
      const sql = `SELECT * FROM changes WHERE at >= ?1
        ${subject === null ? "" : "AND subject = ?2"} ${actor === null ? "" : "AND actor = ?3"}
        ORDER BY id DESC LIMIT ?4`;
      return (await driver.query(sql, [since, subject, actor, limit])).map(changes.read);
    },
    async lastActors(kind: ChangedSubjectKind) {
      const sql = `SELECT subject, actor, max(id) FROM changes WHERE subject > ?1 || ':' AND subject < ?1 || ';'
        GROUP BY subject`;
      const rows = await driver.query(sql, [kind]);
      return new Map(rows.map((row) => [text(row, "subject").slice(kind.length + 1), text(row, "actor")]));
    },
  };
}

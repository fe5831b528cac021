/** Who changed what: one row a change, written in the commit of the change itself (decision D1.10). */

import type { Acting, Change, ChangeStore, RecordedChange } from "../domain/changes.ts";
import type { Clock } from "../domain/clock.ts";
import { isTvsError, TvsError } from "../domain/errors.ts";
import type { Driver, Row, SqlStatement } from "./driver/driver.ts";
import { integer, text, textOrNull } from "./driver/rows.ts";

/** Stands right behind the statement of the change, and is written only if that changed a row. */
const insert = `INSERT INTO changes (at, actor, action, subject, detail)
  SELECT ?, ?, ?, ? || ':' || coalesce(?, last_insert_rowid()), ? WHERE changes() > 0`;

/** Makes the statement that records a change in the name of who acts. */
export type Recorder = (change: Change) => SqlStatement;

export function createRecorder(acting: Acting): Recorder {
  return ({ action, kind, id, detail = null }) => ({
    sql: insert,
    args: [acting.clock.now(), acting.actor, action, kind, id, detail],
  });
}

/** How many changes of its own a partner may make within {@link paceMs}. */
const paceChanges = 20;
const paceMs = 60_000;

/** When the change was made that is so many before a partner's newest one. */
const madeAt = `SELECT at FROM changes WHERE subject = 'partner:' || ?1 AND actor = subject
  ORDER BY id DESC LIMIT 1 OFFSET ?2`;
const failBeyondPace = `INSERT INTO changes (at, actor, action, subject) SELECT NULL, '', '', '' WHERE (${madeAt}) > ?3`;

/**
 * A driver for what a partner changes of its own. Each such change has every call in flight judged anew, so a stream of
 * them would keep all others from their answers: its commit refuses one too many, on whichever thread or node. One that
 * changes nothing is not recorded, and so not counted. Its batches throw TvsError CHANGE_QUOTA.
 */
export function atPace(driver: Driver, { partnerId, clock }: { partnerId: string; clock: Clock }): Driver {
  async function refusal(now: number): Promise<TvsError> {
    const [row] = await driver.query(madeAt, [partnerId, paceChanges - 1]);
    const retryAfterSeconds = Math.ceil(
      ((row === undefined ? now : integer(row, "at")) + paceMs - now) / 1000,
    );
    const message = `you have made ${paceChanges} changes within a minute; make the next one later`;
    return new TvsError("CHANGE_QUOTA", message, {
      members: { retryAfterSeconds: Math.min(Math.max(1, retryAfterSeconds), paceMs / 1000) },
    });
  }

  return {
    ...driver,
    async batch(statements, waitMs) {
      const now = clock.now();
      const guard = { sql: failBeyondPace, args: [partnerId, paceChanges, now - paceMs] };
      const rows = await driver.batch([...statements, guard], waitMs).catch(async (error) => {
        const isTooMany = isTvsError(error, "STORE_CONSTRAINT") && error.detail?.includes("changes.at");
        throw isTooMany ? await refusal(now) : error;
      });
      return rows.slice(0, -1);
    },
  };
}

export function createChangeStore(driver: Driver): ChangeStore {
  return {
    async list({ subject = null, actor = null, since = 0, limit }) {
      const sql = `SELECT at, actor, action, subject, detail FROM changes WHERE at >= ?1
        ${subject === null ? "" : "AND subject = ?2"} ${actor === null ? "" : "AND actor = ?3"}
        ORDER BY id DESC LIMIT ?4`;
      return (await driver.query(sql, [since, subject, actor, limit])).map(recordedChange);
    },
    async lastActors(kind) {
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

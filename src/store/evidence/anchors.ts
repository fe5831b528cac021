import type { LogAnchor } from "../../domain/evidence/anchors.ts";
import type { Driver, Row } from "../driver/driver.ts";
import { bytesOrNull, integer, text } from "../driver/rows.ts";

const columns = "id, epoch, size, kind, place, anchored_at, token";
const insert = `INSERT INTO log_anchors (epoch, size, kind, place, anchored_at, token)
  VALUES (?, ?, ?, ?, ?, ?) RETURNING id`;

/** Checkpoints that were handed out. */
export function createLogAnchorStore(driver: Driver) {
  return {
    async add({ epoch, size, kind, place, anchoredAt, token }: Omit<LogAnchor, "id">): Promise<number> {
      const [rows] = await driver.batch([
        { sql: insert, args: [epoch, size, kind, place, anchoredAt, token] },
      ]);
      return integer(rows?.[0] as Row, "id");
    },
    async list(limit: number): Promise<LogAnchor[]> {
      const sql = `SELECT ${columns} FROM log_anchors ORDER BY id DESC LIMIT ?`;
      return (await driver.query(sql, [limit])).map(logAnchor);
    },
    async find(id: number): Promise<LogAnchor | null> {
      const [row] = await driver.query(`SELECT ${columns} FROM log_anchors WHERE id = ?`, [id]);
      return row === undefined ? null : logAnchor(row);
    },
  };
}

function logAnchor(row: Row): LogAnchor {
  return {
    id: integer(row, "id"),
    epoch: integer(row, "epoch"),
    size: integer(row, "size"),
    kind: text(row, "kind") === "rfc3161" ? "rfc3161" : "folder",
    place: text(row, "place"),
    anchoredAt: integer(row, "anchored_at"),
    token: bytesOrNull(row, "token"),
  };
}

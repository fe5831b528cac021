import type { Driver } from "../driver/driver.ts";
import { integer, text } from "../driver/rows.ts";
import type { MovedTable } from "./tables.ts";

/** Bytes of lines in one page: a page is one request, one commit, and all that is held in memory. */
const pageBytes = 1_000_000;
/** Rows that a page is looked for among: enough to fill it, by what the last page was like. */
const leastRows = 100;
const mostRows = 20_000;
const firstRows = 500;
/** Rows are not alike: somewhat more are looked at than should be needed. */
const margin = 1.25;

/** A row's line, by which two rows are compared to the byte. */
export type Line = string;
/** The values of a row's key columns, as its line has them. */
export type Key = readonly string[];

export function keyOf(table: MovedTable, line: Line): Key {
  const values = JSON.parse(line) as string[];
  return table.key.map(({ place }) => String(values[place]));
}

/**
 * Pages of a table in the order of its key; each is asked for with the key that it begins behind.
 * @param table the table; they end where {@link pageBytes} are reached, whatever its rows are like
 */
export function createPages(table: MovedTable) {
  const [first, next] = [pageSql(table, false), pageSql(table, true)];
  let rows = firstRows;
  return {
    /** @param after null for the first */
    async read(driver: Driver, after: Key | null): Promise<Line[]> {
      const args = [...(after ?? []), rows, pageBytes];
      const found = await driver.query(after === null ? first : next, args);
      return found.map((row) => text(row, "line"));
    },
    /** Says what a page was like, after it was read wherever it is to be read. */
    learn(page: readonly Line[]): void {
      const bytes = page.reduce((sum, line) => sum + line.length, 0);
      const fitting = Math.ceil((page.length * pageBytes * margin) / Math.max(1, bytes));
      rows = Math.min(mostRows, Math.max(leastRows, fitting));
    },
  };
}

function pageSql(table: MovedTable, hasKey: boolean): string {
  const key = table.key.map(({ name }) => name).join(", ");
  const given = table.key.map(({ isInteger }) => (isInteger ? "CAST(? AS INTEGER)" : "?")).join(", ");
  const rows = rowsOf(table, hasKey ? `(${key}) > (${given})` : null);
  const lines = `SELECT ${key}, ${table.line} AS line FROM ${rows} ORDER BY ${key} LIMIT ?`;
  return `SELECT line FROM (
      SELECT line, sum(octet_length(line)) OVER (ORDER BY ${key} ROWS UNBOUNDED PRECEDING) AS upto FROM (${lines}))
    WHERE upto - octet_length(line) < ? ORDER BY upto`;
}

/** SQL that names a table's rows, as far as they are of the register. @param further a condition besides */
export function rowsOf({ name, only }: MovedTable, further: string | null = null): string {
  const conditions = [only, further].filter((one) => one !== null);
  return conditions.length === 0 ? name : `${name} WHERE ${conditions.join(" AND ")}`;
}

/** The key of a table's last row, null when it has none. */
export async function lastKey(driver: Driver, table: MovedTable): Promise<Key | null> {
  const order = table.key.map(({ name }) => `${name} DESC`).join(", ");
  const sql = `SELECT ${table.line} AS line FROM ${rowsOf(table)} ORDER BY ${order} LIMIT 1`;
  const [row] = await driver.query(sql);
  return row === undefined ? null : keyOf(table, text(row, "line"));
}

export async function countRows(driver: Driver, table: MovedTable): Promise<number> {
  const [row] = await driver.query(`SELECT count(*) AS n FROM ${rowsOf(table)}`);
  return row === undefined ? 0 : integer(row, "n");
}

import { createHash } from "node:crypto";
import { TvsError } from "../../domain/errors.ts";
import type { Driver } from "../driver/driver.ts";
import { countRows, createPages, type Key, keyOf, type Line, lastKey, rowsOf } from "./pages.ts";
import type { MovedTable } from "./tables.ts";

/** Rows that are deleted in one commit. */
const clearedRows = 5_000;

export type Sides = { readonly source: Driver; readonly target: Driver };

/** Told how many rows more are done. */
type OnRows = (count: number) => void;

/** A table that stands alike on both sides. */
export type TableDigest = {
  readonly name: string;
  readonly rows: number;
  /** SHA-256 of the rows' lines in the order of the key, each with a line feed: the same whatever database has them. */
  readonly sha256: string;
};

/** Takes everything out of a copy that is to be begun anew. */
export async function clearTables(target: Driver, tables: readonly MovedTable[]): Promise<void> {
  for (const table of [...tables].reverse()) {
    const columns = table.key.map((column) => column.name).join(", ");
    const rows = `SELECT ${columns} FROM ${rowsOf(table)}`;
    if ((await target.query(`${rows} LIMIT 1`)).length === 0) continue;
    const sql = `DELETE FROM ${table.name} WHERE (${columns}) IN (${rows} LIMIT ${clearedRows}) RETURNING 1 AS gone`;
    while ((await target.batch([{ sql, args: [] }]))[0]?.length === clearedRows);
  }
}

/** Copies the rows that the target has not yet, each page in one commit: what is there is a beginning of the table. */
export async function copyTable(table: MovedTable, { source, target }: Sides, onRows: OnRows): Promise<void> {
  const pages = createPages(table);
  let after = await lastKey(target, table);
  if (after !== null) onRows(await countRows(target, table));
  for (;;) {
    const page = await pages.read(source, after);
    const last = page.at(-1);
    if (last === undefined) return;
    await target.batch([{ sql: table.insert, args: [`[${page.join(",")}]`] }]);
    pages.learn(page);
    onRows(page.length);
    after = keyOf(table, last);
  }
}

/**
 * Compares every row of both sides.
 * @throws TvsError REFUSED naming table and key of the first that is not alike
 */
export async function verifyTable(
  table: MovedTable,
  { source, target }: Sides,
  onRows: OnRows,
): Promise<TableDigest> {
  const pages = createPages(table);
  const hash = createHash("sha256");
  let rows = 0;
  let after: Key | null = null;
  for (;;) {
    const [page, copied] = await Promise.all([pages.read(source, after), pages.read(target, after)]);
    const place = firstDifference(page, copied);
    if (place !== null) throw differs(table, page[place], copied[place]);
    const last = page.at(-1);
    if (last === undefined) return { name: table.name, rows, sha256: hash.digest("hex") };
    hash.update(`${page.join("\n")}\n`);
    pages.learn(page);
    rows += page.length;
    onRows(page.length);
    after = keyOf(table, last);
  }
}

function firstDifference(page: readonly Line[], copied: readonly Line[]): number | null {
  const length = Math.max(page.length, copied.length);
  for (let place = 0; place < length; place++) if (page[place] !== copied[place]) return place;
  return null;
}

function differs(table: MovedTable, line: Line | undefined, copied: Line | undefined): TvsError {
  const key = (one: Line) => keyOf(table, one).join(", ");
  const what = () => {
    if (line === undefined) return `has a row with the key ${key(copied ?? "")} that the source has not`;
    if (copied === undefined || key(copied) !== key(line)) return `has not the row with the key ${key(line)}`;
    return `has another row with the key ${key(line)}`;
  };
  const message =
    `the copy differs from its source: its table ${table.name} ${what()}; the source stays in use and the copy ` +
    "refused; the same command copies everything anew";
  return new TvsError("REFUSED", message);
}

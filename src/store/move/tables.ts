import type { Driver } from "../driver/driver.ts";
import { integer, text } from "../driver/rows.ts";
import { movedToName } from "../settings.ts";
import { markNames } from "./marks.ts";

/**
 * One table of the register, as it is read and written row by row: a row is a line of JSON, an array of its columns,
 * integers as decimal text and bytes as hex, so that no number passes through a type that would round it.
 */
export type MovedTable = {
  readonly name: string;
  /** Inserts the rows of a JSON array, in which bytes are hex. */
  readonly insert: string;
  /** SQL that renders a row as its line. */
  readonly line: string;
  /** What the rows are ordered by; of a table with row ids those, so that the order of their coming is kept. */
  readonly key: readonly KeyColumn[];
  /** Rows that are no part of the register, in SQL; null for none. */
  readonly only: string | null;
};

type KeyColumn = {
  readonly name: string;
  /** Its place in the line. */
  readonly place: number;
  readonly isInteger: boolean;
};

type Column = { readonly name: string; readonly type: string; readonly keyPlace: number };

/** What a database says of its own making and of who is using it; every other table is the register. */
const ownTables = ["schema_steps", "nodes", "leases"];
/** Triggers move these with every row that is written elsewhere, so they are copied last. */
const counters = ["revision", "delivery_revision"];
/** The mark of a source counted there as two changes, one for each of its settings; its copy has none. */
const withoutMark = `value - 2 * (SELECT count(*) FROM settings WHERE name = '${movedToName}')`;

const listTables = `SELECT m.name, l.wr FROM sqlite_master m JOIN pragma_table_list(m.name) l
  WHERE m.type = 'table' AND l.schema = 'main' AND m.name NOT LIKE 'sqlite_%'`;
const listColumns = `SELECT m.name AS of, c.name, c.type, c.pk FROM sqlite_master m JOIN pragma_table_info(m.name) c
  WHERE m.type = 'table' ORDER BY c.cid`;
const listReferences = `SELECT m.name AS of, f."table" AS referred FROM sqlite_master m
  JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`;

/**
 * The tables of a register, as its schema has them, each behind those that it refers to.
 * @param driver a database with this program's schema
 */
export async function readTables(driver: Driver): Promise<MovedTable[]> {
  const columns = new Map<string, Column[]>();
  for (const row of await driver.query(listColumns)) {
    const of = text(row, "of");
    const column = { name: text(row, "name"), type: text(row, "type"), keyPlace: integer(row, "pk") };
    columns.set(of, [...(columns.get(of) ?? []), column]);
  }
  const found = (await driver.query(listTables))
    .filter((row) => !ownTables.includes(text(row, "name")))
    .map((row) =>
      describe(text(row, "name"), columns.get(text(row, "name")) ?? [], integer(row, "wr") === 1),
    );
  return inOrder(found, await driver.query(listReferences));
}

function describe(name: string, stored: readonly Column[], isWithoutRowId: boolean): MovedTable {
  const primary = stored.filter(({ keyPlace }) => keyPlace > 0).sort((a, b) => a.keyPlace - b.keyPlace);
  const [first] = primary;
  const hasOwnId = primary.length === 1 && first?.type === "INTEGER";
  const rowId: Column = { name: "rowid", type: "INTEGER", keyPlace: 1 };
  const isHidden = !isWithoutRowId && !hasOwnId;
  const columns = isHidden ? [rowId, ...stored] : stored;
  const key = (isHidden ? [rowId] : primary).map((column) => ({
    name: column.name,
    place: columns.indexOf(column),
    isInteger: column.type === "INTEGER",
  }));
  const values = columns.map(({ type }, place) =>
    type === "BLOB" ? `unhex(value ->> ${place})` : `value ->> ${place}`,
  );
  return {
    name,
    insert: `INSERT INTO ${name} (${columns.map((column) => column.name).join(", ")})
      SELECT ${values.join(", ")} FROM json_each(?)`,
    line: `json_array(${columns.map((column) => rendered(name, column)).join(", ")})`,
    key,
    only: name === "settings" ? `name NOT IN (${markNames.map((one) => `'${one}'`).join(", ")})` : null,
  };
}

/** @throws TypeError for a type of which not every value would arrive unchanged */
function rendered(table: string, { name, type }: Column): string {
  if (type === "TEXT") return name;
  if (type === "BLOB") return `iif(${name} IS NULL, NULL, hex(${name}))`;
  if (type !== "INTEGER") throw new TypeError(`a column of type ${type} cannot be moved`);
  return `CAST(${table === "revision" && name === "value" ? withoutMark : name} AS TEXT)`;
}

/** The tables, each behind those that it refers to, and the counters last. */
function inOrder(tables: readonly MovedTable[], references: readonly Record<string, unknown>[]) {
  const sorted: MovedTable[] = [];
  const place = (table: MovedTable) => {
    if (sorted.includes(table)) return;
    const referred = references.filter((row) => row.of === table.name && row.referred !== table.name);
    for (const { referred: name } of referred) {
      const other = tables.find((one) => one.name === name);
      if (other !== undefined) place(other);
    }
    sorted.push(table);
  };
  const isCounter = ({ name }: MovedTable) => counters.includes(name);
  for (const table of tables.filter((one) => !isCounter(one))) place(table);
  for (const table of tables.filter(isCounter)) place(table);
  return sorted;
}

/**
 * What moves with every change that a service or a command makes, as one text: the counters, which move with settings,
 * partners, keys, endpoints and deliveries, and the ids of the oldest and newest rows of every table that grows.
 */
export function standSql(tables: readonly MovedTable[]): string {
  const parts = tables.flatMap(({ name, key, line }) => {
    const [first] = key;
    if (counters.includes(name)) return [`(SELECT ${line} FROM ${name})`];
    if (key.length !== 1 || first?.isInteger !== true) return [];
    // By itself each is found in the index; together they would be looked for in all rows.
    return ["min", "max"].map((end) => `(SELECT ${end}(${first.name}) FROM ${name})`);
  });
  return `json_array(${parts.join(", ")})`;
}

export async function standOf(driver: Driver, tables: readonly MovedTable[]): Promise<string> {
  const [row] = await driver.query(`SELECT ${standSql(tables)} AS stand`);
  return row === undefined ? "" : text(row, "stand");
}

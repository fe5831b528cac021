import type { Row, SqlStatement, SqlValue } from "./driver.ts";

// Each of these functions reads one column and checks its type.
export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} is not text`);
  return value;
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "number") throw new TypeError(`column ${column} is not a number`);
  return value;
}

export const boolean = (row: Row, column: string) => integer(row, column) === 1;

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`column ${column} is not bytes`);
}

function orNull<T>(read: (row: Row, column: string) => T) {
  return (row: Row, column: string) => (row[column] === null ? null : read(row, column));
}

export const textOrNull = orNull(text);
export const integerOrNull = orNull(integer);
export const bytesOrNull = orNull(bytes);

type Reader<T> = (row: Row, column: string) => T;
/** The type that a member's reader returns. A union of strings is read as `string`: the value is not checked. */
type Stored<V> = V extends string ? string : V;
type Readers<T> = { readonly [K in keyof T]: Reader<Stored<T[K]>> };
export type RecordOf<R> = { readonly [K in keyof R]: R[K] extends Reader<infer V> ? V : never };

export const json = (row: Row, column: string) => JSON.parse(text(row, column));

/** Makes a function that reads a row by one reader for each member. A column has its member's name in snake case. */
export function rowReader<T>(readers: Readers<T>): (row: Row) => T {
  const members = Object.entries<Reader<unknown>>(readers);
  const columns = members.map(([member, read]) => ({ member, column: columnOf(member), read }));
  return (row) =>
    Object.fromEntries(columns.map(({ member, column, read }) => [member, read(row, column)])) as T;
}

/** Defines a table with a column for each member of a record: makes its reader and its INSERT. */
export function tableOf<T extends Record<keyof T, SqlValue>>(table: string, readers: Readers<T>) {
  const members = Object.keys(readers) as (keyof T & string)[];
  const columns = members.map(columnOf);
  const sql = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  const insert = (record: T): SqlStatement => ({ sql, args: members.map((member) => record[member]) });
  return { columns, insert, read: rowReader(readers) };
}

const columnOf = (member: string) => member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

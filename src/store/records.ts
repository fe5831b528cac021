import type { Row, Statement, Value } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";

type Reader<T> = (row: Row, column: string) => T;
/** The type that a column is checked for: a string, where a member has one of several strings. */
type Stored<V> = V extends string ? string : V;
type Readers<T> = { readonly [K in keyof T]: Reader<Stored<T[K]>> };
/** The record that readers make of a row. */
export type RecordOf<R> = { readonly [K in keyof R]: R[K] extends Reader<infer V> ? V : never };

export const json = (row: Row, column: string) => JSON.parse(text(row, column));

/** Makes the reader of a row from the reader of each member. A column has its member's name in snake case. */
export function reading<T>(readers: Readers<T>): (row: Row) => T {
  const members = Object.entries<Reader<unknown>>(readers);
  const columns = members.map(([member, read]) => ({ member, column: columnOf(member), read }));
  return (row) =>
    Object.fromEntries(columns.map(({ member, column, read }) => [member, read(row, column)])) as T;
}

/** Makes the reader and the insertion of a table's rows, each of which holds one record. */
export function tableOf<T extends Record<keyof T, Value>>(table: string, readers: Readers<T>) {
  const members = Object.keys(readers) as (keyof T & string)[];
  const columns = members.map(columnOf);
  const sql = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  const insert = (record: T): Statement => ({ sql, args: members.map((member) => record[member]) });
  return { columns, insert, read: reading(readers) };
}

const columnOf = (member: string) => member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

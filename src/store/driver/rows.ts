import type { Row } from "./driver.ts";

/** Readers of one column each: what comes out of the database is checked for its type, not assumed. */

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`column ${column} is not text`);
  return value;
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "number") throw new TypeError(`column ${column} is not a number`);
  return value;
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}

export function flag(row: Row, column: string): boolean {
  return integer(row, column) === 1;
}

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`column ${column} is not bytes`);
}

export function bytesOrNull(row: Row, column: string): Uint8Array | null {
  return row[column] === null ? null : bytes(row, column);
}

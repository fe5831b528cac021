import type { Row } from "./driver.ts";

// Each function reads one column and checks its type.
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

export const flag = (row: Row, column: string) => integer(row, column) === 1;

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

import type { Row, Statement, Value } from "./driver.ts";

/**
 * How statements travel to the writing thread. The text of a statement is sent once and named by a number from
 * then on, and all that belongs to one batch is one flat list: a message of nested objects with the texts in
 * them costs more than the database does.
 */
export type PackedBatch = {
  /** Forget the texts that were sent before. */
  readonly restart: boolean;
  /** Texts that have not been sent before; they take the next numbers. */
  readonly texts: readonly string[];
  /** For each statement: its number, how many values it has, the values. */
  readonly parts: readonly Value[];
};

/** Rows of the statements that returned any, by the place of the statement. */
export type PackedRows = readonly (readonly [number, Row[]])[];

const maxTexts = 500;

export type Packer = {
  pack(statements: readonly Statement[]): PackedBatch;
  /** What was packed last did not arrive: the next batch begins anew. */
  restart(): void;
};

export function createPacker(): Packer {
  const numbers = new Map<string, number>();
  let isRestarting = true;

  return {
    pack(statements) {
      if (numbers.size > maxTexts) isRestarting = true;
      const restart = isRestarting;
      if (restart) numbers.clear();
      isRestarting = false;
      const texts: string[] = [];
      const parts: Value[] = [];
      for (const { sql, args } of statements) {
        let number = numbers.get(sql);
        if (number === undefined) {
          number = numbers.size;
          numbers.set(sql, number);
          texts.push(sql);
        }
        parts.push(number, args.length);
        for (const value of args) parts.push(sendable(value));
      }
      return { restart, texts, parts };
    },
    restart() {
      isRestarting = true;
    },
  };
}

/** A message carries the whole buffer under a view, which may be far larger than what is seen of it. */
function sendable(value: Value): Value {
  return value instanceof Uint8Array && value.byteLength !== value.buffer.byteLength ? value.slice() : value;
}

/** The other end of {@link createPacker}: one for each, in the order of the messages. */
export function createUnpacker(): (batch: PackedBatch) => Statement[] {
  let known: string[] = [];
  return ({ restart, texts, parts }) => {
    if (restart) known = [];
    known.push(...texts);
    const statements: Statement[] = [];
    for (let at = 0; at < parts.length; ) {
      const end = at + 2 + Number(parts[at + 1]);
      statements.push({ sql: known[Number(parts[at])] ?? "", args: parts.slice(at + 2, end) });
      at = end;
    }
    return statements;
  };
}

export function packRows(rows: readonly Row[][]): PackedRows {
  const packed: [number, Row[]][] = [];
  for (const [index, some] of rows.entries()) if (some.length > 0) packed.push([index, some]);
  return packed;
}

/** @param count how many statements there were */
export function unpackRows(packed: PackedRows, count: number): Row[][] {
  const rows = Array.from({ length: count }, (): Row[] => []);
  for (const [index, some] of packed) rows[index] = some;
  return rows;
}

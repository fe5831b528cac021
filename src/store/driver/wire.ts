import type { Row, RowsTarget, Statement, Value } from "./driver.ts";

/**
 * How statements travel to the writing thread. What a statement says, its text or where its rows go, is sent once and
 * named by a number from then on, and all that belongs to one batch is one flat list: a message of nested objects with
 * the texts in them costs more than the database does.
 */
export type PackedBatch = {
  /** Forget what was sent before. */
  readonly restart: boolean;
  /** Texts and targets that have not been sent before; they take the next numbers. */
  readonly texts: readonly (string | RowsTarget)[];
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
  const numbers = new Map<string | RowsTarget, number>();
  let isRestarting = true;

  return {
    pack(statements) {
      if (numbers.size > maxTexts) isRestarting = true;
      const restart = isRestarting;
      if (restart) numbers.clear();
      isRestarting = false;
      const texts: (string | RowsTarget)[] = [];
      const parts: Value[] = [];
      for (const statement of statements) {
        const text = "sql" in statement ? statement.sql : statement.insert;
        const args = "sql" in statement ? statement.args : [statement.rows];
        let number = numbers.get(text);
        if (number === undefined) {
          number = numbers.size;
          numbers.set(text, number);
          texts.push(text);
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
  let known: (string | RowsTarget)[] = [];
  return ({ restart, texts, parts }) => {
    if (restart) known = [];
    known.push(...texts);
    const statements: Statement[] = [];
    for (let at = 0; at < parts.length; ) {
      const end = at + 2 + Number(parts[at + 1]);
      const text = known[Number(parts[at])] ?? "";
      const args = parts.slice(at + 2, end);
      statements.push(
        typeof text === "string" ? { sql: text, args } : { insert: text, rows: String(args[0]) },
      );
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

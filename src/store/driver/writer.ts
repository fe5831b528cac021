import { parentPort, type Worker } from "node:worker_threads";
import { TvsError } from "../../domain/errors.ts";
import { createSerial } from "../../domain/serial.ts";
import { type Connection, openConnection } from "./connection.ts";
import { type Row, type RowsTarget, type Statement, storeError, type Value } from "./driver.ts";

/** The thread that writes to a database file: its own end, the end of who calls it, and what passes between them. */

type Request = {
  readonly id: number;
  /** Without it the database is opened, or what is asked for besides is done. */
  readonly batch?: PackedBatch;
  readonly close?: true;
};
type Reply = {
  readonly id: number;
  readonly rows?: PackedRows;
  /** How long the last transaction kept others from writing. */
  readonly heldMs?: number;
  readonly error?: { readonly code: string; readonly message: string };
};

/** The number of the first message, by which the thread says that it listens. */
const readyId = -1;

/**
 * The loop of the writing thread: one connection, one batch at a time, in order.
 *
 * The calling side groups what is in flight into one batch (commits.ts), so there is nothing to queue here.
 * @param file path of the database
 */
export async function runWriter(file: string): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the writer runs in a worker thread only");
  const reply = (message: Reply) => port.postMessage(message);
  let connection: Connection | undefined;

  const unpack = createUnpacker();

  async function act({ batch, close }: Request): Promise<PackedRows> {
    // Unpacked before anything can fail: a text that came with a batch that failed is not sent again.
    const statements = batch === undefined ? undefined : unpack(batch);
    connection ??= await openConnection(file);
    if (statements !== undefined) return packRows(connection.transaction(statements));
    if (close) connection.close();
    return [];
  }

  // Requests run in turn, because the first one awaits the loading of the native driver.
  const inTurn = createSerial();
  port.on("message", (request: Request) => {
    void inTurn(async () => {
      try {
        const rows = await act(request);
        reply({ id: request.id, rows, heldMs: connection?.heldMs() ?? 0 });
      } catch (error) {
        const { code = "", message } = error as { code?: string; message: string };
        reply({ id: request.id, error: { code, message } });
      }
    });
  });
  // What is sent before the listener stands may be lost on Deno, so the other side waits for this.
  reply({ id: readyId });
}

type Waiting = { statementCount: number; resolve(rows: Row[][]): void; reject(error: unknown): void };

/** The one writer of a database file, in this thread or another one. */
export type Writer = {
  batch(statements: readonly Statement[]): Promise<Row[][]>;
  heldMs(): number;
  close(): Promise<void>;
};

/**
 * Writes in a thread that runs {@link runWriter}, which speaks first. Batches are answered in the order in which they
 * were sent.
 * @param onLost told, once, that the thread has ended by itself
 */
export async function writeInThread(
  worker: Worker,
  onLost?: ((error: TvsError) => void) | undefined,
): Promise<Writer> {
  const waiting = new Map<number, Waiting>();
  const packer = createPacker();
  let nextId = 0;
  let heldMs = 0;
  let gone: TvsError | undefined;
  let isClosing = false;

  function settle({ id, rows, heldMs: held = 0, error }: Reply): void {
    heldMs = held;
    const call = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined)
      call?.reject(storeError(Object.assign(new Error(error.message), { code: error.code })));
    else call?.resolve(unpackRows(rows ?? [], call.statementCount));
  }

  function send(message: Omit<Request, "id">, statementCount = 0): Promise<Row[][]> {
    return new Promise((resolve, reject) => {
      if (gone !== undefined) return reject(gone);
      const id = nextId++;
      try {
        worker.postMessage({ id, ...message } satisfies Request);
        waiting.set(id, { statementCount, resolve, reject });
      } catch (error) {
        packer.restart();
        reject(error);
      }
    });
  }

  function fail(detail: string): void {
    const isFirst = gone === undefined && !isClosing;
    gone = new TvsError("STORE_UNAVAILABLE", "the database writer stopped; restart the service", { detail });
    for (const call of waiting.values()) call.reject(gone);
    waiting.clear();
    if (isFirst) onLost?.(gone);
  }

  worker.on("message", settle);
  worker.on("error", (error) => fail(String(error)));
  worker.on("exit", () => fail("writer thread ended"));
  await new Promise<Row[][]>((resolve, reject) =>
    waiting.set(readyId, { statementCount: 0, resolve, reject }),
  );
  await send({});

  return {
    batch: (statements) => send({ batch: packer.pack(statements) }, statements.length),
    heldMs: () => heldMs,
    async close() {
      isClosing = true;
      if (gone === undefined) await send({ close: true }).catch(() => {});
      await worker.terminate();
    },
  };
}

/**
 * How statements travel to the writing thread. What a statement says, its text or where its rows go, is sent once and
 * named by a number from then on, and all that belongs to one batch is one flat list: a message of nested objects with
 * the texts in them costs more than the database does.
 */
type PackedBatch = {
  /** Forget what was sent before. */
  readonly restart: boolean;
  /** Texts and targets that have not been sent before; they take the next numbers. */
  readonly texts: readonly (string | RowsTarget)[];
  /** For each statement: its number, how many values it has, the values. */
  readonly parts: readonly Value[];
};

/** Rows of the statements that returned any, by the place of the statement. */
type PackedRows = readonly (readonly [number, Row[]])[];

const maxTexts = 500;

type Packer = {
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

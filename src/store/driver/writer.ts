import { parentPort, type Worker } from "node:worker_threads";
import { TvsError } from "../../domain/errors.ts";
import { createSerial } from "../../domain/serial.ts";
import { openConnection } from "./connection.ts";
import { type Row, type Statement, storeError } from "./driver.ts";

/**
 * A thread that writes to a database file, beside one that works out what is to be written next: its own end, and the
 * end of who calls it. It is for few large batches: to hand a small one over costs more than to write it.
 */

type Request = { readonly id: number; readonly batch: readonly Statement[] | "open" | "close" };
type Reply = {
  readonly id: number;
  readonly rows?: Row[][];
  /** How long the last transaction kept others from writing. */
  readonly heldMs?: number;
  readonly error?: { readonly code: string; readonly message: string };
};

/** The number of the first message, by which the thread says that it listens. */
const readyId = -1;

/**
 * The loop of the writing thread: one connection, one batch at a time, in order.
 * @param file path of the database
 */
export async function runWriter(file: string): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the writer runs in a worker thread only");
  const reply = (message: Reply) => port.postMessage(message);
  let opening: ReturnType<typeof openConnection> | undefined;

  async function act({ id, batch }: Request): Promise<Reply> {
    opening ??= openConnection(file);
    const connection = await opening;
    if (batch === "close") connection.close();
    const rows = typeof batch === "string" ? [] : connection.transaction(batch);
    return { id, rows, heldMs: connection.heldMs() };
  }

  const inTurn = createSerial();
  port.on("message", (request: Request) => {
    void inTurn(() => act(request)).then(reply, (error: { code?: string; message: string }) => {
      reply({ id: request.id, error: { code: error.code ?? "", message: error.message } });
    });
  });
  // What is sent before the listener stands may be lost on Deno, so the other side waits for this.
  reply({ id: readyId });
}

type Waiting = { resolve(rows: Row[][]): void; reject(error: unknown): void };

/** The one writer of a database file, in another thread. */
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
  let nextId = 0;
  let heldMs = 0;
  let gone: TvsError | undefined;
  let isClosing = false;

  function settle({ id, rows = [], heldMs: held = 0, error }: Reply): void {
    heldMs = held;
    const call = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined)
      call?.reject(storeError(Object.assign(new Error(error.message), { code: error.code })));
    else call?.resolve(rows);
  }

  function send(batch: Request["batch"]): Promise<Row[][]> {
    return new Promise((resolve, reject) => {
      if (gone !== undefined) return reject(gone);
      const id = nextId++;
      worker.postMessage({ id, batch } satisfies Request);
      waiting.set(id, { resolve, reject });
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
  await new Promise<Row[][]>((resolve, reject) => waiting.set(readyId, { resolve, reject }));
  await send("open");

  return {
    batch: send,
    heldMs: () => heldMs,
    async close() {
      isClosing = true;
      if (gone === undefined) await send("close").catch(() => {});
      await worker.terminate();
    },
  };
}

import { parentPort } from "node:worker_threads";
import { createSerial } from "../../domain/serial.ts";
import { type Connection, openConnection } from "./connection.ts";
import { createUnpacker, type PackedBatch, type PackedRows, packRows } from "./wire.ts";

type Request = { id: number; batch?: PackedBatch; open?: true; close?: true };

/** The number of the first message, by which the thread says that it listens. */
export const readyId = -1;

/**
 * The loop of the writing thread: one connection, one batch at a time, in order.
 *
 * The calling side groups what is in flight into one batch (commits.ts), so there is nothing to queue here.
 * @param file path of the database
 */
export async function runWriter(file: string): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("the writer runs in a worker thread only");
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
        port.postMessage({ id: request.id, rows, heldMs: connection?.heldMs() ?? 0 });
      } catch (error) {
        const { code = "", message } = error as { code?: string; message: string };
        port.postMessage({ id: request.id, error: { code, message } });
      }
    });
  });
  // What is sent before the listener stands may be lost on Deno, so the other side waits for this.
  port.postMessage({ id: readyId });
}

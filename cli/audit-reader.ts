/** The threads that read a large log's attestations for an audit, ahead of the one that builds the tree of them. */

import { availableParallelism } from "node:os";
import { parentPort, Worker } from "node:worker_threads";
import { type ErrorCode, isTvsError, TvsError } from "../src/domain/errors.ts";
import { createBlockReader, type ReadBlock, type SoundBlock } from "../src/domain/log/audit-blocks.ts";
import { createSignatureChecks } from "../src/domain/log/audit-rows.ts";
import { openEmbedded } from "../src/store/driver/embedded.ts";
import { createKeyStore } from "../src/store/keys.ts";
import { createAuditStore } from "../src/store/log-audit.ts";
import { workerEntry } from "./entry.ts";
import type { Operator } from "./open.ts";

/** A smaller log is audited before threads have started. */
const leastLeaves = 100_000;
/**
 * One for each core: the thread that builds the tree has less to do, and while one of these waits for the disk another
 * can go on. Each takes some thirty megabytes.
 */
const maxReaders = 3;

export type AuditReaderData = {
  readonly file: string;
  /** Whether every signature is verified. */
  readonly all: boolean;
};

type Ids = { readonly from: number; readonly to: number };
type Reply =
  | { readonly block: SoundBlock | null }
  | { readonly error: { readonly code: ErrorCode | null; readonly message: string } };
type Waiting = { resolve(block: SoundBlock | null): void; reject(error: Error): void };

/** The loop of one thread: it answers in the order in which it is asked. */
export async function runAuditReader({ file, all }: AuditReaderData): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("a reader runs in a worker thread only");
  const driver = await openEmbedded({ file });
  const keys = await createKeyStore(driver).list();
  const readBlock = createBlockReader(createAuditStore(driver), createSignatureChecks(keys, { all }));
  const answer = (reply: Reply) => port.postMessage(reply);
  port.on("message", ({ from, to }: Ids) => {
    const fail = (error: Error) =>
      answer({ error: { code: isTvsError(error) ? error.code : null, message: error.message } });
    readBlock(from, to).then((block) => answer({ block }), fail);
  });
}

/**
 * @param all whether every signature is verified
 * @param least how many leaves a log has for which threads are started
 * @returns null where threads would not help: a short log, or a server, which others wait for too
 */
export async function openAuditReaders(
  { config, stores }: Pick<Operator, "config" | "stores">,
  { all, least = leastLeaves }: { all: boolean; least?: number },
): Promise<{ readBlock: ReadBlock; close(): Promise<void> } | null> {
  const leaves = (await stores.log.epochs()).reduce((sum, { size }) => sum + size, 0);
  const count = Math.min(maxReaders, availableParallelism());
  if (config.database.kind === "server" || leaves < least) return null;
  const data: AuditReaderData = { file: config.database.file, all };
  const readers = Array.from({ length: count }, () => startReader(data));
  return {
    readBlock(from, to) {
      const reader = readers.reduce((one, other) => (other.waiting() < one.waiting() ? other : one));
      return reader.readBlock(from, to);
    },
    async close() {
      await Promise.all(readers.map((reader) => reader.close()));
    },
  };
}

function startReader(data: AuditReaderData) {
  const worker = new Worker(workerEntry(), { workerData: { role: "audit-reader", ...data } });
  const waiting: Waiting[] = [];
  let failure: Error | undefined;
  const fail = (error: Error) => {
    failure ??= error;
    for (const one of waiting.splice(0)) one.reject(failure);
  };
  worker.on("message", (reply: Reply) => {
    const one = waiting.shift();
    if ("block" in reply) return one?.resolve(reply.block);
    const { code, message } = reply.error;
    one?.reject(code === null ? new Error(message) : new TvsError(code, message));
  });
  worker.on("error", (error) => fail(new Error(`a reading thread failed: ${error}`)));
  worker.on("exit", () => fail(new Error("a reading thread ended before its work was done")));
  return {
    waiting: () => waiting.length,
    readBlock(from: number, to: number): Promise<SoundBlock | null> {
      return new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        waiting.push({ resolve, reject });
        worker.postMessage({ from, to } satisfies Ids);
      });
    },
    close: () => worker.terminate(),
  };
}

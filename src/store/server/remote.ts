import { setTimeout as sleep } from "node:timers/promises";
import DataLoader from "dataloader";
import type { LibsqlServerAddress } from "../../config.ts";
import { withTimeout } from "../../domain/deadline.ts";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { createSerialQueue } from "../../domain/serial.ts";
import { type Driver, type Row, type SqlValue, type Transaction, toTvsError } from "../driver/driver.ts";
import { hasLeader } from "../leader.ts";
import { isRefusedStatement, isReplicaError, replicaError, serverOpenError } from "./errors.ts";
import { createServerRequests, makeSendable, type SentStatement, type ServerRequests } from "./requests.ts";

/**
 * The longest wait for the server and for queued requests, in ms. A call reads within 2 s and commits within 2 s, so it
 * is answered within 5 s (decision D12.3). A step of the schema may read every attestation.
 */
export const serverWaitMs = { serving: 2_000, command: 60_000, schema: 1_800_000 } as const;

/** The least time for a transaction, in ms. The server may first have to end the transaction of a killed node. */
const lockWaitMs = 10_000;

export type ServerRequestKind = "read" | "commit";
/** `waitMs`: the longest wait for a request, in ms. `onRequest`: called before each request, for the metrics. */
type ReaderOptions = { readonly waitMs: number; onRequest(kind: ServerRequestKind): void };
type RemoteOptions = LibsqlServerAddress & { [N in keyof ReaderOptions]?: ReaderOptions[N] | undefined };

/**
 * Opens a libSQL server. If the reply to a commit is lost, the write fails with STORE_UNAVAILABLE and may still have
 * been committed. So each write of the stores must be correct if it is made twice.
 * @throws TvsError CONFIG_INVALID for a replica or another program, STORE_UNAVAILABLE if the server does not answer
 */
export async function openDatabaseServer(options: RemoteOptions): Promise<Driver> {
  const { url, token, waitMs = serverWaitMs.command, onRequest = () => {} } = options;
  const requests = await createServerRequests({ url, token });
  await requirePrimary(requests, url, token !== undefined);
  const read = createReader(requests, { waitMs, onRequest });

  /**
   * Runs one transaction after the other. A caller may stop waiting for its turn. If a node is killed in a transaction,
   * the server queues all requests for 5 s. Afterwards the server runs even requests that no caller waits for.
   */
  const inTurn = createSerialQueue();
  async function write<R>(work: (tx: Transaction) => Promise<R>, atMostMs = waitMs): Promise<R> {
    const endsAt = performance.now() + atMostMs;
    const whenItsTurn = () =>
      whenFree(endsAt - performance.now(), (leftMs) => {
        if (leftMs <= 0) throw tooLate();
        onRequest("commit");
        const limit = { waitMs: Math.max(leftMs, lockWaitMs), isOver: () => performance.now() >= endsAt };
        return requests.transaction(work, limit);
      });
    const answered = inTurn(whenItsTurn);
    return withTimeout(answered, { ms: atMostMs, late: tooLate }).catch((error) => {
      throw asUnknown(error);
    });
  }

  return {
    kind: "remote",
    query: read,
    write,
    batch: (statements, atMostMs) => write((tx) => tx.finish(statements), atMostMs),
    copyTo: async () => {
      throw new TvsError("REFUSED", noCopy);
    },
    lockService: async () => false,
    serviceRunning: () => hasLeader(read),
    close: async () => {},
  };
}

/** The most reads in one request. A node has fewer reads at a time. */
const maxTogether = 128;

/**
 * Queues reads while a request is under way, because a request with one read costs the server as much as one with many.
 * A read is sent after its call, so it shows all commits before the call. The time limit counts from the call (D12.3).
 */
function createReader(requests: Pick<ServerRequests, "each">, { waitMs, onRequest }: ReaderOptions) {
  type Read = { readonly statement: SentStatement; readonly askedAtMs: number };
  let underWay: Promise<unknown> = Promise.resolve();
  let last: Promise<unknown> = Promise.resolve();

  async function sendAll(reads: readonly Read[]): Promise<(Row[] | Error)[]> {
    const leftMs = waitMs - (performance.now() - (reads[0]?.askedAtMs ?? 0));
    if (leftMs <= 0) throw tooLate();
    onRequest("read");
    const statements = reads.map(({ statement }) => statement);
    return requests.each(statements, leftMs);
  }

  function send(reads: readonly Read[]): Promise<(Row[] | Error)[]> {
    const sent = sendAll(reads);
    underWay = sent.catch(() => {});
    return sent;
  }

  function batchScheduleFn(dispatch: () => void): void {
    last = last.then(() => {
      dispatch();
      return underWay;
    });
  }

  const gathering = { cache: false, maxBatchSize: maxTogether, batchScheduleFn };
  const loader = new DataLoader<Read, Row[]>(send, gathering);
  return async (sql: string, args: readonly SqlValue[] = []): Promise<Row[]> => {
    const statement = makeSendable({ sql, args });
    return whenFree(waitMs, () => loader.load({ statement, askedAtMs: performance.now() }));
  };
}

const noCopy = "a libSQL server does not copy itself; use its own backup, or run tvs on a database file";

const tooLate = () => new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");

/** Adds to an error's message that the commit may have been made, so that an operator does not rotate the keys twice. */
function asUnknown(error: unknown): unknown {
  if (!isTvsError(error, "STORE_UNAVAILABLE") || isRefusedStatement(error.cause)) return error;
  const message =
    "the database did not answer: whether the change was made is not known, so look before you try again";
  return new TvsError(error.code, message, { detail: error.detail ?? error.message, cause: error.cause });
}

const firstPauseMs = 10;

/** Repeats `ask` while the server is busy, for example with a checkpoint of its write-ahead log. @throws TvsError */
async function whenFree<T>(waitMs: number, ask: (leftMs: number) => Promise<T>): Promise<T> {
  const end = performance.now() + waitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
    try {
      return await ask(end - performance.now());
    } catch (error) {
      const failure = toTvsError(error);
      // Only a server's error is retried. `toTvsError` makes a new error of it, and returns an error of ours unchanged.
      const isServers = failure !== error && failure.code === "STORE_BUSY";
      if (!isServers || performance.now() + pauseMs >= end) throw failure;
    }
    await sleep(pauseMs);
  }
}

/** A write that detects a replica: a primary answers that the table is missing, a replica forwards the write. */
const writeToNowhere = "INSERT INTO tvs_no_such_table DEFAULT VALUES";
/** The longest wait for the first request, in ms. It is short, so that a wrong URL is reported soon. */
const firstWaitMs = 5_000;

/** Refuses a replica, and a URL at which no libSQL server answers. @throws TvsError CONFIG_INVALID, STORE_UNAVAILABLE */
async function requirePrimary(requests: Pick<ServerRequests, "each">, url: string, hasToken: boolean) {
  let said: Row[] | Error | undefined;
  try {
    [said] = await requests.each([{ sql: writeToNowhere, args: [] }], firstWaitMs);
  } catch (error) {
    throw serverOpenError(error, url, hasToken);
  }
  if (said instanceof Error && isReplicaError(said)) throw replicaError(url);
}

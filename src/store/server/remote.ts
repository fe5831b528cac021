import { setTimeout as sleep } from "node:timers/promises";
import DataLoader from "dataloader";
import type { ServerAddress } from "../../config.ts";
import { inTime } from "../../domain/deadline.ts";
import { isTvsError, TvsError } from "../../domain/errors.ts";
import { createSerial } from "../../domain/serial.ts";
import {
  type Driver,
  type Row,
  type Statement,
  storeError,
  type Transaction,
  type Value,
} from "../driver/driver.ts";
import { isLed } from "../leader.ts";
import { addressError, isAnswer, isPassedOn, replicaError } from "./errors.ts";
import {
  createServerRequests,
  type SentStatement,
  type ServerRequests,
  sentStatement,
  type TransactionLimit,
} from "./requests.ts";

/**
 * For how long a server is waited for, in milliseconds. A service that answers would rather say soon that it cannot: a
 * call reads for 2 s at most and commits for 2 s at most, each counted from when it was asked, its place behind others
 * included. So a caller hears within 5 s, even if the server is lost at the very end of each (decision D12.3). Commands,
 * and what a start makes, are in no such hurry; a step of the schema may go through every attestation.
 */
export const serverWaitMs = {
  serving: 2_000,
  command: 60_000,
  schema: 1_800_000,
} as const;

/** For how long the server is waited for while it may be taking its write lock away from a dead node, in milliseconds. */
const lockWaitMs = 10_000;

type RemoteOptions = ServerAddress & {
  /** For how long a request is waited for; as a command does where it is left out. */
  readonly waitMs?: number;
  /** Told of each request. */
  readonly onRequest?: ((kind: RequestKind) => void) | undefined;
};

/** What a request to the server was for. */
export type RequestKind = "read" | "commit";

/**
 * Reaches a libSQL server. A commit whose reply is lost may have been made: it is STORE_UNAVAILABLE, and every act of the
 * store is harmless when it is done twice.
 * @throws TvsError CONFIG_INVALID when there is no primary to write to at the address, STORE_UNAVAILABLE when nobody
 *   answers
 */
export async function openRemote({
  url,
  token,
  waitMs = serverWaitMs.command,
  onRequest = () => {},
}: RemoteOptions): Promise<Driver> {
  const requests = await createServerRequests({ url, token });
  await requirePrimary(requests, { url, hasToken: token !== undefined });
  const read = createReader(requests, { waitMs, onRequest });

  /**
   * One commit after the other, and the next only when the server has answered the one before it. Its caller stops
   * waiting earlier. The server takes its write lock away after 5 s from a node that died in a transaction. Until then
   * it queues all who ask for the lock, and gives it later to those too that have left, for 5 s each.
   */
  const inTurn = createSerial();
  async function commit<R>(send: (limit: TransactionLimit) => Promise<R>, atMostMs: number): Promise<R> {
    const endsAt = performance.now() + atMostMs;
    const whenItsTurn = () =>
      whenFree(endsAt - performance.now(), (leftMs) => {
        if (leftMs <= 0) throw tooLate();
        onRequest("commit");
        return send({ waitMs: Math.max(leftMs, lockWaitMs), isOver: () => performance.now() >= endsAt });
      });
    const answered = inTurn(whenItsTurn);
    return inTime(answered, { ms: atMostMs, late: tooLate }).catch((error) => {
      throw asUnknown(error);
    });
  }

  async function batch(statements: readonly Statement[], atMostMs = waitMs): Promise<Row[][]> {
    const sent = statements.map(sentStatement);
    return commit((limit) => requests.together(sent, limit.waitMs), atMostMs);
  }

  function write<R>(work: (tx: Transaction) => Promise<R>, atMostMs = waitMs): Promise<R> {
    return commit((limit) => requests.transaction(work, limit), atMostMs);
  }

  return {
    kind: "remote",
    query: read,
    write,
    batch,
    async copyTo() {
      const message =
        "a libSQL server does not copy itself; use its own backup, or run tvs on a database file";
      throw new TvsError("REFUSED", message);
    },
    lockService: async () => false,
    serviceRunning: () => isLed(read),
    close: async () => {},
  };
}

type ReaderOptions = { readonly waitMs: number; onRequest(kind: RequestKind): void };

/** Reads of a server, gathered. */
function createReader(
  requests: Pick<ServerRequests, "each">,
  { waitMs, onRequest }: ReaderOptions,
): (sql: string, args?: readonly Value[]) => Promise<Row[]> {
  const read = gatherReads<SentStatement>((statements, leftMs) => {
    onRequest("read");
    return requests.each(statements, leftMs);
  }, waitMs);
  return async (sql, args = []) => {
    const sent = sentStatement({ sql, args });
    return whenFree(waitMs, () => read(sent));
  };
}

function tooLate(): TvsError {
  return new TvsError("STORE_UNAVAILABLE", "the database does not answer in time");
}

/** Whoever only hears that the database does not answer rotates the keys a second time. */
function asUnknown(error: unknown): unknown {
  if (!isTvsError(error, "STORE_UNAVAILABLE") || isAnswer(error.cause)) return error;
  const message =
    "the database did not answer: whether the change was made is not known, so look before you try again";
  return new TvsError(error.code, message, { detail: error.detail ?? error.message, cause: error.cause });
}

const firstPauseMs = 10;

/**
 * Asks again, until the time is up, what the server refused because the database was locked: it does so while it moves
 * its log into the database, some hundred milliseconds on a busy disk, and nothing was done then.
 * @throws TvsError
 */
async function whenFree<T>(waitMs: number, ask: (leftMs: number) => Promise<T>): Promise<T> {
  const end = performance.now() + waitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
    try {
      return await ask(end - performance.now());
    } catch (error) {
      const failure = storeError(error);
      // What the work of a transaction has thrown is its answer.
      const isServers = failure !== error && failure.code === "STORE_BUSY";
      if (!isServers || performance.now() + pauseMs >= end) throw failure;
    }
    await sleep(pauseMs);
  }
}

/** No table has this name: a primary says so, and a replica passes the write on. */
const writeToNowhere = "INSERT INTO tvs_no_such_table DEFAULT VALUES";
/** A command that is told a wrong address says so soon. */
const firstWaitMs = 5_000;

/** @throws TvsError CONFIG_INVALID, STORE_UNAVAILABLE */
async function requirePrimary(
  requests: Pick<ServerRequests, "each">,
  { url, hasToken }: { url: string; hasToken: boolean },
): Promise<void> {
  let said: Row[] | Error | undefined;
  try {
    [said] = await requests.each([{ sql: writeToNowhere, args: [] }], firstWaitMs);
  } catch (error) {
    throw addressError(error, { url, hasToken });
  }
  if (said instanceof Error && isPassedOn(said)) throw replicaError(url);
}

/** Sends reads in one request. @returns for each its rows, or why it failed by itself */
type Send<Q> = (queries: readonly Q[], waitMs: number) => Promise<(Row[] | Error)[]>;

type Read<Q> = { readonly query: Q; readonly askedAtMs: number };

/** Of the lookups of a turn each is one text of the answer: far more than a node ever has in hand fit. */
const maxTogether = 128;

/**
 * Reads of one thread over a server: while a request is on its way, the next ones gather and go together, because a
 * second request under way halves what gathers, and each costs the server as much as many reads. A read is never
 * answered by a request that was sent before it was asked, so it sees what was committed before it.
 *
 * The time of a read counts from when it was asked (decision D12.3): it spends a part of it behind the request before
 * its own, and no caller waits longer for that.
 * @param waitMs for how long a read waits at most
 */
function gatherReads<Q>(send: Send<Q>, waitMs: number): (query: Q) => Promise<Row[]> {
  let underWay: Promise<unknown> = Promise.resolve();
  let last: Promise<unknown> = Promise.resolve();

  async function sendAll(reads: readonly Read<Q>[]): Promise<(Row[] | Error)[]> {
    const leftMs = waitMs - (performance.now() - (reads[0]?.askedAtMs ?? 0));
    // Behind a request that nobody answered it has waited as long.
    if (leftMs <= 0) throw tooLate();
    return send(
      reads.map(({ query }) => query),
      leftMs,
    );
  }

  const loader = new DataLoader<Read<Q>, Row[]>(
    (reads) => {
      const sent = sendAll(reads);
      underWay = sent.catch(() => {});
      return sent;
    },
    {
      cache: false,
      maxBatchSize: maxTogether,
      batchScheduleFn(dispatch) {
        last = last.then(() => {
          dispatch();
          return underWay;
        });
      },
    },
  );
  return (query) => loader.load({ query, askedAtMs: performance.now() });
}

import { statSync } from "node:fs";
import { type CommitLock, restartStates } from "./commit-lock.ts";
import type { Connection } from "./connection.ts";

/**
 * How large the write-ahead log grows before it begins anew, in KiB: SQLite's own measure. What is checkpointed at once
 * saves a write for each page that changed more than once; more of it keeps the thread longer that does it.
 */
const walKib = 4096;
/** How long threads may take to leave their read views; each does so at its next read, and by a timer when it has none. */
const patienceMs = 1_000;
/** How often its size is looked at, which costs as much as a statement; until the next look it grows by little. */
const lookMs = 10;

/**
 * Settings of a connection whose log is looked after here. SQLite's own checkpoint would come with every commit as long
 * as the log is large, which it stays while somebody reads: two syncs more each. Who begins the log anew makes its file
 * small again, so that the file's size tells whether that has happened since.
 */
export const walSettings = ["wal_autocheckpoint = 0", `journal_size_limit = ${walKib * 1024}`];

type WalUpkeepOptions = {
  readonly connection: Connection;
  /** The database file by its own name, beside which its log is. */
  readonly realFile: string;
  readonly lock: CommitLock;
};

/**
 * Lets the write-ahead log begin anew although somebody reads at any time, which SQLite by itself cannot: the log goes
 * on until nobody reads what was written before its end. When it has grown, the threads leave their read views; one of
 * them writes the log back while the others go on, and then, under the lock and in a moment, what was added meanwhile.
 * Where another process reads for long (a backup), the log goes on as far again before it is tried anew.
 * @returns to be called after commits and now and then, while this thread is in no transaction
 */
export function createWalUpkeep({ connection, realFile, lock }: WalUpkeepOptions): () => void {
  const { none, wanted, underWay } = restartStates;
  const sizeKib = () => (statSync(`${realFile}-wal`, { throwIfNoEntry: false })?.size ?? 0) / 1024;
  let wantedSince = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;

  function look(): void {
    const now = performance.now();
    if (now - lookedAt < lookMs) return;
    lookedAt = now;
    const kib = sizeKib();
    const above = lock.restartAbove();
    if (kib <= walKib && above !== walKib) lock.setRestartAbove(walKib);
    else if (kib > above) lock.moveRestart(none, wanted);
  }

  function restart(): void {
    try {
      // Most of the work, and both syncs; others commit meanwhile.
      connection.exec("PRAGMA wal_checkpoint(PASSIVE)");
      if (!lock.take(patienceMs)) return;
      try {
        connection.exec("PRAGMA wal_checkpoint(RESTART)");
      } finally {
        lock.release();
      }
    } catch {
      // A disk that does not take it refuses the next commit too, and that one is told of.
    } finally {
      lock.setRestartAbove(sizeKib() + walKib);
      lock.moveRestart(underWay, none);
    }
  }

  return () => {
    const state = lock.walRestart();
    if (state === none) look();
    if (state !== wanted) {
      wantedSince = 0;
      return;
    }
    if (wantedSince === 0) wantedSince = performance.now();
    if (lock.hasViews() && performance.now() - wantedSince < patienceMs) return;
    if (lock.moveRestart(wanted, underWay)) restart();
  };
}

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { TvsError } from "../../domain/errors.ts";
import { type Row, type Statement, storeError } from "./driver.ts";
import { explainOpenFailure, openNative } from "./native.ts";
import { integer, text } from "./rows.ts";

/** {@link ServiceLockOptions.lockMs} of a service. */
const usualLockMs = 10_000;
/** A commit that was sent while the lock held must have come or failed before anybody else may take it. */
const heldMs = 5_000;
/** How often a start looks whether the holder of the lock still renews it. */
const lookMs = 250;

/** Milliseconds since the epoch by the clock of the database: those of the machines that use it may differ. */
const databaseNow = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/** How the lock reaches the database, whoever holds it. */
type Access = {
  batch(statements: readonly Statement[]): Promise<Row[][]>;
  query(sql: string): Promise<Row[]>;
};

type ServiceLock = {
  /** @throws TvsError DATABASE_IN_USE */
  take(): Promise<void>;
  release(): Promise<void>;
  /** Whether a service holds it now, this process included. */
  isTaken(): Promise<boolean>;
  /** @throws TvsError STORE_UNAVAILABLE when a lock that was taken is not, or perhaps not, ours any more */
  requireHeld(): void;
};

type ServiceLockOptions = {
  /** How often a lock is renewed. */
  readonly renewMs: number;
  /** How long a lock outlives the last sign of life of the service that holds it. */
  readonly lockMs?: number | undefined;
  /** As {@link ownProcessSpace} finds it. */
  readonly processSpace: string | null;
  /** Told, once, that another service has taken the lock over. */
  readonly onLost?: ((error: TvsError) => void) | undefined;
};

/**
 * The lock by which one `tvs serve` has a database on a server: a row that must be renewed (its table is called
 * service_claim), because no lock of the operating system reaches across machines. A lock of a process that is certainly dead is taken over at once, any
 * other when it has not been renewed for as long as it lasts while somebody waited for it. No two machines' clocks are
 * ever compared: the end of a lock is a time of the database's own clock, and who waits only looks whether it moves.
 *
 * A service that was paused or cut off for longer than its lock lasts may have a successor, which counts quotas and
 * calls in flight in its own memory: it answers nothing until it knows, and nothing ever again when it has one.
 */
export function createServiceLock(
  access: Access,
  { renewMs, lockMs = usualLockMs, processSpace, onLost }: ServiceLockOptions,
): ServiceLock {
  const holder = [hostname(), process.pid, randomUUID(), processSpace ?? ""].join(":");
  const row = createLockRow(access, { holder, lockMs });
  let timer: ReturnType<typeof setInterval> | undefined;
  let renewedAt = 0;

  async function take(): Promise<void> {
    const first = await row.read();
    const isDead = first !== null && isDeadHere(first.holder, processSpace);
    const deadline = performance.now() + (isDead ? 0 : lockMs);
    for (;;) {
      const isOver = performance.now() >= deadline;
      const at = Date.now();
      if (await row.put(isOver && first !== null ? first : nobody)) {
        renewedAt = at;
        break;
      }
      const now = await row.read();
      const isRenewed = now?.holder !== first?.holder || now?.expiresAt !== first?.expiresAt;
      if (now !== null && (isOver || isRenewed)) throw inUse(now.holder);
      await sleep(lookMs);
    }
    timer = setInterval(() => void renew().catch(() => {}), renewMs);
    timer.unref();
  }

  async function renew(): Promise<void> {
    const now = Date.now();
    if (await row.put(nobody)) renewedAt = now;
    else if (renewedAt !== 0) {
      clearInterval(timer);
      renewedAt = 0;
      onLost?.(takenOver());
    }
  }

  function requireHeld(): void {
    const sinceMs = Date.now() - renewedAt;
    if (timer === undefined || (sinceMs >= 0 && sinceMs < heldMs)) return;
    throw takenOver();
  }

  async function release(): Promise<void> {
    if (timer === undefined) return;
    clearInterval(timer);
    await row.remove().catch(() => {});
  }

  async function isTaken(): Promise<boolean> {
    const found = await row.holder();
    return found !== null && !isDeadHere(found, processSpace);
  }

  return { take, release, isTaken, requireHeld };
}

type Held = { readonly holder: string; readonly expiresAt: number };

const nobody: Held = { holder: "", expiresAt: 0 };

/** The one row of the table, as one process reads and writes it. */
type LockRow = {
  /** Writes or renews it for this process. @returns false when it is somebody else's and not `takenFrom` */
  put(takenFrom: Held): Promise<boolean>;
  /** As a batch, which no replica of the server answers from an earlier state. */
  read(): Promise<Held | null>;
  /** Who holds it, if its time is not over. */
  holder(): Promise<string | null>;
  remove(): Promise<void>;
};

function createLockRow(
  { batch, query }: Access,
  { holder, lockMs }: { holder: string; lockMs: number },
): LockRow {
  return {
    async put(takenFrom) {
      const sql = `INSERT INTO service_claim (id, holder, expires_at) VALUES (1, ?, ${databaseNow} + ?)
        ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
        WHERE holder = excluded.holder OR (holder = ? AND expires_at = ?) RETURNING holder`;
      const args = [holder, lockMs, takenFrom.holder, takenFrom.expiresAt];
      const [rows] = await batch([{ sql, args }]);
      return rows?.length === 1;
    },
    async read() {
      const sql = "SELECT holder, expires_at FROM service_claim WHERE id = 1";
      const [row] = (await batch([{ sql, args: [] }]))[0] ?? [];
      return row === undefined
        ? null
        : { holder: text(row, "holder"), expiresAt: integer(row, "expires_at") };
    },
    async holder() {
      const sql = `SELECT holder FROM service_claim WHERE id = 1 AND expires_at >= ${databaseNow}`;
      const [row] = await query(sql);
      return row === undefined ? null : text(row, "holder");
    },
    async remove() {
      await batch([{ sql: "DELETE FROM service_claim WHERE holder = ?", args: [holder] }]);
    },
  };
}

function inUse(holder: string): TvsError {
  const [host, pid] = holder.split(":");
  const message = `another \`tvs serve\` (process ${pid} on ${host}) uses this database; stop it first`;
  return new TvsError("DATABASE_IN_USE", message);
}

function takenOver(): TvsError {
  const message = "another `tvs serve` may have taken this database over; stop one of them";
  return new TvsError("STORE_UNAVAILABLE", message);
}

/**
 * The running kernel and its namespace of process ids: a process id says nothing about any other. Two containers may
 * well have one host name, and one process id.
 * @returns null where a system does not tell
 */
export function ownProcessSpace(): string | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot}/${readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")}`;
  } catch {
    return null;
  }
}

/** Whether the holder of a lock has certainly ended, which only a process that would see it can say. */
function isDeadHere(holder: string, processSpace: string | null): boolean {
  const [, id, , space] = holder.split(":");
  const pid = Number(id);
  if (processSpace === null || space !== processSpace || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH";
  }
}

/**
 * Holds an exclusive lock on a small database beside the real one. The operating system frees it when
 * the process ends, however it ends, so a service that was killed never has to wait for itself.
 * @param file the small database: the real one's path and `.lock`
 * @throws TvsError DATABASE_IN_USE
 */
export async function lockFile(file: string): Promise<{ close(): void }> {
  // Longer than `tvs status` looks at the lock, which must not keep a service from starting.
  const db = await openNative(file, 250);
  try {
    db.exec("PRAGMA journal_mode = DELETE");
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (storeError(error).code !== "STORE_BUSY") throw explainOpenFailure(file, error);
    const message = "another `tvs serve` uses this database; stop it first, or give this one its own --data";
    throw new TvsError("DATABASE_IN_USE", message);
  }
  return { close: () => void db.close() };
}

/** Looks whether the lock is held: a read that the holder's exclusive lock would refuse. It makes no file. */
export async function isFileLocked(file: string): Promise<boolean> {
  if (!existsSync(file)) return false;
  const db = await openNative(file);
  try {
    db.exec("SELECT count(*) FROM sqlite_master");
    return false;
  } catch (error) {
    if (storeError(error).code === "STORE_BUSY") return true;
    throw storeError(error);
  } finally {
    db.close();
  }
}

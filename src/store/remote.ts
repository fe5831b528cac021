import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { TvsError } from "../domain/errors.ts";
import { bindable, type Driver, type Row, type Statement, storeError, type Value } from "./driver.ts";

export type RemoteOptions = {
  /** `libsql://`, `http://` or `https://` address of a libSQL server. */
  readonly url: string;
  readonly token?: string;
  readonly timeoutMs?: number;
  /** How often a claim is renewed. */
  readonly renewMs?: number;
};

/** How long a claim outlives the last sign of life of the service that holds it. */
const claimMs = 10_000;
/** A commit that was sent while the claim held must have come or failed before anybody else may take it. */
const heldMs = 5_000;

/**
 * Reaches a libSQL server with @libsql/client.
 *
 * The client has no time-out of its own. A call that failed may still have been committed, so every act
 * of the store is written to be harmless when it is done twice.
 * @throws TvsError STORE_UNAVAILABLE when the server does not answer
 */
export async function openRemote({
  url,
  token,
  timeoutMs = 5000,
  renewMs = 2_000,
}: RemoteOptions): Promise<Driver> {
  const { createClient } = await import("@libsql/client/http");
  const client = createClient({
    url,
    ...(token === undefined ? {} : { authToken: token }),
    fetch: (input: string | URL | Request, init?: RequestInit) =>
      fetch(input, { ...init, signal: AbortSignal.timeout(timeoutMs) }),
  });
  const convert = ({ sql, args }: Statement) => ({ sql, args: args.map(bindable) as never[] });

  async function batch(statements: readonly Statement[]): Promise<Row[][]> {
    try {
      const results = await client.batch(statements.map(convert), "write");
      return results.map((result) => result.rows as unknown as Row[]);
    } catch (error) {
      throw storeError(error);
    }
  }

  async function query(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    try {
      return (await client.execute(convert({ sql, args }))).rows as unknown as Row[];
    } catch (error) {
      throw storeError(error);
    }
  }

  const claim = createClaim(batch, renewMs);
  return {
    kind: "remote",
    async query(sql, args) {
      claim.requireHeld();
      return query(sql, args);
    },
    async batch(statements) {
      claim.requireHeld();
      return batch(statements);
    },
    async copyTo() {
      const message =
        "a libSQL server does not copy itself; use its own backup, or run tvs on a database file";
      throw new TvsError("REFUSED", message);
    },
    claimService: claim.take,
    async serviceRunning() {
      const [row] = await query("SELECT holder FROM service_claim WHERE id = 1 AND expires_at >= ?", [
        Date.now(),
      ]);
      return row !== undefined && !isDeadHere(String(row.holder));
    },
    async close() {
      await claim.release();
      client.close();
    },
  };
}

type Batch = (statements: readonly Statement[]) => Promise<Row[][]>;

type Claim = {
  take(): Promise<void>;
  release(): Promise<void>;
  /** @throws TvsError STORE_UNAVAILABLE when a claim that was taken is not, or perhaps not, ours any more */
  requireHeld(): void;
};

/**
 * One `tvs serve` a database, as with a file, but by a row that must be renewed: no lock of the
 * operating system reaches across machines. A claim of a dead process on this machine is taken over at once.
 *
 * A service that was paused or cut off for longer than its claim lasts may have a successor, which counts quotas and
 * calls in flight in its own memory: it answers nothing until it knows.
 */
function createClaim(batch: Batch, renewMs: number): Claim {
  // Two containers may well have one host name and one process id.
  const holder = `${hostname()}:${process.pid}:${randomUUID()}`;
  let timer: ReturnType<typeof setInterval> | undefined;
  let renewedAt = 0;

  const upsert = (mayTakeFrom: string, now: number): Statement => ({
    sql: `INSERT INTO service_claim (id, holder, expires_at) VALUES (1, ?, ?)
          ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
          WHERE holder IN (excluded.holder, ?) OR expires_at < ? RETURNING holder`,
    args: [holder, now + claimMs, mayTakeFrom, now],
  });

  async function take(): Promise<void> {
    const current = await batch([{ sql: "SELECT holder FROM service_claim WHERE id = 1", args: [] }]);
    const other = String(current[0]?.[0]?.holder ?? "");
    const now = Date.now();
    const taken = await batch([upsert(isDeadHere(other) ? other : holder, now)]);
    if (taken[0]?.length === 0) {
      const message = `another \`tvs serve\` (${other}) uses this database; stop it first`;
      throw new TvsError("DATABASE_IN_USE", message);
    }
    renewedAt = now;
    timer = setInterval(() => void renew().catch(() => {}), renewMs);
    timer.unref();
  }

  async function renew(): Promise<void> {
    const now = Date.now();
    const [rows] = await batch([upsert(holder, now)]);
    if (rows?.length === 1) renewedAt = now;
    else {
      clearInterval(timer);
      renewedAt = 0;
    }
  }

  function requireHeld(): void {
    const sinceMs = Date.now() - renewedAt;
    if (timer === undefined || (sinceMs >= 0 && sinceMs < heldMs)) return;
    const message = "another `tvs serve` may have taken this database over; stop one of them";
    throw new TvsError("STORE_UNAVAILABLE", message);
  }

  async function release(): Promise<void> {
    if (timer === undefined) return;
    clearInterval(timer);
    await batch([{ sql: "DELETE FROM service_claim WHERE holder = ?", args: [holder] }]).catch(() => {});
  }

  return { take, release, requireHeld };
}

function isDeadHere(holder: string): boolean {
  const [host, id] = holder.split(":");
  const pid = Number(id);
  if (host !== hostname() || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH";
  }
}

import { hostname } from "node:os";
import { TvsError } from "../domain/errors.ts";
import { bindable, type Driver, type Row, type Statement, storeError, type Value } from "./driver.ts";

export type RemoteOptions = {
  /** `libsql://`, `http://` or `https://` address of a libSQL server. */
  readonly url: string;
  readonly token?: string;
  readonly timeoutMs?: number;
};

/** How long a claim outlives the last sign of life of the service that holds it. */
const claimMs = 10_000;
const renewMs = 3_000;

/**
 * Reaches a libSQL server with @libsql/client.
 *
 * The client has no time-out of its own. A call that failed may still have been committed, so every act
 * of the store is written to be harmless when it is done twice.
 * @throws TvsError STORE_UNAVAILABLE when the server does not answer
 */
export async function openRemote({ url, token, timeoutMs = 5000 }: RemoteOptions): Promise<Driver> {
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

  const claim = createClaim(batch);
  return {
    kind: "remote",
    query,
    batch,
    async copyTo() {
      const message = "a libSQL server does not copy itself; use its own backup, or run tvs on a database file";
      throw new TvsError("REFUSED", message);
    },
    claimService: claim.take,
    async serviceRunning() {
      const [row] = await query("SELECT holder FROM service_claim WHERE id = 1 AND expires_at >= ?", [Date.now()]);
      return row !== undefined && !isDeadHere(String(row["holder"]));
    },
    async close() {
      await claim.release();
      client.close();
    },
  };
}

type Batch = (statements: readonly Statement[]) => Promise<Row[][]>;

/**
 * One `tvs serve` a database, as with a file, but by a row that must be renewed: no lock of the
 * operating system reaches across machines. A claim of a dead process on this machine is taken over at once.
 */
function createClaim(batch: Batch): { take(): Promise<void>; release(): Promise<void> } {
  const holder = `${hostname()}:${process.pid}`;
  let timer: ReturnType<typeof setInterval> | undefined;

  const upsert = (mayTakeFrom: string, now: number): Statement => ({
    sql: `INSERT INTO service_claim (id, holder, expires_at) VALUES (1, ?, ?)
          ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
          WHERE holder IN (excluded.holder, ?) OR expires_at < ? RETURNING holder`,
    args: [holder, now + claimMs, mayTakeFrom, now],
  });

  async function take(): Promise<void> {
    const current = await batch([{ sql: "SELECT holder FROM service_claim WHERE id = 1", args: [] }]);
    const other = String(current[0]?.[0]?.["holder"] ?? "");
    const taken = await batch([upsert(isDeadHere(other) ? other : holder, Date.now())]);
    if (taken[0]?.length === 0) {
      const message = `another \`tvs serve\` (${other}) uses this database; stop it first`;
      throw new TvsError("DATABASE_IN_USE", message);
    }
    timer = setInterval(() => void batch([upsert(holder, Date.now())]).catch(() => {}), renewMs);
    timer.unref();
  }

  async function release(): Promise<void> {
    if (timer === undefined) return;
    clearInterval(timer);
    await batch([{ sql: "DELETE FROM service_claim WHERE holder = ?", args: [holder] }]).catch(() => {});
  }

  return { take, release };
}

function isDeadHere(holder: string): boolean {
  const [host, pid] = [holder.slice(0, holder.lastIndexOf(":")), Number(holder.slice(holder.lastIndexOf(":") + 1))];
  if (host !== hostname() || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH";
  }
}

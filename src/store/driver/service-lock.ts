import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { TvsError } from "../../domain/errors.ts";
import type { Row, Statement } from "./driver.ts";
import { integer, text } from "./rows.ts";

/** {@link ClaimOptions.claimMs} of a service. */
const usualClaimMs = 10_000;
/** A commit that was sent while the claim held must have come or failed before anybody else may take it. */
const heldMs = 5_000;
/** How often a start looks whether the holder of the claim still renews it. */
const lookMs = 250;

type Batch = (statements: readonly Statement[]) => Promise<Row[][]>;

type Claim = {
  take(): Promise<void>;
  release(): Promise<void>;
  /** @throws TvsError STORE_UNAVAILABLE when a claim that was taken is not, or perhaps not, ours any more */
  requireHeld(): void;
};

export type ClaimOptions = {
  /** How often a claim is renewed. */
  readonly renewMs: number;
  /** How long a claim outlives the last sign of life of the service that holds it. */
  readonly claimMs?: number | undefined;
  /** As {@link ownProcessSpace} finds it. */
  readonly processSpace: string | null;
  /** Told, once, that another service has taken the claim over. */
  readonly onLost?: ((error: TvsError) => void) | undefined;
};

/**
 * One `tvs serve` a database, as with a file, but by a row that must be renewed: no lock of the
 * operating system reaches across machines. A claim of a process that is certainly dead is taken over at once, any
 * other when it has not been renewed for as long as it lasts while somebody waited for it. No two machines' clocks are
 * ever compared: one that is fast would take a living service's claim.
 *
 * A service that was paused or cut off for longer than its claim lasts may have a successor, which counts quotas and
 * calls in flight in its own memory: it answers nothing until it knows, and nothing ever again when it has one.
 */
export function createClaim(
  batch: Batch,
  { renewMs, claimMs = usualClaimMs, processSpace, onLost }: ClaimOptions,
): Claim {
  const holder = [hostname(), process.pid, randomUUID(), processSpace ?? ""].join(":");
  let timer: ReturnType<typeof setInterval> | undefined;
  let renewedAt = 0;

  async function upsert(takenFrom: Held, now: number): Promise<boolean> {
    const sql = `INSERT INTO service_claim (id, holder, expires_at) VALUES (1, ?, ?)
      ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
      WHERE holder = excluded.holder OR (holder = ? AND expires_at = ?) RETURNING holder`;
    const args = [holder, now + claimMs, takenFrom.holder, takenFrom.expiresAt];
    const [rows] = await batch([{ sql, args }]);
    return rows?.length === 1;
  }

  async function held(): Promise<Held | null> {
    const [rows] = await batch([
      { sql: "SELECT holder, expires_at FROM service_claim WHERE id = 1", args: [] },
    ]);
    const [row] = rows ?? [];
    return row === undefined ? null : { holder: text(row, "holder"), expiresAt: integer(row, "expires_at") };
  }

  async function take(): Promise<void> {
    const first = await held();
    const isDead = first !== null && isDeadHere(first.holder, processSpace);
    const deadline = performance.now() + (isDead ? 0 : claimMs);
    for (;;) {
      const isOver = performance.now() >= deadline;
      const at = Date.now();
      if (await upsert(isOver && first !== null ? first : nobody, at)) {
        renewedAt = at;
        break;
      }
      const now = await held();
      const isRenewed = now?.holder !== first?.holder || now?.expiresAt !== first?.expiresAt;
      if (now !== null && (isOver || isRenewed)) throw inUse(now.holder);
      await sleep(lookMs);
    }
    timer = setInterval(() => void renew().catch(() => {}), renewMs);
    timer.unref();
  }

  async function renew(): Promise<void> {
    const now = Date.now();
    if (await upsert(nobody, now)) renewedAt = now;
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
    await batch([{ sql: "DELETE FROM service_claim WHERE holder = ?", args: [holder] }]).catch(() => {});
  }

  return { take, release, requireHeld };
}

type Held = { readonly holder: string; readonly expiresAt: number };

const nobody: Held = { holder: "", expiresAt: 0 };

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

/** Whether the holder of a claim has certainly ended, which only a process that would see it can say. */
export function isDeadHere(holder: string, processSpace: string | null): boolean {
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

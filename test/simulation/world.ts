import type fc from "fast-check";
import type { Clock } from "../../src/domain/clock.ts";
import { isBefore } from "../../src/domain/evidence/chain.ts";
import type { DueEpochFile } from "../../src/domain/evidence/epochs.ts";
import { type Driver, type Statement, storeError } from "../../src/store/driver/driver.ts";
import { createCrypto } from "./crypto.ts";
import type { SharedDatabase } from "./database.ts";

/** Turns of the event loop after which nothing moves by itself any more. */
const quietTurns = 3;
/** What asks more often than this asks this often: a machine may be slow, and a run has room for minutes so. */
const quickestMs = 1_000;
/** More steps than any run takes that comes to rest. */
const maxSteps = 60_000;

/** A computer: what of it outlives its processes. */
export type Machine = {
  readonly name: string;
  /** By how much its clock is wrong. */
  aheadMs: number;
  /** Whether its way to the database is cut. */
  isCutOff: boolean;
  /** Whether it stands still, as one that was put to sleep; what it does next it does when it goes on. */
  stands: boolean;
  /** The checkpoint that it keeps. */
  note: string | null;
  due: ReturnType<DueEpochFile["read"]>;
};

export type Process = {
  readonly name: string;
  readonly machine: Machine;
  /** Of one that has died nothing goes on, and nothing that it waited for ever comes. */
  isAlive: boolean;
  /** Whether it is a service, and so is woken up when there is something to do in turn. */
  readonly isService: boolean;
};

type Timer = { readonly at: number; readonly process: Process; readonly act: () => void };

const failures = [
  "SQLITE_FULL: database or disk is full",
  "SQLITE_IOERR: disk I/O error",
  "SQLITE_BUSY: database is locked",
  "the server does not answer",
] as const;

export type World = ReturnType<typeof createWorld>;

/**
 * What the processes have in common: time, a database and how it is reached. Nothing in it moves but by the scheduler:
 * each request waits on its way there and, answered, on its way back.
 */
export function createWorld(
  database: SharedDatabase,
  { scheduler, random }: { scheduler: fc.Scheduler; random: (below: number) => number },
) {
  const crypto = createCrypto();
  const counts = { steps: 0, faults: 0, deaths: 0 };
  /** Out of a hundred requests so many fail. */
  const trouble = { rate: 0, isOver: false };
  let nowMs = 0;
  let timers: Timer[] = [];
  let asleep: { readonly machine: Machine; readonly act: () => void }[] = [];

  const turn = (what: string) =>
    trouble.isOver ? Promise.resolve() : scheduler.schedule(Promise.resolve(), what);

  /** Does what a process does next: never when it has died, and later while its machine stands still. */
  function proceed(process: Process, act: () => void): void {
    if (!process.isAlive) return;
    if (process.machine.stands) asleep.push({ machine: process.machine, act: () => proceed(process, act) });
    else act();
  }

  const hearing = (process: Process) => new Promise<void>((resolve) => proceed(process, resolve));

  /** How a request fails; undefined for one that does not. */
  function failureOf({ isCutOff }: Machine, isWrite: boolean) {
    if (trouble.isOver || (!isCutOff && random(100) >= trouble.rate)) return undefined;
    counts.faults++;
    const error = storeError(new Error(failures[isCutOff ? 3 : random(failures.length)]));
    if (isCutOff || !isWrite) return { error, committed: "never" } as const;
    return { error, committed: (["never", "before", "later"] as const)[random(3)] ?? "never" };
  }

  async function request<T>(process: Process, what: string, act: () => T, isWrite: boolean): Promise<T> {
    await turn(`${process.name} asks ${what}`);
    if (++counts.steps > maxSteps) throw new Error("it never comes to rest");
    // Of what a process had sent when it died some arrives, and some does not.
    if (!process.isAlive && random(2) === 0) return new Promise(() => {});
    const failure = failureOf(process.machine, isWrite);
    if (failure?.committed === "later")
      void turn(`${process.name}, late, ${what}`).then(() => outcomeOf(act));
    const isDone = failure === undefined || failure.committed === "before";
    const outcome = isDone ? outcomeOf(act) : () => Promise.reject(failure.error);
    await turn(`${process.name} hears${failure === undefined ? "" : ` ${failure.error.code}`}`);
    await hearing(process);
    if (failure !== undefined) throw failure.error;
    return outcome();
  }

  /** Nothing moves any more but by the scheduler, or as time passes. */
  async function settled(): Promise<void> {
    let before = -1;
    for (let quiet = 0; quiet < quietTurns; ) {
      await new Promise((done) => setImmediate(done));
      quiet = crypto.isBusy() || counts.steps !== before ? 0 : quiet + 1;
      before = counts.steps;
      if (counts.steps > maxSteps) throw new Error("it never comes to rest");
    }
  }

  return {
    counts,
    trouble,
    random,
    now: () => database.startsAt + nowMs,
    settled,
    end: crypto.restore,
    clockOf(process: Process): Clock {
      const { machine } = process;
      return {
        now: () => database.startsAt + nowMs + machine.aheadMs,
        timers: {
          elapsed: () => nowMs,
          after(ms, act) {
            const timer = { at: nowMs + (ms > 0 ? Math.max(ms, quickestMs) : 0), process, act };
            timers.push(timer);
            return () => {
              timers = timers.filter((one) => one !== timer);
            };
          },
        },
      };
    },
    /** The database as a process reaches it. */
    driverOf(process: Process): Driver {
      return {
        ...database.driver,
        query: (sql, args) =>
          request(process, nameOf({ sql, args: [] }), () => database.read(sql, args), false),
        batch: (statements) =>
          request(process, nameOf(...statements), () => database.write(statements, process), true),
      };
    },
    /** What a machine keeps of the log outside the database, as a process of it reads and writes that. */
    headOf(process: Process) {
      const { machine } = process;
      return {
        read: () => machine.note,
        write: (note: string) =>
          request(
            process,
            "to keep a checkpoint",
            () => {
              if (process.isAlive && (machine.note === null || !isBefore(note, machine.note)))
                machine.note = note;
            },
            false,
          ),
      };
    },
    /** Something else that a process waits for, which answers when it comes to it. */
    exchange: <T>(process: Process, what: string, act: () => T) => request(process, what, act, false),
    kill(process: Process): void {
      if (!process.isAlive) return;
      counts.deaths++;
      process.isAlive = false;
      timers = timers.filter((timer) => timer.process !== process);
    },
    wake(machine: Machine): void {
      machine.stands = false;
      const woken = asleep.filter((one) => one.machine === machine);
      asleep = asleep.filter((one) => one.machine !== machine);
      for (const { act } of woken) act();
    },
    /** Lets so many of what waits go on, in an order that the scheduler chooses. */
    async release(most: number): Promise<void> {
      for (let left = most; left > 0 && scheduler.count() > 0 && database.flaw() === null; left--) {
        await scheduler.waitNext(1);
        await settled();
      }
    },
    /** So long nothing happens, as if all had stood still. */
    leap(ms: number): void {
      nowMs += ms;
      database.setNow(nowMs);
    },
    async pass(ms: number): Promise<void> {
      const end = nowMs + ms;
      for (;;) {
        const next = Math.min(...timers.map(({ at }) => at));
        if (next > end || database.flaw() !== null) break;
        nowMs = Math.max(nowMs, next);
        database.setNow(nowMs);
        const due = timers.filter(({ at }) => at <= nowMs);
        timers = timers.filter(({ at }) => at > nowMs);
        for (const { process, act } of due) proceed(process, act);
        await settled();
      }
      nowMs = end;
      database.setNow(nowMs);
    },
  };
}

function outcomeOf<T>(act: () => T): () => T {
  try {
    const value = act();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** A request in a few words, for who reads a run that failed. */
function nameOf(...statements: readonly Statement[]): string {
  const [first, second] = statements.map((one) => ("sql" in one ? one.sql : one.insert.table));
  const telling = first?.startsWith("INSERT INTO leases (name, node_id, fence, expires_at) SELECT NULL")
    ? `(fenced) ${second}`
    : first;
  return (telling ?? "nothing").replace(/\s+/g, " ").slice(0, 60);
}

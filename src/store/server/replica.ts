import type { ServerAddress } from "../../config.ts";
import { isTvsError } from "../../domain/errors.ts";
import type { Driver, Row } from "../driver/driver.ts";
import { gatherReads } from "../driver/gathered-reads.ts";
import { integer, integerOrNull } from "../driver/rows.ts";
import { addressError } from "./errors.ts";
import { createServerRequests, inWire } from "./requests.ts";
import { databaseNow } from "./served.ts";

type ReplicaOptions = ServerAddress & {
  /** The database of which it should be a replica, and which answers when it is not, or is too far behind. */
  readonly primary: Pick<Driver, "query">;
  /** What a database of this register has under `name` in its settings, and no other has. */
  readonly mark: { readonly name: string; readonly value: string };
  /** Told of each request to it. */
  onRequest(): void;
  /** Told when it begins to answer, and when it ends. */
  onChange(answers: boolean): void;
};

/** Reads that may be a few seconds old. */
export type ReplicaReader = Pick<Driver, "query"> & {
  /** Looks whether it is close enough to the primary; what answers in between says so with every answer. */
  look(): Promise<void>;
  close(): void;
};

/** How far behind the primary an answer may be (decision D12.8). */
const maxBehindMs = 5_000;
/** Who waits has the primary still to be asked. */
const waitMs = 1_000;

/**
 * By what a replica tells how old it is: every node that lives writes the time, by the clock of the primary, every two
 * seconds (decision D12.1), so a replica is at most as far behind as the newest of those times. The replica of another
 * register tells none. A time that is yet to come tells nothing either: the primary's clock was set back.
 */
const newestSign = `SELECT max(seen_at) AS seen FROM nodes
  WHERE EXISTS (SELECT 1 FROM settings WHERE name = ? AND value = ?)`;

/**
 * Reads of a replica. Each request asks first how old the replica is, and is asked of the primary instead when that is
 * too old, or fails. Then the replica is left alone until a look finds it close enough again.
 * @throws TvsError CONFIG_INVALID when what is at the address is no libSQL server for us; one that is away may come
 */
export async function openReplica(options: ReplicaOptions): Promise<ReplicaReader> {
  const { url, token, primary, mark, onRequest, onChange } = options;
  const requests = await createServerRequests({ url, token });
  const sign = inWire({ sql: newestSign, args: [mark.name, mark.value] });
  let answers = false;
  /** What the clock of the primary is ahead of this process's own: rather too much, by the way that its answer took. */
  let aheadMs: number | undefined;

  function judge(rows: Row[] | Error | undefined): void {
    const seen = Array.isArray(rows) && rows[0] !== undefined ? integerOrNull(rows[0], "seen") : null;
    const isNear =
      seen !== null && aheadMs !== undefined && Math.abs(performance.now() + aheadMs - seen) <= maxBehindMs;
    if (isNear !== answers) onChange(isNear);
    answers = isNear;
  }

  async function ask(statements: Parameters<typeof requests.each>[0], atMostMs: number) {
    onRequest();
    try {
      const [signOfIt, ...results] = await requests.each([sign, ...statements], atMostMs);
      judge(signOfIt);
      return answers ? results : results.map(() => new Error("the replica is too far behind"));
    } catch (error) {
      judge(undefined);
      throw error;
    }
  }

  const read = gatherReads(ask, { waitMs });

  async function look(): Promise<void> {
    const since = performance.now();
    // Where the primary is away its clock goes on as before.
    const [row] = await primary.query(`SELECT ${databaseNow} AS now`).catch(() => []);
    if (row !== undefined) aheadMs = integer(row, "now") - since;
    await ask([], waitMs).catch(() => {});
  }

  try {
    await requests.each([sign], waitMs);
  } catch (error) {
    const wrong = addressError(error, { url, hasToken: token !== undefined, option: "read-from" });
    if (isTvsError(wrong, "CONFIG_INVALID")) throw wrong;
  }
  return {
    async query(sql, args = []) {
      if (!answers) return primary.query(sql, args);
      return read(inWire({ sql, args })).catch(() => primary.query(sql, args));
    },
    look,
    close: requests.close,
  };
}

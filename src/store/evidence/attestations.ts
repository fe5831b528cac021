import type { CallCommit } from "../../domain/attestations.ts";
import { lowestUuidAt, timeOfUuid } from "../../domain/clock.ts";
import { attestationsTable, callWriter } from "../calls.ts";
import type { GroupCommit } from "../driver/commits.ts";
import type { Driver, SqlValue } from "../driver/driver.ts";
import { integer, integerOrNull, text } from "../driver/rows.ts";
import { lookupsOfPersonSql } from "./statement-people.ts";

const columns = attestationsTable.columns.join(", ");

/** Seconds added at both ends of a time span that is searched: two nodes' clocks may differ by a minute (D12.4). */
const maxClockSkewSeconds = 120;

/** Longest time from a call's arrival to its attestations, in ms. Receiving the body may take half a minute. */
const longestAnswerMs = 90_000;
/** Maximum ms by which the time in a verification id is before the time in its request id. */
const clockDifferenceMs = 1_000;
/** Maximum attestations of one call. The attestations of a call have consecutive ids. */
const maxAttestationsPerCall = 100;

/** SQL for a call's first attestation. The range of verification ids, which begin with a time, narrows the search. */
const firstOfRequest = `SELECT id FROM attestations WHERE verification_id >= ?1 AND verification_id < ?2 AND request_id = ?3
  ORDER BY verification_id LIMIT 1`;

const countUses = `SELECT count(*) AS looked, count(*) FILTER (WHERE credential = ?5) AS n, min(issued_at) FILTER (WHERE credential = ?5) AS first_at
  FROM (SELECT credential, issued_at FROM attestations WHERE partner_id = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?4)`;
const ofTeacher = lookupsOfPersonSql("teacher_id", attestationsTable.columns);
const ofNin = lookupsOfPersonSql("nin_index", attestationsTable.columns);
const countOfTeacher = `SELECT count(*) AS n FROM (${ofTeacher})`;
const verifiedBy = `SELECT partner_id FROM verified_before WHERE teacher_id = ?1
  UNION SELECT partner_id FROM attestations WHERE teacher_id = ?1 ORDER BY partner_id`;
const answeredValid = `SELECT partner_id, count(*) AS times, max(issued_at) AS last_at FROM (${ofTeacher})
  WHERE status = 'VALID' AND issued_at >= ?2 GROUP BY partner_id ORDER BY partner_id`;

/**
 * Makes the SQL for the id of the last attestation or delivery before a time. The times have no index, so the SQL does
 * a binary search over the ids, which grow with the times. The search reads some thirty rows. If a clock was set back,
 * the result is approximate.
 * @param time the SQL parameter with the time, in the unit of the column
 */
export function lastIdBeforeSql(
  time: string,
  column: "attestations.issued_at" | "deliveries.created_at" = "attestations.issued_at",
): string {
  const [table] = column.split(".");
  const isEarlier = `(SELECT ${column} FROM ${table} WHERE id >= (low + high + 1) / 2 ORDER BY id LIMIT 1) < ${time}`;
  return `(WITH RECURSIVE search (low, high) AS (
    SELECT 0, coalesce((SELECT max(id) FROM ${table}), 0)
    UNION ALL
    SELECT iif(${isEarlier}, (low + high + 1) / 2, low), iif(${isEarlier}, high, (low + high + 1) / 2 - 1)
    FROM search WHERE low < high)
  SELECT low FROM search WHERE low >= high LIMIT 1)`;
}

type AttestationFilter = {
  readonly partnerId?: string | undefined;
  /** The API key's id or the certificate's fingerprint. Needs `partnerId` or `teacherId`, which have an index. */
  readonly credential?: string | undefined;
  /** The id of the teacher's record. */
  readonly teacherId?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Milliseconds since the epoch. Some attestations from after this time may be listed too. */
  readonly until?: number | undefined;
  readonly limit: number;
};

type CredentialFilter = Record<"partnerId" | "credential", string> & Record<"since" | "until", number>;

export type AttestationStore = ReturnType<typeof createAttestationStore>;

/** Creates the store that adds and reads attestations. `prune` of the log's store deletes attestations. */
export function createAttestationStore(driver: Driver, commit: GroupCommit, writes = callWriter) {
  /** Reads attestations. @param where the SQL from WHERE on @param from the table, or a query in parentheses */
  async function select(where: string, args: readonly SqlValue[], from = "attestations") {
    return (await driver.query(`SELECT ${columns} FROM ${from} ${where}`, args)).map(attestationsTable.read);
  }

  /** Finds the ids of a time span (ms since the epoch), extended by `maxClockSkewSeconds` at both ends. */
  async function idsBetween(since: number, until: number): Promise<readonly [after: number, upTo: number]> {
    const sql = `SELECT ${lastIdBeforeSql("?1")} AS after, ${lastIdBeforeSql("?2")} AS up_to`;
    const first = Math.floor(since / 1000) - maxClockSkewSeconds;
    const last = Math.ceil(until / 1000) + maxClockSkewSeconds;
    const [row = {}] = await driver.query(sql, [first, last]);
    return [integer(row, "after"), integer(row, "up_to")];
  }

  return {
    /** Commits a call. @returns the use of the quota windows; null, and nothing is stored, if a precondition failed */
    record: (call: CallCommit) => commit.inGroup(writes, call),
    async find(verificationId: string) {
      return (await select("WHERE verification_id = ?", [verificationId]))[0] ?? null;
    },
    /** Reads the attestations of one call. @returns an empty list for a refused or replayed call, or a malformed id */
    async ofRequest(requestId: string) {
      const at = timeOfUuid(requestId);
      if (at === null) return [];
      const between = [lowestUuidAt(at - clockDifferenceMs), lowestUuidAt(at + longestAnswerMs)];
      const [first] = await driver.query(firstOfRequest, [...between, requestId]);
      if (first === undefined) return [];
      const id = integer(first, "id");
      const where = "WHERE id > ?1 AND id < ?2 AND request_id = ?3 ORDER BY id";
      return select(where, [id - maxAttestationsPerCall, id + maxAttestationsPerCall, requestId]);
    },
    async list(filter: AttestationFilter) {
      const { partnerId, teacherId, credential, since = 0, until = Number.MAX_SAFE_INTEGER, limit } = filter;
      const wanted: [condition: string, value: SqlValue | undefined][] = [
        // The + stops SQLite from using the partner's index: a teacher has fewer attestations than a partner.
        [teacherId === undefined ? "partner_id = ?" : "+partner_id = ?", partnerId],
        ["credential = ?", credential],
      ];
      const given = wanted.filter(([, value]) => value !== undefined);
      const conditions = ["id > ? AND id <= ? AND issued_at >= ?", ...given.map(([condition]) => condition)];
      const where = `WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ?`;
      const values = given.map(([, value]) => value ?? null);
      const args = [...(await idsBetween(since, until)), Math.floor(since / 1000), ...values, limit];
      return teacherId === undefined
        ? select(where, args)
        : select(where, [teacherId, ...args], `(${ofTeacher})`);
    },
    /** Counts one credential in a partner's first `maxLooked` attestations of a span. `isAll`: the span has no more. */
    async usesOf({ partnerId, credential, since, until }: CredentialFilter, maxLooked: number) {
      const args = [partnerId, ...(await idsBetween(since, until)), maxLooked, credential];
      const [row = {}] = await driver.query(countUses, args);
      const firstAt = integerOrNull(row, "first_at");
      return {
        count: integer(row, "n"),
        firstAt: firstAt === null ? null : firstAt * 1000,
        isAll: integer(row, "looked") < maxLooked,
      };
    },
    /** Lists the partners that ever verified a teacher, even if retention has deleted the attestation. */
    async verifiedBy(teacherId: number) {
      return (await driver.query(verifiedBy, [teacherId])).map((row) => text(row, "partner_id"));
    },
    /** Lists every lookup of a person, by the teacher's record or by the NIN's blind index. */
    async ofSubject({ teacherId, ninIndex }: { teacherId: number | null; ninIndex: Uint8Array | null }) {
      const byTeacher = teacherId === null ? [] : await select("ORDER BY id", [teacherId], `(${ofTeacher})`);
      const byNin = ninIndex === null ? [] : await select("ORDER BY id", [ninIndex], `(${ofNin})`);
      const known = new Set(byTeacher.map((one) => one.verificationId));
      return [...byTeacher, ...byNin.filter((one) => !known.has(one.verificationId))];
    },
    async countOfTeacher(teacherId: number) {
      const [row = {}] = await driver.query(countOfTeacher, [teacherId]);
      return integer(row, "n");
    },
    async answeredValid(teacherId: number, since: number) {
      return (await driver.query(answeredValid, [teacherId, Math.floor(since / 1000)])).map((row) => ({
        partnerId: text(row, "partner_id"),
        times: integer(row, "times"),
        lastAt: integer(row, "last_at") * 1000,
      }));
    },
  };
}

import type {
  Attestation,
  AttestationFilter,
  AttestationStore,
  AttestedOperation,
} from "../../domain/attestations.ts";
import { timeOfUuid, uuidFrom } from "../../domain/clock.ts";
import type { LicenseStatus, Purpose } from "../../partner/contract.ts";
import { answeredCalls, attestationColumns } from "../answered-calls.ts";
import type { Commit } from "../driver/commits.ts";
import type { Driver, Row, Value } from "../driver/driver.ts";
import { bytesOrNull, flag, integer, integerOrNull, text, textOrNull } from "../driver/rows.ts";
import type { SoughtBy } from "./attestation-index.ts";
import { conditionOf, segmentsOf } from "./attestation-index.ts";

const columns = attestationColumns.join(", ");

/** How far apart the order of committing and the order of `issued_at` may be: clocks of nodes differ by up to a minute. */
const disorderSeconds = 120;

/**
 * How long after a call's arrival its attestations may be made: a body may take half a minute to arrive, and the work
 * waits for its turn. Clocks of threads may differ a little.
 */
const longestAnswerMs = 90_000;
const clockDifferenceMs = 1_000;
/** Attestations of one call, at most. Their commit lays them side by side. */
const maxOfCall = 100;

/** The first of a call's; where the call stood in the log is known from the times in both ids. */
const firstOfRequest = `SELECT id FROM attestations WHERE verification_id >= ?1 AND verification_id < ?2 AND request_id = ?3
  ORDER BY verification_id LIMIT 1`;

/**
 * SQL for the id of the last attestation or delivery before a time, found by halving: there is no index on their times,
 * but their ids follow them. It reads some thirty rows whatever there are; where a clock was set back it is only near
 * the truth.
 * @param time the parameter that holds the time, in the unit of the column
 */
export function lastIdBefore(
  time: string,
  [table, column]: readonly ["attestations", "issued_at"] | readonly ["deliveries", "created_at"] = [
    "attestations",
    "issued_at",
  ],
): string {
  const isBefore = `(SELECT ${column} FROM ${table} WHERE id >= (low + high + 1) / 2 ORDER BY id LIMIT 1) < ${time}`;
  return `(WITH RECURSIVE search (low, high) AS (
    SELECT 0, coalesce((SELECT max(id) FROM ${table}), 0)
    UNION ALL
    SELECT iif(${isBefore}, (low + high + 1) / 2, low), iif(${isBefore}, high, (low + high + 1) / 2 - 1)
    FROM search WHERE low < high)
  SELECT low FROM search WHERE low >= high LIMIT 1)`;
}

/** Reads of the evidence log, by its index where it has one. */
function createAttestationReader(driver: Driver) {
  /** @param where the rest of the statement, from its condition on */
  async function select(where: string, args: readonly Value[]): Promise<Attestation[]> {
    return (await driver.query(`SELECT ${columns} FROM attestations ${where}`, args)).map(attestation);
  }

  /** Figures of the attestations that a key finds, segment by segment. */
  async function* figures(
    wanted: string,
    key: SoughtBy,
    { and = "", args = [] }: { and?: string; args?: readonly Value[] } = {},
  ): AsyncGenerator<Row[]> {
    const [condition, value] = conditionOf(key);
    const sql = `SELECT ${wanted} FROM attestations WHERE id >= ?1 AND id <= ?2 AND ${condition} ${and}`;
    for await (const { first, last } of segmentsOf(driver, key, { newestFirst: false }))
      yield await driver.query(sql, [first, last, value, ...args]);
  }

  async function selectAll(key: SoughtBy): Promise<Attestation[]> {
    const found: Attestation[] = [];
    for await (const rows of figures(columns, key, { and: "ORDER BY id" }))
      found.push(...rows.map(attestation));
    return found;
  }

  /** The last id before a time, and the last that one of that time may have; both in milliseconds. */
  async function between(since: number, until: number): Promise<{ after: number; upTo: number }> {
    const sql = `SELECT ${lastIdBefore("?1")} AS after, ${lastIdBefore("?2")} AS up_to`;
    const seconds = [Math.floor(since / 1000) - disorderSeconds, Math.ceil(until / 1000) + disorderSeconds];
    const [row = {}] = await driver.query(sql, seconds);
    return { after: integer(row, "after"), upTo: integer(row, "up_to") };
  }

  /** Some that a key finds, newest first, and none from before `from` (seconds). */
  async function newestOf(
    key: SoughtBy,
    page: Pick<AttestationFilter, "partnerId" | "credential" | "until"> & { from: number; limit: number },
  ): Promise<Attestation[]> {
    const { partnerId = null, credential = null, from, until = Number.MAX_SAFE_INTEGER, limit } = page;
    const range = await between(from * 1000, until);
    const [condition, value] = conditionOf(key);
    const where = `WHERE id >= ?1 AND id <= ?2 AND ${condition} AND issued_at >= ?4
      AND partner_id = coalesce(?6, partner_id) AND credential = coalesce(?7, credential)
      ORDER BY id DESC LIMIT ?5`;
    const found: Attestation[] = [];
    for await (const { first, last } of segmentsOf(driver, key, { newestFirst: true, ...range })) {
      if (found.length >= limit) break;
      const ids = [Math.max(first, range.after + 1), Math.min(last, range.upTo)];
      found.push(
        ...(await select(where, [...ids, value, from, limit - found.length, partnerId, credential])),
      );
    }
    return found;
  }

  return { select, selectAll, figures, newestOf, between };
}

/** The evidence log. */
export function createAttestationStore(driver: Driver, commit: Commit): AttestationStore {
  const { select, selectAll, figures, newestOf, between } = createAttestationReader(driver);
  const answers = answeredCalls[driver.kind];

  return {
    record: (call) => commit.inBatch(answers, call),
    async find(verificationId) {
      return (await select("WHERE verification_id = ?", [verificationId]))[0] ?? null;
    },
    async ofRequest(requestId) {
      const at = timeOfUuid(requestId);
      if (at === null) return [];
      const between = [uuidFrom(at - clockDifferenceMs), uuidFrom(at + longestAnswerMs)];
      const [first] = await driver.query(firstOfRequest, [...between, requestId]);
      if (first === undefined) return [];
      const id = integer(first, "id");
      const where = "WHERE id > ?1 AND id < ?2 AND request_id = ?3 ORDER BY id";
      return select(where, [id - maxOfCall, id + maxOfCall, requestId]);
    },
    async list({ partnerId, teacherId, since = 0, limit, ...narrowed }) {
      const from = Math.floor(since / 1000);
      const page = { ...narrowed, from, limit };
      // A teacher is asked about less often than a partner asks.
      if (teacherId !== undefined) return newestOf({ teacherId }, { ...page, partnerId });
      if (partnerId !== undefined) return newestOf({ partnerId }, page);
      const where = `WHERE id > ${lastIdBefore("?1")} AND issued_at >= ?2 ORDER BY id DESC LIMIT ?3`;
      return select(where, [from - disorderSeconds, from, limit]);
    },
    async usesOf({ partnerId, credential, since, until }, maxLooked) {
      const range = await between(since, until);
      const sql = `SELECT count(*) AS n, min(issued_at) AS first_at FROM attestations
        WHERE id >= ?1 AND id <= ?2 AND partner_id = ?3 AND credential = ?4`;
      let uses = { count: 0, firstAt: null as number | null };
      let left = maxLooked;
      for await (const segment of segmentsOf(driver, { partnerId }, { newestFirst: false, ...range })) {
        const [first, end] = [Math.max(segment.first, range.after + 1), Math.min(segment.last, range.upTo)];
        const last = Math.min(end, first + left - 1);
        const [row = {}] = await driver.query(sql, [first, last, partnerId, credential]);
        const firstAt = integerOrNull(row, "first_at");
        uses = {
          count: uses.count + integer(row, "n"),
          firstAt: uses.firstAt ?? (firstAt === null ? null : firstAt * 1000),
        };
        if (last < end) return { ...uses, isAll: false };
        left -= last - first + 1;
      }
      return { ...uses, isAll: true };
    },
    async ofSubject({ teacherId, ninIndex }) {
      const byTeacher = teacherId === null ? [] : await selectAll({ teacherId });
      const byNin = ninIndex === null ? [] : await selectAll({ ninIndex });
      const known = new Set(byTeacher.map((one) => one.verificationId));
      return [...byTeacher, ...byNin.filter((one) => !known.has(one.verificationId))];
    },
    async countOfTeacher(teacherId) {
      let count = 0;
      for await (const [row] of figures("count(*) AS n", { teacherId }))
        count += row === undefined ? 0 : integer(row, "n");
      return count;
    },
    async toldValid(teacherId, since) {
      const told = new Map<string, { partnerId: string; times: number; lastAt: number }>();
      const from = Math.floor(since / 1000);
      const and = "AND status = 'VALID' AND issued_at >= ?4 GROUP BY partner_id";
      const wanted = "partner_id, count(*) AS times, max(issued_at) AS last_at";
      for await (const rows of figures(wanted, { teacherId }, { and, args: [from] })) {
        for (const row of rows) {
          const partnerId = text(row, "partner_id");
          const { times, lastAt } = told.get(partnerId) ?? { times: 0, lastAt: 0 };
          told.set(partnerId, {
            partnerId,
            times: times + integer(row, "times"),
            lastAt: Math.max(lastAt, integer(row, "last_at") * 1000),
          });
        }
      }
      return [...told.values()].sort((a, b) => (a.partnerId < b.partnerId ? -1 : 1));
    },
  };
}

function attestation(row: Row): Attestation {
  return {
    verificationId: text(row, "verification_id"),
    partnerId: text(row, "partner_id"),
    issuedAt: integer(row, "issued_at"),
    kid: text(row, "kid"),
    endpoint: text(row, "endpoint") as AttestedOperation,
    purpose: text(row, "purpose") as Purpose,
    policyVersion: text(row, "policy_version"),
    teacherId: integerOrNull(row, "teacher_id"),
    reference: text(row, "reference"),
    ninIndex: bytesOrNull(row, "nin_index"),
    status: text(row, "status") as LicenseStatus,
    eligible: flag(row, "eligible"),
    context: textOrNull(row, "context"),
    credential: text(row, "credential"),
    requestId: text(row, "request_id"),
    jws: text(row, "jws"),
  };
}

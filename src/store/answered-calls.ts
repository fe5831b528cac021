import type { AnsweredCall, Attestation } from "../domain/attestations.ts";
import type { WindowsUsed } from "../domain/quota-windows.ts";
import { allOf, type Condition, isAttested, isRevision, isRevisionAs } from "./conditions.ts";
import type { ActKind } from "./driver/commits.ts";
import { type Row, rowsInJson, type SqlStatement, type Statement, type Value } from "./driver/driver.ts";
import { text } from "./driver/rows.ts";
import { peopleStatements } from "./evidence/statement-people.ts";
import { idempotencyOfEach, idempotencyStatement, isUnusedAs, keyUnused, usedSince } from "./idempotency.ts";
import { chargeStatement, chargesStatement, hasRoom, mostBefore, roomFor } from "./quota.ts";
import { isAsReadIn, readColumns, readInJson, stillAsRead } from "./teacher-columns.ts";

/**
 * Answered calls as acts, each whole or nothing of it: the first attestation is inserted only while all holds that the
 * call rests on, and every further statement hangs on that row, because one transaction holds the calls of many
 * partners and none may undo another's. Each sees what the calls before it have charged. The result is what the call's
 * windows have used at the end of the commit; null for a call that was not stored.
 *
 * There are two plans of the same acts. A file takes statements that it knows by their text, with their values. A server
 * gets few statements with many rows in each: there, a statement costs more than the row that it writes.
 */

/** In the order of {@link attestationValues}. */
export const attestationColumns = [
  "verification_id",
  "partner_id",
  "issued_at",
  "kid",
  "endpoint",
  "purpose",
  "policy_version",
  "teacher_id",
  "reference",
  "nin_index",
  "status",
  "eligible",
  "context",
  "credential",
  "request_id",
  "jws",
] as const;

function attestationValues(one: Attestation): Value[] {
  // biome-ignore format: the order of the columns
  return [
    one.verificationId, one.partnerId, one.issuedAt, one.kid, one.endpoint, one.purpose, one.policyVersion,
    one.teacherId, one.reference, one.ninIndex, one.status, one.eligible, one.context, one.credential,
    one.requestId, one.jws,
  ];
}

const into = `INSERT INTO attestations (${attestationColumns.join(", ")})`;
const values = attestationColumns.map(() => "?").join(", ");
const insert = `${into} SELECT ${values}`;
/** Rows in one statement: more of them are no quicker. */
const blockRows = 10;
const block = new Array<string>(blockRows).fill(`(${values})`).join(", ");
const insertBlock = `${into} SELECT * FROM (VALUES ${block}) WHERE ${isAttested}`;
const insertFurther = `${insert} WHERE ${isAttested}`;

/**
 * Which of some calls were stored, as one JSON text: their places, and what their windows have used. It is read once
 * for all of a commit, because a row that comes out of the native driver costs as much as two that go in.
 */
const selectStored = `SELECT json_group_array(json_array(call.key,
    (SELECT used FROM quota_windows
      WHERE partner_id = call.value ->> 1 AND kind = 'minute' AND starts_at = call.value ->> 2),
    (SELECT used FROM quota_windows
      WHERE partner_id = call.value ->> 1 AND kind = 'day' AND starts_at = call.value ->> 3))) AS stored
  FROM json_each(?) AS call WHERE EXISTS (SELECT 1 FROM attestations WHERE verification_id = call.value ->> 0)`;

type AnsweredCalls = ActKind<AnsweredCall, WindowsUsed | null>;

/** @param statementsOf what calls write */
function answeredCallsBy(statementsOf: (calls: readonly AnsweredCall[]) => Statement[]): AnsweredCalls {
  return {
    // A person of a statement is two small rows, where an attestation is a large one.
    weigh: ({ attestations, people = [] }) => attestations.length + people.length / 8,
    plan(calls) {
      const statements = [...statementsOf(calls), readStored(calls)];
      return {
        statements,
        results: (rows) => storedOf(rows.at(-1) ?? [], calls.length).map((used) => used ?? null),
      };
    },
    findOut: (calls) => ({ read: readStored(calls), results: (rows) => storedOf(rows, calls.length) }),
  };
}

function readStored(calls: readonly AnsweredCall[]): SqlStatement {
  return { sql: selectStored, args: [chargesInJson(calls)] };
}

/** What the windows of each of so many calls have used; undefined for one that is not stored. */
function storedOf(rows: readonly Row[], count: number): (WindowsUsed | undefined)[] {
  const used = new Array<WindowsUsed | undefined>(count).fill(undefined);
  const stored = JSON.parse(text(rows[0] ?? {}, "stored")) as [number, number, number][];
  for (const [place, minute, day] of stored) used[place] = { minute, day };
  return used;
}

/** Of each call by what it is found, and what it charges. */
function chargesInJson(calls: readonly AnsweredCall[]): string {
  const rows = calls.map((call) => {
    const { partnerId, starts, calls: count } = call.charge;
    return [firstOf(call).verificationId, partnerId, starts.minute, starts.day, count];
  });
  return JSON.stringify(rows);
}

function firstOf({ attestations: [first] }: AnsweredCall): Attestation {
  if (first === undefined) throw new TypeError("an answered call has an attestation");
  return first;
}

function inStatements(call: AnsweredCall): Statement[] {
  const first = firstOf(call);
  const { sql, args } = groundsOf(call);
  return [
    { sql: guardedInsert(sql), args: [...attestationValues(first), ...args] },
    ...furtherStatements(call.attestations.slice(1), first.verificationId),
    ...chargedAndKept(call),
  ];
}

function chargedAndKept(call: AnsweredCall): Statement[] {
  const first = firstOf(call);
  const { charge, idempotency, people = [] } = call;
  return [
    ...(people.length === 0 ? [] : peopleStatements(people, first.verificationId)),
    chargeStatement(charge, first.verificationId),
    ...(idempotency === null ? [] : [idempotencyStatement(idempotency, first)]),
  ];
}

/** The other attestations of a batch, a block at a time. */
function furtherStatements(further: readonly Attestation[], first: string): Statement[] {
  const statements: Statement[] = [];
  for (let at = 0; at < further.length; ) {
    const isBlock = further.length - at >= blockRows;
    const rows = further.slice(at, at + (isBlock ? blockRows : 1));
    statements.push({
      sql: isBlock ? insertBlock : insertFurther,
      args: [...rows.flatMap(attestationValues), first],
    });
    at += rows.length;
  }
  return statements;
}

/** What an answer's truth rests on (decision D4.8). */
function groundsOf({ revision, read, charge, idempotency }: AnsweredCall): Condition {
  return allOf([
    { sql: isRevision, args: [revision] },
    stillAsRead(read),
    roomFor(charge),
    ...(idempotency === null ? [] : [keyUnused(idempotency)]),
  ]);
}

/** By their conditions, of which there are few: a statement is looked for by its text, and the same one is found faster. */
const guardedInserts = new Map<string, string>();

function guardedInsert(condition: string): string {
  const known = guardedInserts.get(condition);
  if (known !== undefined) return known;
  const made = `${insert} WHERE ${condition}`;
  guardedInserts.set(condition, made);
  return made;
}

/** What a row of JSON has of a call with one attestation, besides that. */
const groundColumns = [
  "revision",
  "payer",
  "minute",
  "minuteMost",
  "day",
  "dayMost",
  "key",
  "usedSince",
] as const;
const jsonColumns: readonly string[] = [...attestationColumns, ...readColumns, ...groundColumns];
const at = (name: string) => `call.value ->> ${jsonColumns.indexOf(name)}`;

const rowsOf = (alias: string) =>
  attestationColumns.map((column, place) => {
    const value = `${alias}.value ->> ${place}`;
    return column === "nin_index" ? `unhex(${value})` : value;
  });
const insertRows = `${into} SELECT ${rowsOf("one").join(", ")} FROM json_each(?) AS one`;

/** Calls with one attestation each, of {@link jsonColumns}: each only while its grounds hold. */
const insertSingles = `${into} SELECT ${rowsOf("call").join(", ")} FROM json_each(?) AS call WHERE ${[
  isRevisionAs(at("revision")),
  isAsReadIn(at),
  hasRoom("minute", [at("payer"), at("minute"), at("minuteMost")]),
  hasRoom("day", [at("payer"), at("day"), at("dayMost")]),
  `(${at("key")} IS NULL OR ${isUnusedAs(`unhex(${at("key")})`, at("usedSince"))})`,
].join(" AND ")}`;

/** Few statements for many calls; a batch of questions is a statement of its own. */
function inRows(calls: readonly AnsweredCall[]): Statement[] {
  const { singles, others } = partedOf(calls);
  const statements = others.flatMap((call) => [insertOfBatch(call), ...chargedAndKept(call)]);
  return singles.length === 0 ? statements : [...singleStatements(singles), ...statements];
}

/**
 * Calls with one attestation of one teacher go together, but no statement, whose people are rows of their own, be it one
 * person. A call that has the idempotency key of another of them has to see what became of that, and goes by itself.
 */
function partedOf(calls: readonly AnsweredCall[]): { singles: AnsweredCall[]; others: AnsweredCall[] } {
  const keys = new Set<string>();
  const parted: { singles: AnsweredCall[]; others: AnsweredCall[] } = { singles: [], others: [] };
  for (const call of calls) {
    const key = call.idempotency === null ? null : call.idempotency.id.join();
    const isOne = call.attestations.length === 1 && call.read.length === 1 && call.people === undefined;
    const isSingle = isOne && (key === null || !keys.has(key));
    if (key !== null) keys.add(key);
    parted[isSingle ? "singles" : "others"].push(call);
  }
  return parted;
}

function singleStatements(calls: readonly AnsweredCall[]): Statement[] {
  const kept = calls.flatMap((call) =>
    call.idempotency === null ? [] : [{ record: call.idempotency, first: firstOf(call) }],
  );
  return [
    { sql: insertSingles, args: [rowsInJson(singlesInJson(calls))] },
    chargesStatement(chargesInJson(calls)),
    ...(kept.length === 0 ? [] : [idempotencyOfEach(kept)]),
  ];
}

/**
 * The windows are charged after all of them, so each has room beside those before it. Should one of those be refused,
 * this one was counted short, is refused with it and judged anew: a quota is never exceeded.
 */
function singlesInJson(calls: readonly AnsweredCall[]): Value[][] {
  const before = new Map<string, number>();
  return calls.map((call) => {
    const { partnerId, starts, calls: count } = call.charge;
    const most = (["minute", "day"] as const).map((kind) => {
      const window = `${kind} ${starts[kind]} ${partnerId}`;
      const taken = before.get(window) ?? 0;
      before.set(window, taken + count);
      return mostBefore(call.charge, kind) - taken;
    });
    const { idempotency } = call;
    return [
      ...attestationValues(firstOf(call)),
      ...readInJson(readOf(call)),
      ...[call.revision, partnerId, starts.minute, most[0] ?? 0, starts.day, most[1] ?? 0],
      ...(idempotency === null ? [null, null] : [idempotency.id, usedSince(idempotency)]),
    ];
  });
}

function readOf({ read: [read] }: AnsweredCall) {
  if (read === undefined) throw new TypeError("an answered call has read somebody, or nobody");
  return read;
}

/** All attestations of a batch in one statement, so that they lie side by side. */
function insertOfBatch(call: AnsweredCall): Statement {
  const { sql, args } = groundsOf(call);
  const rows = rowsInJson(call.attestations.map(attestationValues));
  return { sql: `${insertRows} WHERE ${sql}`, args: [rows, ...args] };
}

/** By the kind of the driver. */
export const answeredCalls = {
  embedded: answeredCallsBy((calls) => calls.flatMap(inStatements)),
  remote: answeredCallsBy(inRows),
} as const;

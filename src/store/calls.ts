import { Buffer } from "node:buffer";
import type { Attestation, CallCommit } from "../domain/attestations.ts";
import { idempotencyRetentionMs } from "../domain/idempotency.ts";
import type { CallsUsed, QuotaCharge, WindowKind } from "../domain/quota-windows.ts";
import type { UniqueKey } from "../domain/teachers/teachers.ts";
import type { GroupWriter } from "./driver/commits.ts";
import { bind, type Row, type SqlStatement, type SqlValue, type Transaction } from "./driver/driver.ts";
import { boolean, bytesOrNull, integer, integerOrNull, tableOf, text, textOrNull } from "./driver/rows.ts";
import { insertPeopleSql } from "./evidence/statement-people.ts";
import { hasCompromisedKeySql, makeAnswerInsert } from "./idempotency.ts";
import { selectRevisionSql } from "./settings.ts";
import { formatKeyForJson, isNotHiddenSql, teacherKeyColumns, uniqueKeyKinds } from "./teacher-columns.ts";

/**
 * Stores answered calls in groups. One transaction reads the values that the preconditions need, decides on each call,
 * and writes the calls whose preconditions all hold. No other process can write in between (decision D4.8).
 */

/** Stored values that decide a group's preconditions. {@link checkCallPreconditions} adds each accepted call to them. */
export type PreconditionValues = {
  readonly revision: number;
  /** The stored versions of the teachers' records that the calls read, by the teacher's id. */
  readonly versions: ReadonlyMap<number, number>;
  /** The lookup keys of teachers under which a call found nobody, as {@link keyName} writes them. */
  readonly taken: ReadonlySet<string>;
  /** The time at which each idempotency key's answer was stored (ms since the epoch), by the key's id in hex. */
  readonly answeredAt: Map<string, number>;
  /** The number of calls charged to each quota window, by {@link windowName}. */
  readonly used: Map<string, number>;
};

/** The preconditions for storing a call. Each must hold in the transaction that stores the call. */
export const callPreconditions = {
  /** The configuration (settings, partners, credentials, signing keys) has not changed since the call was answered. */
  revision: (call, current) => call.revision === current.revision,
  /** Each record of a teacher that the call read still has the version that was read. */
  record: ({ read }, { versions }) =>
    read.every((one) => "by" in one || versions.get(one.id) === one.version),
  /** No teacher now has an identifier under which the call found no teacher. */
  nobody: ({ read }, { taken }) => read.every((one) => !("by" in one) || !taken.has(keyName(one))),
  /** The partner's quota of the UTC minute has room for the call's charge. */
  minute: ({ charge }, current) => hasRoom(charge, "minute", current),
  /** The partner's quota of the UTC day has room for the call's charge. */
  day: ({ charge }, current) => hasRoom(charge, "day", current),
  /** No answer is stored under the call's idempotency key, or the stored answer has expired. */
  idempotency: ({ idempotency }, { answeredAt }) =>
    idempotency === null ||
    (answeredAt.get(hex(idempotency.id)) ?? Number.NEGATIVE_INFINITY) <
      idempotency.createdAt - idempotencyRetentionMs,
} as const satisfies Record<string, (call: CallCommit, current: PreconditionValues) => boolean>;

/**
 * Decides whether a call may be stored. If so, adds the call's charge and idempotency key to `current`.
 * @param required all preconditions; tests leave one out
 * @returns the first precondition that does not hold; null if all hold
 */
export function checkCallPreconditions(
  call: CallCommit,
  current: PreconditionValues,
  required: Partial<typeof callPreconditions> = callPreconditions,
): keyof typeof callPreconditions | null {
  for (const name of Object.keys(required) as (keyof typeof callPreconditions)[])
    if (required[name]?.(call, current) === false) return name;
  const { charge, idempotency } = call;
  for (const kind of kinds) {
    const window = windowName(charge, kind);
    current.used.set(window, (current.used.get(window) ?? 0) + costOf(charge, kind));
  }
  if (idempotency !== null) current.answeredAt.set(hex(idempotency.id), idempotency.createdAt);
  return null;
}

/** Returns true if the quota window has room for the call's charge. A charge of 0 needs no room. */
function hasRoom(charge: QuotaCharge, kind: WindowKind, { used }: PreconditionValues): boolean {
  const cost = costOf(charge, kind);
  return cost === 0 || (used.get(windowName(charge, kind)) ?? 0) + cost <= charge.limits[kind];
}

const kinds = ["minute", "day"] as const satisfies readonly WindowKind[];
const costOf = ({ calls, ofDay = calls }: QuotaCharge, kind: WindowKind) => (kind === "day" ? ofDay : calls);
const windowName = ({ partnerId, starts }: QuotaCharge, kind: WindowKind) =>
  `${kind} ${starts[kind]} ${partnerId}`;
const keyName = (key: UniqueKey) => `${key.by} ${formatKeyForJson(key)}`;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

export const callWriter = makeCallWriter(callPreconditions);

/** Makes the writer of groups of calls. It returns each call's use of its quota windows; null for a call not stored. */
export function makeCallWriter(
  required: Partial<typeof callPreconditions>,
): GroupWriter<CallCommit, CallsUsed | null> {
  return {
    // An attestation is stored as one large row, and a person of a statement as two small rows.
    weigh: ({ attestations, people = [] }) => Math.max(1, attestations.length + people.length / 8),
    async write(tx, calls) {
      const current = await readCurrent(tx, calls);
      const before = new Map(current.used);
      const isStored = calls.map((call) => checkCallPreconditions(call, current, required) === null);
      const stored = calls.filter((_, index) => isStored[index]);
      await tx.finish([...stored.flatMap(callStatements), ...chargeStatements(stored, current, before)]);
      return calls.map(({ charge }, index) => (isStored[index] ? usedOf(charge, current) : null));
    },
  };
}

function usedOf(charge: QuotaCharge, { used }: PreconditionValues): CallsUsed {
  const of = (kind: WindowKind) => used.get(windowName(charge, kind)) ?? 0;
  return { minute: of("minute"), day: of("day") };
}

// Each query returns one row with JSON, because a row from the native driver costs as much as two writes.
const readVersions = `SELECT json_group_array(json_array(id, version)) AS found FROM teachers
  WHERE id IN (SELECT value FROM json_each(?))`;
const readUsed = `SELECT json_group_array(json_array(used.kind || ' ' || starts_at || ' ' || partner_id, used)) AS found
  FROM json_each(?) AS one CROSS JOIN quota_windows AS used ON partner_id = one.value ->> 0
    AND used.kind = one.value ->> 1 AND starts_at = one.value ->> 2`;
const readAnswered = `SELECT json_group_array(json_array(lower(hex(id)), created_at)) AS found FROM idempotency
  WHERE id IN (SELECT unhex(value) FROM json_each(?)) AND NOT ${hasCompromisedKeySql}`;
const readTaken = (
  by: UniqueKey["by"],
) => `SELECT json_group_array(json_array('${by} ' || one.value, 1)) AS found
  FROM json_each(?) AS one CROSS JOIN teachers
    ON ${teacherKeyColumns[by]} = ${by === "nin" ? "unhex(one.value)" : "one.value"} AND ${isNotHiddenSql}`;

/** Reads the values that decide a group's preconditions, in one batch. */
async function readCurrent(tx: Transaction, calls: readonly CallCommit[]): Promise<PreconditionValues> {
  const read = calls.flatMap((call) => call.read);
  const ids = read.flatMap((one) => ("by" in one ? [] : [one.id]));
  const keys = calls.flatMap(({ idempotency }) => (idempotency === null ? [] : [hex(idempotency.id)]));
  const windows = new Map(
    calls.flatMap(({ charge }) =>
      kinds.map((kind) => [windowName(charge, kind), [charge.partnerId, kind, charge.starts[kind]]]),
    ),
  );
  const absent = uniqueKeyKinds.map((by) =>
    read.flatMap((one) => ("by" in one && one.by === by ? [formatKeyForJson(one)] : [])),
  );
  const [revision, ...found] = await tx.batch([
    bind(selectRevisionSql),
    ...reading(readUsed, [...windows.values()]),
    ...reading(readVersions, ids),
    ...reading(readAnswered, keys),
    ...uniqueKeyKinds.flatMap((by, index) => reading(readTaken(by), absent[index] ?? [])),
  ]);
  const rest = found.map(pairsOf);
  const next = (isRead: boolean) => (isRead ? rest.shift() : undefined) ?? [];
  return {
    revision: integer(revision?.[0] ?? {}, "value"),
    used: new Map(next(windows.size > 0) as [string, number][]),
    versions: new Map(next(ids.length > 0) as [number, number][]),
    answeredAt: new Map(next(keys.length > 0) as [string, number][]),
    taken: new Set(rest.flat().map(([name]) => String(name))),
  };
}

const reading = (sql: string, values: readonly unknown[]): SqlStatement[] =>
  values.length === 0 ? [] : [{ sql, args: [JSON.stringify(values)] }];

const pairsOf = ([row = {}]: readonly Row[]) => JSON.parse(text(row, "found")) as [string | number, number][];

export const attestationsTable = tableOf<Attestation>("attestations", {
  ...{ verificationId: text, partnerId: text, issuedAt: integer, kid: text, operation: text, purpose: text },
  ...{ policyVersion: text, teacherId: integerOrNull, reference: text, ninIndex: bytesOrNull, status: text },
  ...{ eligible: boolean, context: textOrNull, credential: text, requestId: text, jws: text },
});

/** Makes the SQL that stores a call: its attestations, the people of a signed list, and the answer for a replay. */
function callStatements({ attestations: made, people = [], idempotency }: CallCommit): SqlStatement[] {
  const [first] = made;
  return [
    ...made.map(attestationsTable.insert),
    ...(people.length === 0 || first === undefined ? [] : insertPeopleSql(people, first.verificationId)),
    ...(idempotency === null || first === undefined ? [] : [makeAnswerInsert(idempotency, first.kid)]),
  ];
}

const setUsed = `INSERT INTO quota_windows (partner_id, kind, starts_at, used) VALUES (?, ?, ?, ?)
  ON CONFLICT (partner_id, kind, starts_at) DO UPDATE SET used = excluded.used`;

/** Makes one statement for each quota window to which calls were charged. */
function chargeStatements(
  stored: readonly CallCommit[],
  { used }: PreconditionValues,
  before: ReadonlyMap<string, number>,
): SqlStatement[] {
  const charged = new Map<string, SqlValue[]>();
  for (const { charge } of stored) {
    for (const kind of kinds) {
      const window = windowName(charge, kind);
      const now = used.get(window) ?? 0;
      if (now !== (before.get(window) ?? 0))
        charged.set(window, [charge.partnerId, kind, charge.starts[kind], now]);
    }
  }
  return [...charged.values()].map((args) => ({ sql: setUsed, args }));
}

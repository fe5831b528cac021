import type { SqlRunner } from "../driver/backup.ts";
import { integer, text } from "../driver/rows.ts";

const queries = {
  signingKey: "SELECT kid AS id, state FROM signing_keys",
  partner:
    "SELECT partner_id AS id, CASE WHEN disabled_at IS NULL THEN 'enabled' ELSE 'disabled' END AS state FROM partners",
  apiKey:
    "SELECT key_id AS id, CASE WHEN revoked_at IS NULL THEN 'issued' ELSE 'revoked' END AS state FROM api_keys",
  certificate: "SELECT fingerprint AS id, 'registered' AS state FROM certificates",
  // Selects only teachers who are hidden, deactivated or revoked. Other teachers have no state to compare.
  teacher: `SELECT reg_no AS id, CASE WHEN hidden = 1 THEN 'hidden' WHEN active = 0 THEN 'deactivated' ELSE 'revoked' END AS state
    FROM teachers WHERE active = 0 OR license_revoked_on IS NOT NULL OR hidden = 1`,
} as const;

const counted = ["attestations", "history", "events"] as const;

type AuditedKind = keyof typeof queries;

/** The states of keys, partners, credentials and teachers in a database, and the number of rows of evidence. */
export type DatabaseSummary = {
  readonly states: ReadonlyMap<string, { kind: AuditedKind; id: string; state: string }>;
  readonly counts: Readonly<Record<(typeof counted)[number], number>>;
};

/** An item whose state differs in the replaced (`was`) and the restored database (`now`); null if it has no state there. */
export type StateDifference = { kind: AuditedKind; id: string; was: string | null; now: string | null };
type Undone = { readonly changes: readonly StateDifference[]; readonly lost: DatabaseSummary["counts"] };

/** Reads the facts that `tvs restore` compares between the old and the restored database. */
export function readDatabaseSummary(all: SqlRunner): DatabaseSummary {
  const states = new Map<string, { kind: AuditedKind; id: string; state: string }>();
  for (const [kind, sql] of Object.entries(queries) as [AuditedKind, string][]) {
    for (const row of all(sql)) {
      const id = text(row, "id");
      states.set(`${kind} ${id}`, { kind, id, state: text(row, "state") });
    }
  }
  const count = (table: string) => integer(all(`SELECT count(*) AS n FROM ${table}`)[0] ?? {}, "n");
  const counts = Object.fromEntries(
    counted.map((table) => [table, count(table)]),
  ) as DatabaseSummary["counts"];
  return { states, counts };
}

/** Lists the states that differ between two databases, and counts the rows of evidence that `after` lacks. */
export function compareSummaries(before: DatabaseSummary, after: DatabaseSummary): Undone {
  const names = [...new Set([...before.states.keys(), ...after.states.keys()])];
  const changes = names.flatMap((name) => {
    const [old, restored] = [before.states.get(name), after.states.get(name)];
    const one = old ?? restored;
    if (one === undefined || old?.state === restored?.state) return [];
    return [{ kind: one.kind, id: one.id, was: old?.state ?? null, now: restored?.state ?? null }];
  });
  const lost = counted.map((table) => [table, Math.max(0, before.counts[table] - after.counts[table])]);
  return { changes, lost: Object.fromEntries(lost) as DatabaseSummary["counts"] };
}

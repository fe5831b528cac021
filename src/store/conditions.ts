import type { SqlStatement } from "./driver/driver.ts";

/** What statements of one act hang on: there are no interactive transactions, so each carries its condition. */
export type Condition = SqlStatement;

/** What a service keeps in memory is still what it was judged by; the value is that revision. */
export const isRevision = isRevisionAs("?");

/** {@link isRevision} with SQL for its value. */
export function isRevisionAs(value: string): string {
  return `(SELECT value FROM revision WHERE id = 1) = ${value}`;
}

/** An attestation stands in the log; the value is its verification id. */
export const isAttested = isAttestedAs("?");

/** {@link isAttested} with SQL for its value. */
export function isAttestedAs(value: string): string {
  return `EXISTS (SELECT 1 FROM attestations WHERE verification_id = ${value})`;
}

/**
 * An extract was applied to its end, so that nobody is nobody. While the first one is applied, only some of its teachers
 * are there. A register without imports may have been filled otherwise.
 * Teachers and finished imports are never deleted, so what a lookup read of it holds in the commit of the answer.
 */
export const isLoaded = `EXISTS (SELECT 1 FROM teachers)
  AND (EXISTS (SELECT 1 FROM imports WHERE finished_at IS NOT NULL
      AND inserted + updated + unchanged > 0)
    OR NOT EXISTS (SELECT 1 FROM imports))`;

/** All of them hold. */
export function allOf(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    args: conditions.flatMap(({ args }) => args),
  };
}

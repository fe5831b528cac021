/** What a service keeps in memory is still what it was judged by; the value is that revision. */
export const isRevision = isRevisionAs("?");

/** {@link isRevision} with SQL for its value. */
export function isRevisionAs(value: string): string {
  return `(SELECT value FROM revision WHERE id = 1) = ${value}`;
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

/** Rejected rows, known again in the next import by keyed digests alone (decision D7.18). */

import type { BlindIndex } from "../blind-index.ts";
import { type ImportIssue, isRejection } from "./report.ts";

/** Digests that are kept of an import: of more rejected rows all are new. */
const maxKept = 20_000;
/** Letters of a digest: 64 bits. */
const digestLetters = 16;

/** The rejections of an import, collected while its rows are checked and applied. */
export function createRejectionTally(blindIndex: Pick<BlindIndex, "row">) {
  const digests = new Set<string>();
  return {
    add(issues: readonly ImportIssue[]): void {
      for (const issue of issues) {
        if (!isRejection(issue) || digests.size > maxKept) continue;
        const what = `${issue.identity ?? issue.regNo ?? `line ${issue.line}`}\0${issue.code}`;
        digests.add(blindIndex.row(what).toHex().slice(0, digestLetters));
      }
    },
    /** What is kept with the import; null where there were too many. */
    kept: (): string[] | null => (digests.size > maxKept ? null : [...digests].sort()),
    /** Whether every rejection was one of the last import's too. */
    areKnown: (last: ReadonlySet<string> | null | undefined): boolean =>
      last != null && digests.size <= maxKept && [...digests].every((digest) => last.has(digest)),
  };
}

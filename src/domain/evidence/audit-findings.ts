/**
 * What an audit can find: an attestation that is not the one that was logged (changed, removed, inserted or moved), a
 * checkpoint that does not fit, something that is kept beside them, and a database that was put back.
 */
type FindingKind = "ATTESTATION" | "BEHIND" | "CHECKPOINT" | "LOG";

export type AuditFinding = {
  readonly what: FindingKind;
  readonly epoch: number;
  /** Of the leaf, or where there is none the size of the tree that is meant; null where neither is. */
  readonly index: number | null;
  /** The attestation's place in the database; null where it is about none. */
  readonly id: number | null;
  readonly verificationId: string | null;
  /** One sentence. */
  readonly says: string;
};

/** In this order they are told: what others follow from comes first. */
const kinds: readonly FindingKind[] = ["ATTESTATION", "BEHIND", "CHECKPOINT", "LOG"];
/** As many as are kept; further ones are only counted. */
const maxKept = 100;

export type Findings = ReturnType<typeof createFindings>;

export function createFindings() {
  const found: AuditFinding[] = [];
  let count = 0;
  return {
    add(what: FindingKind, epoch: number, finding: Pick<AuditFinding, "says"> & Partial<AuditFinding>): void {
      count++;
      if (found.length < maxKept)
        found.push({ what, epoch, index: null, id: null, verificationId: null, ...finding });
    },
    /** Each kind in the order of the log. */
    list: (): AuditFinding[] =>
      found.toSorted(
        (a, b) =>
          kinds.indexOf(a.what) - kinds.indexOf(b.what) ||
          a.epoch - b.epoch ||
          (a.index ?? -1) - (b.index ?? -1),
      ),
    count: () => count,
  };
}

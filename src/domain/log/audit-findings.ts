/** What an audit can find. */
export type FindingKind =
  // An attestation
  | "CHANGED"
  | "COLUMNS_CHANGED"
  | "REMOVED"
  | "INSERTED"
  | "SWAPPED"
  | "REWRITTEN"
  // The database as a whole
  | "ROLLED_BACK"
  // What is kept beside the attestations
  | "TILES_CHANGED"
  | "POSITIONS_CHANGED"
  | "SIZE_CHANGED"
  | "CHECKPOINT_CHANGED"
  | "CHECKPOINT_FORGED"
  | "CHECKPOINT_REMOVED"
  | "EPOCH_CHANGED";

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

/** As many as are kept; further ones are only counted. */
const maxKept = 100;

const aboutAttestations: readonly FindingKind[] = [
  "CHANGED",
  "COLUMNS_CHANGED",
  "REMOVED",
  "INSERTED",
  "SWAPPED",
  "REWRITTEN",
];

export type Findings = {
  add(finding: Pick<AuditFinding, "what" | "epoch" | "says"> & Partial<AuditFinding>): void;
  /** Those about attestations first and what others follow from last, each kind in the order of the log. */
  list(): AuditFinding[];
  count(): number;
};

export function createFindings(): Findings {
  const found: AuditFinding[] = [];
  let count = 0;
  const rank = ({ what }: AuditFinding) =>
    aboutAttestations.includes(what) ? 0 : what === "POSITIONS_CHANGED" ? 2 : 1;
  // What is about a whole epoch explains what follows.
  const place = ({ index }: AuditFinding) => index ?? -1;
  return {
    add(finding) {
      count++;
      if (found.length < maxKept) found.push({ index: null, id: null, verificationId: null, ...finding });
    },
    list: () => [...found].sort((a, b) => rank(a) - rank(b) || a.epoch - b.epoch || place(a) - place(b)),
    count: () => count,
  };
}

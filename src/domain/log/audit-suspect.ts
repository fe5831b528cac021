import { isSameHash } from "../../partner/merkle-proof.ts";
import type { AuditFinding } from "./audit-findings.ts";
import type { AuditedRow } from "./audit-rows.ts";

/** Where attestations and log first contradict each other. */
export type Suspect = {
  readonly index: number;
  readonly id: number | null;
  readonly row: AuditedRow | undefined;
  /** The hash that the attestation there makes, and the one that the log keeps for it. */
  readonly made: Uint8Array;
  readonly kept: Uint8Array;
  /** Where the attestation that belongs here stands now; null as long as it was not met. */
  movedTo: Pick<AuditedRow, "id" | "verificationId"> | null;
  /** Where the attestation that stands here belongs. */
  movedFrom: { readonly id: number | null } | null;
};

/** A later contradiction, by which is told what happened at the first. */
export function compareWith(
  suspect: Suspect,
  { made, kept, row, id }: Pick<Suspect, "made" | "kept" | "row" | "id">,
): void {
  if (suspect.movedTo === null && row !== undefined && isSameHash(made, suspect.kept)) suspect.movedTo = row;
  if (suspect.movedFrom === null && isSameHash(kept, suspect.made)) suspect.movedFrom = { id };
}

/** What was done to the attestation at which log and attestations part. */
export function judge(suspect: Suspect, epoch: number): AuditFinding {
  const { index, id, row, movedTo, movedFrom } = suspect;
  const one = { epoch, index, id, verificationId: row?.verificationId ?? null };
  if (id === null) {
    const says = `the checkpoint that epoch ${epoch} names as the last one before it was changed`;
    return { ...one, what: "EPOCH_CHANGED", says };
  }
  const name = `attestation ${id}`;
  if (movedTo !== null && movedFrom !== null)
    return {
      ...one,
      what: "SWAPPED",
      says: `${name} stands where ${movedTo.id} belongs, and the other way round`,
    };
  if (movedTo !== null)
    return {
      ...one,
      what: "INSERTED",
      says: `${name} was never logged; what belongs here stands at ${movedTo.id} now`,
    };
  if (movedFrom !== null)
    return {
      ...one,
      verificationId: null,
      what: "REMOVED",
      says: `${name} was removed: what stands here now belongs at ${movedFrom.id ?? 0}`,
    };
  return {
    ...one,
    what: "CHANGED",
    says: `${name} is not the one that was logged: its signature was changed`,
  };
}

/** Sums what imports remove from the register: one import, and all imports of the last 24 hours. */

import type { CalendarDate } from "../clock.ts";
import { statusesOn } from "../events.ts";
import type { ProtectedCounts } from "../teachers/store.ts";
import { liftsRevocation, type RowEffect } from "./patch.ts";

/**
 * The brake: the percentage of valid licences, of verified certificates and of revocations that imports may remove
 * within {@link lossWindowMs}. In a register with fewer than fifty of a kind, the loss of one stops an import.
 */
export const maxLostPercent = 2;
export const lossWindowMs = 24 * 60 * 60_000;
/** The percentage of losses above which `tvs doctor`, the console and the alerts report them. */
const notedLostPercent = 1;

export type LossTotals = { readonly lost: ProtectedCounts; readonly of: ProtectedCounts };

/** An import's losses. "allowed" (`--allow-change`): this import's and earlier losses no longer count for the brake. */
export type RecordedLosses = LossTotals | "allowed";

/** A kind of which an import would remove more than the brake allows. */
export type Loss = {
  readonly kind: keyof ProtectedCounts;
  readonly lost: number;
  readonly of: number;
  /** The number that earlier imports of the last 24 hours removed; absent if they removed nothing. */
  readonly earlier?: number;
};

export const lossKinds = ["validLicenses", "verifiedCertificates", "revocations"] as const;
export const noHoldings: ProtectedCounts = { validLicenses: 0, verifiedCertificates: 0, revocations: 0 };
export const noLosses: LossTotals = { lost: noHoldings, of: noHoldings };

function ofEachKind(value: (kind: keyof ProtectedCounts) => number): ProtectedCounts {
  return Object.fromEntries(lossKinds.map((kind) => [kind, value(kind)])) as ProtectedCounts;
}

export function sumHoldings(all: readonly ProtectedCounts[]): ProtectedCounts {
  return ofEachKind((kind) => all.reduce((sum, one) => sum + one[kind], 0));
}

/** Sums the losses since the last import with `--allow-change`. */
export function sumLosses(newestFirst: readonly RecordedLosses[]): LossTotals {
  const allowed = newestFirst.indexOf("allowed");
  const counted = (allowed === -1 ? newestFirst : newestFirst.slice(0, allowed)) as readonly LossTotals[];
  return {
    lost: sumHoldings(counted.map(({ lost }) => lost)),
    // Percentages are of the largest number in the window: the one before the first loss.
    of: ofEachKind((kind) => Math.max(0, ...counted.map(({ of }) => of[kind]))),
  };
}

export function addRowLosses(
  lost: { -readonly [K in keyof ProtectedCounts]: number },
  row: Pick<RowEffect, "before" | "content">,
  today: CalendarDate,
): void {
  if (row.before === null) return;
  const [before, after] = [statusesOn(row.before, today), statusesOn(row.content, today)];
  if (before.license === "VALID" && after.license !== "VALID") lost.validLicenses++;
  if (before.certificate === "VERIFIED" && after.certificate !== "VERIFIED") lost.verifiedCertificates++;
  if (liftsRevocation(row)) lost.revocations++;
}

/** Lists the kinds of which this import and earlier ones together remove more than the brake allows. */
export function findExcessiveLosses({ lost, of }: LossTotals, earlier: LossTotals): Loss[] {
  return lossKinds.flatMap((kind): Loss[] => {
    const before = earlier.lost[kind];
    const all = Math.max(of[kind], earlier.of[kind]);
    if (lost[kind] === 0 || (lost[kind] + before) * 100 <= all * maxLostPercent) return [];
    return [{ kind, lost: lost[kind], of: all, ...(before > 0 ? { earlier: before } : {}) }];
  });
}

/** Lists the kinds of which imports removed more than `notedLostPercent`. */
export function findNotableLosses({ lost, of }: LossTotals): Loss[] {
  return lossKinds
    .filter((kind) => lost[kind] > 0 && lost[kind] * 100 > of[kind] * notedLostPercent)
    .map((kind) => ({ kind, lost: lost[kind], of: of[kind] }));
}

const called: Readonly<Record<Loss["kind"], string>> = {
  validLicenses: "valid licences",
  verifiedCertificates: "verified certificates",
  revocations: "revocations",
};

export function describeLosses(losses: readonly Loss[]): string {
  return losses
    .map(({ kind, lost, of, earlier = 0 }) => {
      const before = earlier === 0 ? "" : ` (beside the ${earlier} of the last 24 hours)`;
      return `${lost} of ${of} ${called[kind]}${before}`;
    })
    .join(" and ");
}

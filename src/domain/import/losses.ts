/** Sums what one import, and all imports of the last 24 hours, remove from the register. */

import type { CalendarDate } from "../clock.ts";
import { statusesOn } from "../events.ts";
import type { ProtectedCounts } from "../teachers/store.ts";
import { liftsRevocation, type RowEffect } from "./patch.ts";

/**
 * Percentage of the valid licences, of the verified certificates or of the revocations that imports may remove within
 * {@link importLossWindowMs}. The brake stops an import that would remove more. Of fewer than fifty, one is too many.
 */
export const maxLostPercent = 2;
export const importLossWindowMs = 24 * 60 * 60_000;
/** Percentage above which `tvs doctor`, the console and the alerts report losses. */
const notedLostPercent = 1;

/** Losses of imports: for each kind, `lost` is the number removed and `of` the number before the removal. */
export type LossTotals = { readonly lost: ProtectedCounts; readonly of: ProtectedCounts };

/** An import's losses. After "allowed" (`--allow-change`) the brake counts only the losses of later imports. */
export type RecordedLosses = LossTotals | "allowed";

/** The losses of one kind: `lost` is the number that imports removed, `of` the number before the losses. */
export type LossOfKind = {
  readonly kind: keyof ProtectedCounts;
  readonly lost: number;
  readonly of: number;
  /** The number that earlier imports of the last 24 hours removed; absent if they removed none of the kind. */
  readonly earlier?: number;
};

export const lossKinds = ["validLicenses", "verifiedCertificates", "revocations"] as const;
export const zeroCounts: ProtectedCounts = { validLicenses: 0, verifiedCertificates: 0, revocations: 0 };
export const noLosses: LossTotals = { lost: zeroCounts, of: zeroCounts };

function ofEachKind(value: (kind: keyof ProtectedCounts) => number): ProtectedCounts {
  return Object.fromEntries(lossKinds.map((kind) => [kind, value(kind)])) as ProtectedCounts;
}

export function sumProtectedCounts(all: readonly ProtectedCounts[]): ProtectedCounts {
  return ofEachKind((kind) => all.reduce((sum, one) => sum + one[kind], 0));
}

/** Sums the losses since the last import with `--allow-change`. */
export function sumLosses(newestFirst: readonly RecordedLosses[]): LossTotals {
  const allowed = newestFirst.indexOf("allowed");
  const counted = (allowed === -1 ? newestFirst : newestFirst.slice(0, allowed)) as readonly LossTotals[];
  return {
    lost: sumProtectedCounts(counted.map(({ lost }) => lost)),
    // Percentages are of the largest number in the window, which is the number before the first loss.
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

/** Lists the kinds of which this import and earlier imports together remove more than `maxLostPercent`. */
export function findExcessiveLosses({ lost, of }: LossTotals, earlier: LossTotals): LossOfKind[] {
  return lossKinds.flatMap((kind): LossOfKind[] => {
    const before = earlier.lost[kind];
    const all = Math.max(of[kind], earlier.of[kind]);
    if (lost[kind] === 0 || (lost[kind] + before) * 100 <= all * maxLostPercent) return [];
    return [{ kind, lost: lost[kind], of: all, ...(before > 0 ? { earlier: before } : {}) }];
  });
}

/** Lists the kinds of which imports removed more than `notedLostPercent`. */
export function findNotableLosses({ lost, of }: LossTotals): LossOfKind[] {
  return lossKinds
    .filter((kind) => lost[kind] > 0 && lost[kind] * 100 > of[kind] * notedLostPercent)
    .map((kind) => ({ kind, lost: lost[kind], of: of[kind] }));
}

const called: Readonly<Record<LossOfKind["kind"], string>> = {
  validLicenses: "valid licences",
  verifiedCertificates: "verified certificates",
  revocations: "revocations",
};

export function describeLosses(losses: readonly LossOfKind[]): string {
  return losses
    .map(({ kind, lost, of, earlier = 0 }) => {
      const before = earlier === 0 ? "" : ` (beside the ${earlier} of the last 24 hours)`;
      return `${lost} of ${of} ${called[kind]}${before}`;
    })
    .join(" and ");
}

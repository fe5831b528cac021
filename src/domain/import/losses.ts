/** What imports take away: by one alone, and by those of a day together. */

import type { CalendarDate } from "../clock.ts";
import { statusesOn } from "../events.ts";
import type { Holdings } from "../teachers/store.ts";
import { losesRevocation, type RowEffect } from "./patch.ts";

/**
 * The brake: the share, in percent, of valid licences, verified certificates and revocations that imports may take away
 * within {@link lossWindowMs}. Below fifty of a kind a single one is more.
 */
export const maxLostPercent = 2;
export const lossWindowMs = 24 * 60 * 60_000;
/** From this share on, in percent, doctor, console and alerts say what imports have taken away. */
const notedLostPercent = 1;

/** What was taken away, and of how many. */
export type Losses = { readonly lost: Holdings; readonly of: Holdings };

/** What an import is recorded with: its losses, or that they were allowed, which begins the sum again. */
export type RecordedLosses = Losses | "allowed";

/** A kind of holdings of which too many would be lost: how many, and how many there are. */
export type Loss = {
  readonly kind: keyof Holdings;
  readonly lost: number;
  readonly of: number;
  /** What earlier imports of the last 24 hours have taken away of it; absent where they have not. */
  readonly earlier?: number;
};

export const lossKinds = ["validLicenses", "verifiedCertificates", "revocations"] as const;
export const noHoldings: Holdings = { validLicenses: 0, verifiedCertificates: 0, revocations: 0 };
export const noLosses: Losses = { lost: noHoldings, of: noHoldings };

function ofEachKind(value: (kind: keyof Holdings) => number): Holdings {
  return Object.fromEntries(lossKinds.map((kind) => [kind, value(kind)])) as Holdings;
}

export function sumHoldings(all: readonly Holdings[]): Holdings {
  return ofEachKind((kind) => all.reduce((sum, one) => sum + one[kind], 0));
}

/** The sum of the losses since they were last allowed. @param newestFirst those of the window */
export function sumLosses(newestFirst: readonly RecordedLosses[]): Losses {
  const allowed = newestFirst.indexOf("allowed");
  const counted = (allowed === -1 ? newestFirst : newestFirst.slice(0, allowed)) as readonly Losses[];
  return {
    lost: sumHoldings(counted.map(({ lost }) => lost)),
    // There were the most before the first of them.
    of: ofEachKind((kind) => Math.max(0, ...counted.map(({ of }) => of[kind]))),
  };
}

export function addLosses(
  lost: { -readonly [K in keyof Holdings]: number },
  row: Pick<RowEffect, "before" | "content">,
  today: CalendarDate,
): void {
  if (row.before === null) return;
  const [before, after] = [statusesOn(row.before, today), statusesOn(row.content, today)];
  if (before.license === "VALID" && after.license !== "VALID") lost.validLicenses++;
  if (before.certificate === "VERIFIED" && after.certificate !== "VERIFIED") lost.verifiedCertificates++;
  if (losesRevocation(row)) lost.revocations++;
}

/** The kinds of which an import takes away more than the brake lets pass, with what earlier ones took. */
export function lossesBeyond({ lost, of }: Losses, earlier: Losses): Loss[] {
  return lossKinds.flatMap((kind): Loss[] => {
    const before = earlier.lost[kind];
    const all = Math.max(of[kind], earlier.of[kind]);
    if (lost[kind] === 0 || (lost[kind] + before) * 100 <= all * maxLostPercent) return [];
    return [{ kind, lost: lost[kind], of: all, ...(before > 0 ? { earlier: before } : {}) }];
  });
}

/** The kinds of which imports took away a share that is worth a look. */
export function notedLosses({ lost, of }: Losses): Loss[] {
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

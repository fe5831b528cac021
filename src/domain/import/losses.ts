/** What imports remove from the register: one import, and all imports of 24 hours. */

import type { CalendarDate } from "../clock.ts";
import { statusesOn } from "../events.ts";
import type { Holdings } from "../teachers/store.ts";
import { losesRevocation, type RowEffect } from "./patch.ts";

/**
 * The brake: the share, in percent, of valid licences, verified certificates and revocations that imports may remove
 * within {@link lossWindowMs}. Of fewer than fifty, one is more than this share.
 */
export const maxLostPercent = 2;
export const lossWindowMs = 24 * 60 * 60_000;
/** The share, in percent, from which doctor, console and alerts report losses. */
const notedLostPercent = 1;

export type Losses = { readonly lost: Holdings; readonly of: Holdings };

/** An import's losses. "allowed" (`--allow-change`) restarts the sum of the window. */
export type RecordedLosses = Losses | "allowed";

/** A kind of holdings of which an import would remove too many. */
export type Loss = {
  readonly kind: keyof Holdings;
  readonly lost: number;
  readonly of: number;
  /** How many earlier imports of the window removed; absent for none. */
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

/** Adds the losses since they were last allowed. */
export function sumLosses(newestFirst: readonly RecordedLosses[]): Losses {
  const allowed = newestFirst.indexOf("allowed");
  const counted = (allowed === -1 ? newestFirst : newestFirst.slice(0, allowed)) as readonly Losses[];
  return {
    lost: sumHoldings(counted.map(({ lost }) => lost)),
    // The holdings were largest before the first loss.
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

/** Lists the kinds of which an import, with the earlier ones, removes more than the brake allows. */
export function lossesBeyond({ lost, of }: Losses, earlier: Losses): Loss[] {
  return lossKinds.flatMap((kind): Loss[] => {
    const before = earlier.lost[kind];
    const all = Math.max(of[kind], earlier.of[kind]);
    if (lost[kind] === 0 || (lost[kind] + before) * 100 <= all * maxLostPercent) return [];
    return [{ kind, lost: lost[kind], of: all, ...(before > 0 ? { earlier: before } : {}) }];
  });
}

/** Lists the kinds of which imports removed more than `notedLostPercent`. */
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

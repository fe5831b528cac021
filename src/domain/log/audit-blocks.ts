/** Blocks of attestations that are sound by themselves: what takes most of an audit's time, and can be done in any thread. */

import { disorderSeconds } from "./audit-checkpoints.ts";
import { createRowReader, type SignatureChecks } from "./audit-rows.ts";
import type { AuditStore } from "./audit-store.ts";
import { leafHash } from "./tree.ts";

const hashBytes = 32;

/** Attestations that follow one another, none missing and none out of time, of which each says what its signed JWS says. */
export type SoundBlock = {
  /** Their leaf hashes, one after the other: whether the log has the same is for others to say. */
  readonly leaves: Uint8Array;
  /** When the first one was issued, and the last one, in seconds since the epoch. */
  readonly issuedFrom: number;
  readonly issuedUpTo: number;
};

/** @returns null for a block that has to be looked at row by row. @param from the first id. @param to the last one */
export type ReadBlock = (from: number, to: number) => Promise<SoundBlock | null>;

export function createBlockReader(store: Pick<AuditStore, "rows">, signatures: SignatureChecks): ReadBlock {
  const { contradictions } = createRowReader();
  return async (from, to) => {
    const rows = await store.rows(from, to);
    const [first] = rows;
    if (first === undefined || rows.length !== to - from + 1) return null;
    const leaves = new Uint8Array(rows.length * hashBytes);
    let issuedUpTo = first.issuedAt;
    for (const [at, row] of rows.entries()) {
      if (row.issuedAt < issuedUpTo - disorderSeconds || contradictions(row).length > 0) return null;
      if (signatures.all && signatures.findForgery(row) !== null) return null;
      leaves.set(leafHash(row.jws), at * hashBytes);
      issuedUpTo = row.issuedAt;
    }
    return { leaves, issuedFrom: first.issuedAt, issuedUpTo };
  };
}

/**
 * Asks for blocks before they are wanted.
 * @param ranges what will be wanted, in that order; null where nothing is to be asked for
 * @param most blocks that are under way
 */
export function readAhead(
  ranges: Iterator<readonly [from: number, to: number] | null>,
  { readBlock, most }: { readBlock: ReadBlock; most: number },
): () => Promise<SoundBlock | null> {
  const underWay: Promise<SoundBlock | null>[] = [];
  return () => {
    while (underWay.length < most) {
      const { value, done } = ranges.next();
      if (done === true) break;
      const block = value === null ? Promise.resolve(null) : readBlock(...(value as [number, number]));
      // A failure is told where the block is wanted.
      block.catch(() => {});
      underWay.push(block);
    }
    return underWay.shift() ?? Promise.resolve(null);
  };
}

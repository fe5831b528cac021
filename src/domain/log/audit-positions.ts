import type { Findings } from "./audit-findings.ts";
import type { AuditStore } from "./audit-store.ts";
import { partBits, prefixOf } from "./log.ts";

const partIds = 2 ** partBits;
const entriesAtOnce = 32_768;
/** No prefix: there was no leaf, or its entry was found already. */
const none = -1;
/** Any prefix: what the leaf was is not certain. */
const uncertain = -2;

/** Compares the index, by which a leaf is found from its hash, with the leaves, one part after another. */
export type PositionAudit = {
  /** @param leafHash null when it is not certain. @param epoch in whose tree it stands */
  leaf(id: number, leafHash: Uint8Array | null, epoch: number): void;
  /** Compares the parts that are complete. @param last whether no leaf comes any more */
  compare(last?: boolean): Promise<void>;
};

/** Two megabytes for each of the one or two parts that are under way. */
type Part = { readonly prefixes: Float64Array; readonly epoch: number };

export function auditPositions(store: AuditStore, findings: Findings): PositionAudit {
  const parts = new Map<number, Part>();
  let current: { readonly part: number; readonly prefixes: Float64Array } | undefined;
  let highest = 0;

  function begin(part: number, epoch: number) {
    const prefixes = parts.get(part)?.prefixes ?? new Float64Array(partIds).fill(none);
    if (!parts.has(part)) parts.set(part, { prefixes, epoch });
    current = { part, prefixes };
    return current;
  }

  async function comparePart(part: number, { prefixes, epoch }: Part): Promise<void> {
    const wrong = (id: number, how: string) =>
      findings.add({
        what: "POSITIONS_CHANGED",
        epoch,
        id,
        says: `the index of leaf hashes ${how} attestation ${id}; proofs by hash may fail, proofs by id do not`,
      });
    for (let after = { prefix: none, id: none }; ; ) {
      const { prefixes: found, ids } = await store.positions({ part, after, limit: entriesAtOnce });
      for (let at = 0; at < ids.length; at++) {
        const id = ids[at] as number;
        const place = id - part * partIds;
        if (id > highest) continue;
        if (prefixes[place] === found[at] || prefixes[place] === uncertain) prefixes[place] = none;
        else wrong(id, "has another hash for");
      }
      if (ids.length < entriesAtOnce) break;
      after = { prefix: found.at(-1) as number, id: ids.at(-1) as number };
    }
    const missing = prefixes.findIndex((prefix) => prefix >= 0);
    if (missing >= 0) wrong(part * partIds + missing, "lacks");
  }

  return {
    leaf(id, leafHash, epoch) {
      const part = Math.floor(id / partIds);
      const { prefixes } = current?.part === part ? current : begin(part, epoch);
      prefixes[id - part * partIds] = leafHash === null ? uncertain : prefixOf(leafHash);
      highest = id;
    },
    async compare(last = false) {
      for (const [part, one] of parts) {
        if (!last && part >= (current?.part ?? 0)) continue;
        await comparePart(part, one);
        parts.delete(part);
      }
    },
  };
}

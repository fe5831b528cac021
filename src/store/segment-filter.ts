import { Buffer } from "node:buffer";
import { addTo, bitsOf as bitsOfName } from "./bloom.ts";

/** Attestations of one segment of the log, and the size of its filter: sixteen bits an attestation. */
export const segmentRows = 4096;
const filterBytes = 8192;

/** Whom or what attestations are sought by. */
export type SoughtBy =
  | { readonly teacherId: number }
  | { readonly ninIndex: Uint8Array }
  | { readonly partnerId: string };

/**
 * The Bloom filter of one segment: says surely that a teacher, a NIN or a partner does not occur in it, and mistakes one
 * in a thousand others. Filters are stored, so neither their size nor the names in them are ever changed.
 */
export function makeFilter(keys: Iterable<SoughtBy>): Uint8Array {
  const filter = new Uint8Array(filterBytes);
  for (const key of keys) addTo(filter, nameOf(key));
  return filter;
}

export function bitsOf(key: SoughtBy): number[] {
  return bitsOfName(nameOf(key), filterBytes);
}

function nameOf(key: SoughtBy): string {
  if ("teacherId" in key) return `t${key.teacherId}`;
  if ("partnerId" in key) return `p${key.partnerId}`;
  return `n${Buffer.from(key.ninIndex).toString("hex").toUpperCase()}`;
}

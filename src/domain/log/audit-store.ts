import type { AuditedRow } from "./audit-rows.ts";
import type { StoredCheckpoint } from "./log.ts";

/** How long an epoch's tree is, as three tables say it. */
export type EpochState = {
  readonly epoch: number;
  readonly size: number;
  /** Leaf hashes up to the end of the last tile. */
  readonly leaves: number;
  /** The size of the newest checkpoint; 0 without one. */
  readonly signed: number;
};

/** What an audit reads, in blocks: none of it keeps anybody from writing. */
export type AuditStore = {
  /** The oldest first. */
  states(): Promise<EpochState[]>;
  /** Of the attestations that are there; null without any. */
  ids(): Promise<{ readonly first: number; readonly last: number } | null>;
  /** The id of the attestation that comes next; null after the last one. */
  idAfter(id: number): Promise<number | null>;
  /** Both ids included; by id, without those that are missing. */
  rows(from: number, to: number): Promise<AuditedRow[]>;
  /** By position; both positions included. */
  tiles(wanted: {
    epoch: number;
    level: number;
    first: number;
    last: number;
  }): Promise<Map<number, Uint8Array>>;
  /** Of sizes above `after`, up to and with `upTo`. */
  checkpoints(wanted: {
    epoch: number;
    after: number;
    upTo: number;
    limit: number;
  }): Promise<StoredCheckpoint[]>;
  /** Of one part of the index, by prefix and id, as two lists of the same length. */
  positions(wanted: {
    part: number;
    after: { readonly prefix: number; readonly id: number };
    limit: number;
  }): Promise<{ readonly prefixes: readonly number[]; readonly ids: readonly number[] }>;
  /** The first size that was anchored though no checkpoint of it is kept. */
  anchoredWithoutCheckpoint(): Promise<{ readonly epoch: number; readonly size: number } | null>;
};

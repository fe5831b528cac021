import type { AuditedRow } from "./audit-rows.ts";
import type { StoredCheckpoint } from "./evidence.ts";

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
  /** Both ids included; by id, without those that are missing. */
  rows(from: number, to: number): Promise<AuditedRow[]>;
  /** The hashes of one tile; empty where there is none. */
  tile(epoch: number, level: number, position: number): Promise<Uint8Array>;
  /** Of sizes above `after`, up to and with `upTo`. */
  checkpoints(wanted: {
    epoch: number;
    after: number;
    upTo: number;
    limit: number;
  }): Promise<StoredCheckpoint[]>;
  /** The first size that was anchored though no checkpoint of it is kept. */
  anchoredWithoutCheckpoint(): Promise<{ readonly epoch: number; readonly size: number } | null>;
};

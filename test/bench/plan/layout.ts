import type { Costs } from "./costs.ts";

/** What runs where, and what is asked of it. */
export type Layout = {
  readonly costs: Costs;
  readonly seed: number;
  readonly teachers: number;
  readonly server: Server;
  /** Serving threads of a node, each with a core of its own. */
  readonly threads: number;
  /** The first one is the primary's own. */
  readonly regions: readonly [Region, ...Region[]];
  /** So many cores for everything there is, the load client too, instead of machines of their own. */
  readonly oneMachine?: number;
  /** The simulation ends with so many answered checks, of which the first third is not counted. */
  readonly checks: number;
};

export type Server = {
  readonly cores: number;
  /** Requests that it serves at once. */
  readonly connections: number;
  readonly memoryBytes: number;
  /** Reading a page that is not in memory, in seconds, and pages a second at most. */
  readonly pageRead: number;
  readonly pageReads: number;
  /** Bytes a second at most, to its disk and through its network. */
  readonly diskBytes: number;
  readonly networkBytes: number;
};

export type Region = {
  readonly nodes: number;
  /** To the primary and back, in seconds. */
  readonly roundTrip: number;
  readonly checksPerSecond: number;
  readonly lookupsPerSecond: number;
  /** Callers of each node who ask again as soon as they are answered. */
  readonly connections?: number;
};

/** Parts of one, by what is used. */
export type Uses = Readonly<Record<keyof typeof resources, number>>;

/** What can be full: the processors of the nodes and of the primary, and what else the primary has. */
export const resources = {
  nodes: "nodes",
  cores: "primary",
  /** What commits would take if each were full: what it has to give is then used up. */
  writer: "commits",
  disk: "disk",
  network: "network",
} as const;

export type Outcome = {
  /** Answered checks. */
  readonly perSecond: number;
  /** For which part of the time somebody commits: the more wait, the more share a commit. */
  readonly writerTaken: number;
  /** Of checks, in seconds, for each region. */
  readonly regions: readonly { readonly p50: number; readonly p99: number; readonly lookupP99: number }[];
  readonly uses: Uses;
  readonly checksInCommit: number;
  readonly requestsPerCheck: number;
};

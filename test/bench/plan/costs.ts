import committed from "./costs.json" with { type: "json" };

/** What something costs that is done for n at a time: `base` once, and `row` for each of them. */
export type Cost = { readonly base: number; readonly row: number };

/** A cost that grows with the register: at `teachers`, and `doubling` more for each row when there are twice as many. */
type GrowingCost = Cost & { readonly doubling: number };

/** What was measured once, of one machine (`costs.json`). Times are seconds of one core, sizes bytes. */
export type Costs = {
  /** Which machine, and when. */
  readonly machine: string;
  readonly date: string;
  /** How many teachers the register had for the costs that grow. */
  readonly teachers: number;
  /** One RSA-2048 signature while all cores sign. */
  readonly signature: number;
  /** A signature that another thread of the process makes: what it takes more. */
  readonly handOver: number;
  /** A check in its node, besides the signature and the requests to the server; a public look-up likewise. */
  readonly check: number;
  readonly lookup: number;
  /** A request of so many reads, or a commit of so many acts, in the node that asks. */
  readonly askRead: Cost;
  readonly askCommit: Cost;
  /** The same in the server, and for how long a commit keeps all others out. */
  readonly read: GrowingCost;
  readonly commit: Cost;
  readonly hold: GrowingCost;
  /** A node's beat: in the server, and for how long it keeps others out. */
  readonly beat: { readonly commit: number; readonly hold: number };
  /** What a commit writes. */
  readonly written: Cost;
  /** What a teacher and an attestation take in the database, indexes included. */
  readonly teacherBytes: number;
  readonly attestationBytes: number;
  /** A request in the load client of the benchmark. */
  readonly client: number;
};

/** What a real server and real nodes did on the machine of the costs, all on its cores, beside the load client. */
export type Observed = {
  readonly nodes: number;
  readonly threads: number;
  /** For each node. */
  readonly connections: number;
  readonly perSecond: number;
  readonly p50Ms: number;
};

export const measured: Costs = committed.costs;
export const observed: readonly Observed[] = committed.observed;
/** Cores of the machine of the costs. */
export const measuredCores: number = committed.cores;

/** @returns what `rows` at a time cost */
export function costOf({ base, row }: Cost, rows: number): number {
  return base + row * rows;
}

/** @returns the cost in a register of so many teachers */
export function grownTo(cost: GrowingCost, { from, to }: { from: number; to: number }): Cost {
  return { base: cost.base, row: Math.max(0, cost.row + cost.doubling * Math.log2(to / from)) };
}

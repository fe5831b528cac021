/** The faults of several nodes over one libSQL server, and how long each of them is felt. */
import type { Cluster, ClusterNode } from "../harness/cluster.ts";
import { sleep } from "../harness/eventually.ts";
import type { KeyedLoad } from "./keyed-load.ts";
import { answersAndReplays } from "./kill.ts";

export const faultKinds = ["a node killed", "the server killed", "a link cut", "a link silent"] as const;
export type FaultKind = (typeof faultKinds)[number];

/** One fault. Times in seconds. */
export type Fault = {
  readonly kind: FaultKind;
  /** From the fault to the end of the last call through the proxy that failed by it; 0 when none did. */
  readonly felt: number;
  readonly failedCalls: number;
  /** From the end of its cause, as a restart, until every node answers partners again. */
  readonly healed: number;
  /** Of a node without its server: until its health says so, and until a partner's call is refused with 503. */
  readonly unhealthyAfter: number | null;
  readonly refusedAfter: number | null;
};

export type FaultyWorld = {
  readonly cluster: Cluster;
  readonly load: KeyedLoad;
  /** Of a partner whose calls nobody counts. */
  readonly apiKey: string;
};

/** How long a node is without its server: longer than either promise takes (decision D12.3). */
const linkFaultMs = 6_000;

type Act = (world: FaultyWorld, node: ClusterNode) => Promise<Pick<Fault, "unhealthyAfter" | "refusedAfter">>;

/** Each makes its fault and ends its cause. */
const acts: Readonly<Record<FaultKind, { act: Act; end(world: FaultyWorld, node: ClusterNode): unknown }>> = {
  "a node killed": {
    act: (_, node) => node.stop("SIGKILL").then(afterwards),
    end: (_, node) => node.start(),
  },
  "the server killed": {
    act: ({ cluster }) => cluster.server.kill().then(afterwards),
    end: ({ cluster }) => cluster.server.restart(),
  },
  "a link cut": {
    act: (world, node) => withoutServer(world, node, "cut"),
    end: (_, { link }) => link.heal(),
  },
  "a link silent": {
    act: (world, node) => withoutServer(world, node, "silence"),
    end: (_, { link }) => link.heal(),
  },
};

async function afterwards() {
  await sleep(200 + Math.random() * 1_500);
  return { unhealthyAfter: null, refusedAfter: null };
}

async function withoutServer({ apiKey }: FaultyWorld, node: ClusterNode, fault: "cut" | "silence") {
  const since = performance.now();
  node.link[fault]();
  const [unhealthyAfter, refusedAfter] = await Promise.all([
    untilStatus(503, { since, ask: () => fetch(`${node.url}/v1/inter-agency/health`, patience()) }),
    untilStatus(503, { since, ask: () => askPartnerApi(node.url, apiKey) }),
    sleep(linkFaultMs),
  ]);
  return { unhealthyAfter, refusedAfter };
}

/** Makes one fault while calls flow, and waits until it is over. */
export async function makeFault(kind: FaultKind, world: FaultyWorld, node: ClusterNode): Promise<Fault> {
  const { load, cluster, apiKey } = world;
  await answersAndReplays(load);
  const first = load.failures.length;
  const since = performance.now();
  const seen = await acts[kind].act(world, node);
  const before = performance.now();
  await acts[kind].end(world, node);
  // A server is back when it says so; a node when it answers, its start included.
  const ended = kind === "the server killed" ? performance.now() : before;
  const healed = await Promise.all(
    cluster.nodes.map(({ url }) => untilStatus(200, { since: ended, ask: () => askPartnerApi(url, apiKey) })),
  );
  await answersAndReplays(load);
  const failures = load.failures.slice(first);
  const felt = failures.reduce((latest, { failedAt }) => Math.max(latest, (failedAt - since) / 1_000), 0);
  return { kind, felt, failedCalls: failures.length, healed: Math.max(...healed), ...seen };
}

/** Seconds within which a node without its server says so, and refuses partners (decision D12.3). */
const promised = { unhealthyAfter: 2, refusedAfter: 5 };

export function isNoticedTooLate({ unhealthyAfter, refusedAfter }: Fault): boolean {
  return (unhealthyAfter ?? 0) > promised.unhealthyAfter || (refusedAfter ?? 0) > promised.refusedAfter;
}

const patience = () => ({ signal: AbortSignal.timeout(10_000) });

/** A call whose envelope nobody looks at. */
function askPartnerApi(url: string, apiKey: string): Promise<Response> {
  return fetch(`${url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ identifier: { tId: 1 }, purpose: "SCHOOL_EMPLOYMENT_VERIFICATION" }),
    ...patience(),
  });
}

/** Longer than anything may take to heal. */
const neverMs = 60_000;

/** @returns the seconds since a time (`performance.now()`) until a request is answered with this status */
async function untilStatus(
  wanted: number,
  { since, ask }: { since: number; ask: () => Promise<Response> },
): Promise<number> {
  let status = 0;
  while (performance.now() < since + neverMs) {
    status = await ask().then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status === wanted) return (performance.now() - since) / 1_000;
    await sleep(20);
  }
  throw new Error(`waited ${neverMs} ms in vain for ${wanted}; the last answer was ${status}`);
}

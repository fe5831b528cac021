/** This process among the nodes over its database: when it may join them, and what follows from each of its beats. */

import { hostname } from "node:os";
import { v7 as uuidv7 } from "uuid";
import packageJson from "../../package.json" with { type: "json" };
import type { Configuration } from "../../src/domain/configuration.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { isWildcard } from "../../src/domain/networks.ts";
import type { NodeMemory } from "../../src/domain/node-memory.ts";
import {
  type Beat,
  clockBoundsMs,
  describeClock,
  isClockWrong,
  joinNodes,
  type Node,
} from "../../src/domain/nodes.ts";
import { repeat } from "../../src/domain/serial.ts";
import { storedSettings } from "../../src/domain/settings.ts";
import { log } from "../../src/logger.ts";
import type { NodeFigures } from "../../src/metrics/sources.ts";
import type { Operator } from "../open.ts";
import { createHousekeeping } from "./housekeeping.ts";

/** How often is looked whether it is time for a beat. */
const tickMs = 200;

export type RunningNode = {
  readonly nodeId: string;
  figures(): NodeFigures;
  /** By how many milliseconds this node's clock is ahead of the database's. */
  clockAheadMs(): number;
  /** Ends the housekeeping, and takes the node out. */
  leave(): Promise<void>;
};

/** @returns the id of a new node, which sorts by when it was started */
export function newNodeId(): string {
  return uuidv7();
}

/**
 * Makes this process one that may serve the database: the only one of a file, one of several on a server.
 * @throws TvsError DATABASE_IN_USE when another process serves the file, REFUSED when other nodes serve under another
 *   issuer or time zone
 */
export async function admitNode(
  { driver, stores, settingsInForce }: Operator,
  nodeId: string,
): Promise<void> {
  if (await driver.lockService()) return stores.nodes.removeOthers(nodeId);
  const other = (await stores.nodes.list()).find(({ state }) => state === "live");
  if (other === undefined) return;
  const stored = await stores.settings.read();
  for (const [name, option, own] of [
    ["issuer", "--issuer", settingsInForce.issuer],
    ["time_zone", "--time-zone", settingsInForce.timeZone],
  ] as const) {
    const theirs = stored.get(name);
    if (theirs === undefined || theirs === own) continue;
    const message =
      `the node at ${other.url} serves this register with ${option} ${theirs}, and this one would with ${own}; ` +
      `start it with ${option} ${theirs}, or stop all nodes before it is changed`;
    throw new TvsError("REFUSED", message);
  }
  if (stored.get("policy") !== storedSettings(settingsInForce).policy)
    log.warn("this node changes the policy by which all nodes answer", {
      policy: settingsInForce.policy.version,
    });
}

type RunOptions = Pick<Node, "nodeId" | "url" | "consolePort"> & {
  readonly configuration: Configuration;
  readonly memory: NodeMemory;
  /** Told when the housekeeping cannot build the evidence log or sign for it. */
  readonly onLogError: (error: unknown) => void;
};

/** Joins the nodes and goes on saying that this one lives; the housekeeping follows the lease. */
export async function runNode(
  operator: Operator,
  { nodeId, url, consolePort, configuration, memory, onLogError }: RunOptions,
): Promise<RunningNode> {
  const { driver, stores, clock } = operator;
  const releaseGone = () => stores.outbox.releaseGone(clock.now());
  const housekeeping = createHousekeeping(operator, {
    nodeId,
    configuration,
    onBegin: releaseGone,
    onLogError,
  });
  const logChanges = changeLogger(nodeId);
  let fence: number | null = null;

  function onBeat(beat: Beat, aheadMs: number): void {
    const liveNodes = beat.nodes.filter(({ state }) => state === "live").length;
    const isWrong = isClockWrong(aheadMs);
    memory.found({ liveNodes, isClockWrong: isWrong });
    const hasLost = logChanges(beat, aheadMs);
    // The next beat gives the lease back.
    fence = isWrong ? null : beat.fence;
    if (hasLost && fence !== null) void releaseGone().catch(() => {});
  }

  function loadedPendingKid(): string | null {
    const { revision, keys } = configuration.current();
    return memory.haveAllLoaded(revision) ? keys.pending.kid : null;
  }

  const membership = await joinNodes({
    store: stores.nodes,
    clock,
    self: { nodeId, host: hostname(), url: reachable(url), version: packageJson.version, consolePort },
    isAlone: driver.kind === "embedded",
    loadedPendingKid,
    onBeat,
  });
  let failure = "";
  const stopBeating = repeat(
    () =>
      membership.tick().then(() => {
        failure = "";
        housekeeping.tend(fence);
      }),
    {
      everyMs: tickMs,
      clock,
      onError(error) {
        if (failure === "") log.error("this node cannot say that it lives", { detail: String(error) });
        failure = String(error);
      },
    },
  );
  return {
    nodeId,
    figures: () => ({
      nodes: membership.nodes(),
      clockAheadMs: membership.clockAheadMs(),
      keepsHouse: fence !== null,
    }),
    clockAheadMs: membership.clockAheadMs,
    async leave() {
      await stopBeating();
      await housekeeping.stop();
      // Where the database is away, the others find out by themselves.
      await membership.leave().catch(() => {});
    },
  };
}

/** An address that listens everywhere is no place to go to; the machine's name is. */
function reachable(url: string): string {
  if (!URL.canParse(url) || !isWildcard(url)) return url;
  const { protocol, port } = new URL(url);
  return `${protocol}//${hostname()}:${port}`;
}

/** @returns logs what has changed since the last beat; whether a node is gone since */
function changeLogger(nodeId: string): (beat: Beat, aheadMs: number) => boolean {
  let known: ReadonlyMap<string, Node> | undefined;
  let clockWas: "right" | "warned" | "refused" = "right";

  return ({ nodes }, aheadMs) => {
    const live = new Map(nodes.filter(({ state }) => state === "live").map((node) => [node.nodeId, node]));
    const joined = [...live.values()].filter((one) => one.nodeId !== nodeId && !known?.has(one.nodeId));
    const ended = [...(known?.values() ?? [])].filter((one) => !live.has(one.nodeId));
    const gone = ended.filter((one) => nodes.some(({ nodeId: id }) => id === one.nodeId));
    known = live;
    for (const { nodeId: id, url, version } of joined)
      log.info("another node serves", { node: id, url, version });
    for (const one of ended) {
      const { nodeId: id, url } = one;
      if (gone.includes(one)) log.warn("a node is gone", { node: id, url });
      else log.info("a node has ended", { node: id, url });
    }
    const size = Math.abs(aheadMs);
    const clock = isClockWrong(aheadMs) ? "refused" : size > clockBoundsMs.warned ? "warned" : "right";
    if (clock !== clockWas) logClock(clock, aheadMs);
    clockWas = clock;
    return gone.length > 0;
  };
}

function logClock(clock: "right" | "warned" | "refused", aheadMs: number): void {
  const detail = `this machine's clock is ${describeClock(aheadMs)} the database's`;
  if (clock === "right") log.info("the clock is right again", {});
  else if (clock === "warned") log.warn("the clock is wrong; set it before partners are refused", { detail });
  else log.error("the clock is so wrong that partners are refused; set it", { detail });
}

import words from "../../data/commands.json" with { type: "json" };
import { isoTime } from "../../src/domain/clock.ts";
import type { Node } from "../../src/domain/nodes.ts";
import { group } from "../command.ts";
import { operatorCommand } from "../operator-command.ts";
import { type Columns, listing, print } from "../terminal/output.ts";

const listCommand = operatorCommand({
  ...words["nodes list"],
  async act({ stores }, args) {
    const nodes = await stores.nodes.list();
    print(args, nodes.map(describeNode), () => listing(nodes, nodeColumns));
  },
});

/** A node as `--json` shows it; times in ISO 8601. */
export function describeNode({ nodeId, host, url, version, startedAt, seenAt, state }: Node) {
  return {
    nodeId,
    host,
    url,
    version,
    startedAt: isoTime(startedAt),
    seenAt: isoTime(seenAt),
    state,
  };
}

const nodeColumns: Columns<Node> = {
  URL: "url",
  HOST: "host",
  VERSION: "version",
  STARTED: ({ startedAt }) => isoTime(startedAt),
  SEEN: ({ seenAt }) => isoTime(seenAt),
  STATE: "state",
  CLOCK: clockText,
  DUTY: ({ keepsHouse }) => (keepsHouse ? "keeps house" : null),
};

function clockText({ clockAheadMs }: Node): string {
  const seconds = Math.round(Math.abs(clockAheadMs) / 1_000);
  return seconds === 0 ? "right" : `${seconds} s ${clockAheadMs < 0 ? "behind" : "ahead"}`;
}

export const nodesCommand = group("See which machines serve this register", {
  list: async () => listCommand,
});

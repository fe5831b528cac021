import { isoTime } from "../../src/domain/clock.ts";
import type { Node } from "../../src/domain/nodes.ts";
import { command, configOf, group } from "../command.ts";
import { withOperator } from "../open.ts";
import { print, table } from "../terminal/output.ts";

const listCommand = command({
  description:
    "Show every tvs serve over this register: live, or gone because it was not seen for 10 seconds. One that ended " +
    "well is not listed; one that did not is for a day",
  example: "tvs nodes list\n  tvs nodes list --json | jq -r '.[] | select(.state == \"gone\").url'",
  async run({ args }) {
    await withOperator(configOf(args), async ({ stores }) => {
      const nodes = await stores.nodes.list();
      print(args, nodes.map(describeNode), () => nodeTable(nodes));
    });
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

function nodeTable(nodes: readonly Node[]): string {
  const rows = nodes.map((node) => {
    const { url, host, version, startedAt, seenAt, state } = describeNode(node);
    const keeper = node.keepsHouse ? "keeps house" : null;
    return [url, host, version, startedAt, seenAt, state, clockText(node), keeper];
  });
  return table(["URL", "HOST", "VERSION", "STARTED", "SEEN", "STATE", "CLOCK", "DUTY"], rows);
}

function clockText({ clockAheadMs }: Node): string {
  const seconds = Math.round(Math.abs(clockAheadMs) / 1_000);
  return seconds === 0 ? "right" : `${seconds} s ${clockAheadMs < 0 ? "behind" : "ahead"}`;
}

export const nodesCommand = group("See which machines serve this register", {
  list: async () => listCommand,
});

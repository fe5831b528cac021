/** The suites of the tests: which files belong to which, and why. `run.ts` runs them. */

import { readdirSync } from "node:fs";

/** Whatever is tested, by its path below this folder and without `.test.ts`. */
const all = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts"))
  .map((path) => path.replaceAll("\\", "/").replace(/\.test\.ts$/, ""))
  .sort();

/** The files of folders (with a `/` at the end) and single ones. @throws Error for a name that nothing has */
function filesOf(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const found = all.filter((file) => file === name || (name.endsWith("/") && file.startsWith(name)));
    if (found.length === 0) throw new Error(`test/suites.ts: there is no test ${name}`);
    return found;
  });
}

const without = (files: readonly string[], others: readonly string[]) =>
  files.filter((file) => !others.includes(file));

/** They need a browser, which a fresh machine with Node and npm does not have. */
const pages = filesOf(["pages/"]);

/** It starts several nodes over a libSQL server itself, so once is enough: beside the suite with three nodes. */
const ofNodes = filesOf(["blackbox/nodes"]);

/**
 * What kills, cuts off and holds up whole processes, and waits for them, what another language compiles first, and what
 * starts a process for each line of the manual or the README: apart, because `npm test` is to be quick.
 */
const faults = without(
  filesOf([
    "blackbox/log-rollback",
    "blackbox/manual",
    "blackbox/operators-day",
    "ci/package",
    "cli/sandbox/trigger",
    "cli/serve/drain-wait",
    "cli/serve/nodes",
    "cli/serve/serving-threads",
    "cli/terminal/completion",
    "data/examples/",
    "data/proxies",
    "domain/evidence/sumdb",
    "faults/",
    "histories/four-threads",
    "histories/node-services",
    "histories/one-thread",
    "histories/server-guards",
    "store/move/",
    "store/server/remote",
  ]),
  ofNodes,
);

const blackBox = without(filesOf(["blackbox/"]), ofNodes);
const ofBlackBox = (names: readonly string[]) => filesOf(names.map((name) => `blackbox/${name}`));

/** The black-box files in which an envelope's signature matters. */
const signing = ofBlackBox(["eligibility", "keys"]);

/** Those in which it matters how many threads answer: what one has changed, counted or begun, another must know. */
const serving = [
  ...signing,
  ...ofBlackBox(["calls", "client-cert-header", "hostile-http", "idempotency"]),
  ...ofBlackBox(["import", "partner-auth", "public-limit", "quota", "self-service", "serve"]),
];

/** What is left out where the service is not one process over a file, and why. */
const notOverServer = {
  help: "opens no database",
  "log-rollback": "an old copy of a file, and what restore makes of a backup",
  "operators-day": "the README backs up a file, and restores it",
  "move-in": "the manual moves a file and its master key",
  calls: "each node keeps an access log of its own, in its own data folder",
  "public-limit": "exact in one node; of several, each has its share",
  sandbox: "a sandbox is one process, whose address is its issuer",
  "status-lists": "what restore makes of a backup of a file",
  serve: "one process: its ports, its output and its end",
  threads: "one process, its console and its access log",
  unread: "what one listener keeps in memory; before a proxy, what the proxy keeps",
};
const notBehindProxy = {
  "client-cert-header": "whom a listener believes; the proxy lets no caller say it",
  "empty-register": "the proxy answers in the place of nodes whose health is 503",
  "hostile-http": "what reaches a listener is what the proxy has made of it",
  manual: "commands, which over three nodes say the same; few of its lines ask a service",
};

export type Run = {
  readonly files: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files that share a browser, or measure, come one by one. */
  readonly oneByOne?: boolean;
};

/** The black-box suite over a libSQL server: three processes at once have work for more processors than there are. */
function overServer(TVS_CLUSTER: string, leftOut: object, besides: readonly string[] = []): Run {
  const files = [...without(blackBox, ofBlackBox(Object.keys(leftOut))), ...besides];
  return { files, env: { TVS_CLUSTER, TVS_THREADS: process.env.TVS_THREADS ?? "1" } };
}

const clusters: Readonly<Record<string, Run>> = {
  3: overServer("3", notOverServer, ofNodes),
  proxy: overServer("proxy", { ...notOverServer, ...notBehindProxy }),
};

/** The runs of `npm run nodes`: the one that TVS_CLUSTER names, or all. @throws Error for a name that is none */
function clusterRuns(one: string | undefined): Run[] {
  if (!one) return Object.values(clusters);
  const run = Object.hasOwn(clusters, one) ? clusters[one] : undefined;
  if (run === undefined)
    throw new Error(`TVS_CLUSTER may be ${Object.keys(clusters).join(", ")}, and is ${one}`);
  return [run];
}

/** The runs of each suite, by the name that npm knows it by. */
export const suites: Readonly<Record<string, () => Run[]>> = {
  test: () => [{ files: without(all, [...pages, ...ofNodes, ...faults]) }],
  faults: () => [{ files: faults }],
  pages: () => [{ files: pages, oneByOne: true }],
  blackbox: () => [{ files: blackBox }],
  nodes: () => clusterRuns(process.env.TVS_CLUSTER),
  signing: () => [{ files: signing }],
  serving: () => [{ files: serving }],
};

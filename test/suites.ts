/** The suites of the tests: which files belong to which, and why. `run.ts` runs them. */

import { readdirSync } from "node:fs";

/** All test files, by their paths below this folder without `.test.ts`. */
const all = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts"))
  .map((path) => path.replaceAll("\\", "/").replace(/\.test\.ts$/, ""))
  .sort();

/** Finds the test files of folders (with a `/` at the end), and single ones. @throws Error if a name has none */
function filesOf(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const found = all.filter((file) => file === name || (name.endsWith("/") && file.startsWith(name)));
    if (found.length === 0) throw new Error(`test/suites.ts: there is no test ${name}`);
    return found;
  });
}

const without = (files: readonly string[], others: readonly string[]) =>
  files.filter((file) => !others.includes(file));

/** Tests that need a browser, which a fresh machine with Node and npm does not have. */
const pages = filesOf(["pages/"]);

/**
 * Slow tests, apart so that `npm test` is quick. They kill, cut off or pause processes, compile another language, or
 * start a process for each line of the manual or the README.
 */
const faults = filesOf([
  "blackbox/first-day",
  "blackbox/log-rollback",
  "blackbox/manual",
  "blackbox/nodes",
  "ci/package",
  "cli/sandbox/trigger",
  "cli/terminal/completion",
  "data/examples/",
  "data/proxies",
  "domain/evidence/sumdb",
  "faults/",
  "histories/node-services",
  "histories/one-process",
  "store/server/remote",
]);

const blackBox = filesOf(["blackbox/"]);
const ofBlackBox = (names: readonly string[]) => filesOf(names.map((name) => `blackbox/${name}`));

/** The black-box files that test signatures. */
const signing = ofBlackBox(["eligibility", "keys"]);

/** The black-box files that ask a service: they run on Deno, too. */
const serving = [
  ...signing,
  ...ofBlackBox(["hostile-http", "idempotency", "partner-auth", "quota", "serve"]),
];

type Suite = {
  readonly files: readonly string[];
  /** Whether the files run one after the other, because they share a browser. */
  readonly oneByOne?: boolean;
};

/** The suites by the names that npm has for them. */
export const suites: Readonly<Record<string, Suite>> = {
  test: { files: without(all, [...pages, ...faults]) },
  faults: { files: faults },
  pages: { files: pages, oneByOne: true },
  blackbox: { files: blackBox },
  signing: { files: signing },
  serving: { files: serving },
};

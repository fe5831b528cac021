// Runs the project's tools on a machine that has only Node and npm: installs what the lock file names when that
// has not been done, finds Bun in the platform package npm brought along, and hands over to it.
// Plain Node 20 with no dependency, because it runs before there are any.

import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const PROJECT = dirname(dirname(fileURLToPath(import.meta.url)));
const CACHE = join(PROJECT, ".cache");
const LOCK = join(CACHE, "install.lock");
const LOCK_WAIT_MS = 600_000;
const LOCK_POLL_MS = 200;
const PROGRESS_MS = 5_000;
/** Of so many tests, the latest that ended, the files are named; and so many are named at the end, the slowest. */
const LATEST = 20;
const SLOWEST = 10;

/** A test that waits on a busy machine is slow, not wrong; Bun's own limit is 5 s. */
const BUN_TEST = ["test", "--only-failures", "--timeout=60000", "--preload=./test/harness/progress.ts"];
/** Two processes: most tests wait for a command that they have started, and one core would mostly be idle. */
const BY_TWO = ["--parallel=2", "--no-isolate"];
/** The tests of the pages need a browser, which a fresh machine with Node and npm does not have. */
const NO_BROWSER = "--path-ignore-patterns=**/test/pages/**";

/**
 * What starts a process for each line of the manual or the README, or services again and again: with
 * `npm run blackbox`, on the executable.
 */
const NO_MANUAL = "--path-ignore-patterns=**/blackbox/{manual,log-rollback,operators-day}.test.ts";
/**
 * What kills, cuts off and holds up whole processes, and waits for them, and what another language compiles first: apart,
 * because `npm test` is to be quick.
 */
const FAULTS = [
  "cli/build/package",
  "cli/serve/drain-wait",
  "cli/sandbox/listen",
  "cli/serve/nodes",
  "cli/serve/serving-threads",
  "cli/terminal/completion",
  "data/examples/ask",
  "data/examples/receive",
  "data/examples/verify",
  "data/proxies",
  "domain/evidence/sumdb",
  "store/server/remote",
];
const FAULT_FOLDERS = ["faults", "store/move"];
const NO_FAULTS = `--path-ignore-patterns=**/test/{${[...FAULTS.map((file) => `${file}.test.ts`), ...FAULT_FOLDERS.map((folder) => `${folder}/**`)].join(",")}}`;

/** The black-box files in which an envelope's signature matters. */
const SIGNING = ["eligibility", "batch", "rotation"];

/** Those in which it matters how many threads answer: what one has changed, counted or begun, another must know. */
const SERVING = [
  ...SIGNING,
  ...[
    "calls",
    "client-certificates",
    "client-cert-header",
    "hostile-http",
    "idempotency",
    "import",
    "keys",
    "partner-auth",
  ],
  ...["public-limit", "quota", "serve"],
];

/** What is left out where the service is not one process over a file, and why. */
const LEFT_OUT = {
  nodes: {
    "data-folder": "a folder and the file in it",
    help: "opens no database",
    "log-rollback": "an old copy of a file, and what restore makes of a backup",
    "operators-day": "the README backs up a file, and restores it",
    calls: "each node keeps an access log of its own, in its own data folder",
    cli: "starts no service",
    "master-key": "starts no service",
    "public-limit": "exact in one node; of several, each has its share",
    sandbox: "a sandbox is one process, whose address is its issuer",
    serve: "one process: its ports, its output and its end",
    threads: "one process, its console and its access log",
    unread: "what one listener keeps in memory; before a proxy, what the proxy keeps",
  },
  proxy: {
    "client-cert-header": "whom a listener believes; the proxy lets no caller say it",
    "hostile-http": "what reaches a listener is what the proxy has made of it",
  },
};
/** What TVS_CLUSTER may say, and what each leaves out. */
const CLUSTERS = { 3: ["nodes"], proxy: ["nodes", "proxy"] };
/** They start several nodes themselves, so once is enough: beside the suite with three nodes. */
const OF_NODES = ["blackbox/nodes.test.ts", "faults/nodes.test.ts"];
/** They need a libSQL server, and wait for nodes and servers that are killed. */
const NO_NODES = "--path-ignore-patterns=**/{blackbox,faults}/nodes.test.ts";

/** Makes what browsers and partners get as one file each, which nothing but Bun can make, and git does not hold. */
const BUNDLER = "cli/build/bundles.ts";
const BUNDLES = [
  "src/site/verify-envelope/app.bundle.js",
  "src/site/verify-envelope/scanner.bundle.js",
  "src/api/verify.bundle.js",
  "src/api/verify.types.txt",
];
/** The folders that they are made of. */
const BUNDLED_FROM = ["src/partner", "src/certificate", "src/site/texts", "src/site/verify-envelope"];

/** @param {string[]} names */
const blackBox = (names) => names.map((name) => `./test/blackbox/${name}.test.ts`);

/** Each command's steps, all of them run, the last with what else stood on the command line. */
const COMMANDS = {
  dev: [
    {
      bun: ["--watch", "cli/main.ts", "serve", "--sandbox"],
      beside: ["--no-orphans", BUNDLER, ...BUNDLED_FROM],
    },
  ],
  watch: [{ bun: ["--watch", "test", "--timeout=60000"] }],
  debug: [{ bun: ["--inspect-brk", "test", "--timeout=0"] }],
  start: [{ bun: ["cli/main.ts", "serve", "--sandbox"] }],
  tvs: [{ bun: [join(PROJECT, "cli/main.ts")], isUsers: true }],
  test: [{ bun: [...BUN_TEST, ...BY_TWO, NO_BROWSER, NO_MANUAL, NO_NODES, NO_FAULTS] }],
  faults: [
    {
      bun: [
        ...BUN_TEST,
        ...BY_TWO,
        NO_NODES,
        ...FAULTS.map((file) => `./test/${file}.test.ts`),
        ...FAULT_FOLDERS.map((folder) => `./test/${folder}`),
      ],
    },
  ],
  pages: [{ bun: [...BUN_TEST, "./test/pages"] }],
  blackbox: [{ bun: [...BUN_TEST, ...BY_TWO, NO_NODES, "./test/blackbox"] }],
  get nodes() {
    return ofClusters();
  },
  signing: [{ bun: [...BUN_TEST, ...BY_TWO, ...blackBox(SIGNING)] }],
  serving: [{ bun: [...BUN_TEST, ...BY_TWO, ...blackBox(SERVING)] }],
  bench: [{ bun: ["test/bench/main.ts"] }],
  bundle: [{ bun: [BUNDLER] }],
  package: [{ bun: ["cli/build/package.ts"] }],
  build: [{ bun: ["cli/build/build.ts"] }],
  release: [{ bun: ["cli/build/release.ts"] }],
  check: [
    { node: ["node_modules/typescript/bin/tsc", "-p", "."] },
    { node: biome("check", "--error-on-warnings") },
  ],
  format: [{ node: biome("check", "--write") }],
};

/** The black-box suite in each way of serving that TVS_CLUSTER names, in all of them when it names none. */
function ofClusters() {
  const one = process.env.TVS_CLUSTER;
  if (one && !Object.hasOwn(CLUSTERS, one)) {
    throw new LaunchError(`TVS_CLUSTER may be ${Object.keys(CLUSTERS).join(", ")}, and is ${one}`);
  }
  return Object.entries(CLUSTERS)
    .filter(([name]) => !one || name === one)
    .map(([name, leavesOut]) => {
      const left = leavesOut.flatMap((group) => Object.keys(LEFT_OUT[group]));
      const files = readdirSync(join(PROJECT, "test/blackbox"))
        .filter((file) => file.endsWith(".test.ts"))
        .map((file) => file.slice(0, -".test.ts".length))
        .filter((file) => !left.includes(file) && !OF_NODES.includes(`blackbox/${file}.test.ts`));
      const once = name === "3" ? OF_NODES.map((file) => `./test/${file}`) : [];
      // Three processes at once have work for more processors than there are.
      const TVS_THREADS = process.env.TVS_THREADS ?? "1";
      return {
        bun: [...BUN_TEST, ...BY_TWO, ...blackBox(files), ...once],
        env: { TVS_CLUSTER: name, TVS_THREADS },
      };
    });
}

/** A problem to tell in one line, without a stack. */
class LaunchError extends Error {}

function biome(...args) {
  return ["node_modules/@biomejs/biome/bin/biome", ...args];
}

function readJson(...path) {
  return JSON.parse(readFileSync(join(PROJECT, ...path), "utf8"));
}

/**
 * Whether node_modules holds what the lock file names. npm writes its own account of the tree as the last act of
 * an install, so an interrupted one counts as none; dates would not tell, since a copy or a checkout changes them.
 */
function isInstalled() {
  if (!existsSync(join(PROJECT, "node_modules/.package-lock.json"))) return false;
  const present = readJson("node_modules/.package-lock.json").packages;
  return Object.entries(readJson("package-lock.json").packages).every(([path, wanted]) => {
    if (path === "") return true;
    const found = present[path];
    // Packages for other platforms are optional and rightly absent.
    return found ? found.version === wanted.version && found.integrity === wanted.integrity : wanted.optional;
  });
}

/** The package that holds Bun for this machine. */
function bunPackage() {
  const cpu = process.arch === "arm64" ? "aarch64" : process.arch;
  return `@oven/bun-${process.platform}-${cpu}${isMusl() ? "-musl" : ""}`;
}

function isMusl() {
  if (process.platform !== "linux") return false;
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

/**
 * The environment for an npm started inside an npm: the outer one exports its whole configuration, and `omit`,
 * `global` or `dry-run` from there would spoil the install. How to reach the registry is kept.
 */
function innerNpmEnv() {
  const network =
    /^npm_config_(registry|cache|userconfig|globalconfig|(https?_)?proxy|noproxy|ca|cafile|strict_ssl|fetch_.*|(prefer_)?offline|.*\/\/.*|@.*)$/i;
  const kept = ([name]) => !/^npm_/i.test(name) || network.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(kept));
}

/** Runs npm, which is silent but for the time it takes, unless it fails: then with all it said. */
async function install() {
  console.error("Installing dependencies, this once; it may take a minute or two…");
  const startedAt = performance.now();
  const seconds = () => `${Math.round((performance.now() - startedAt) / 1_000)} s`;
  const timer = setInterval(() => console.error(`${seconds()}: npm unpacks`), PROGRESS_MS);
  const cli = process.env.npm_execpath ?? "";
  const [command, ...first] = basename(cli) === "npm-cli.js" ? [process.execPath, cli] : ["npm"];
  const flags = ["--ignore-scripts", "--include=dev", "--include=optional"];
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const options = { cwd: PROJECT, env: innerNpmEnv(), stdio: ["ignore", "pipe", "pipe"] };
  const child = spawn(command, [...first, "ci", ...flags, ...quiet], options);
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => said.push(chunk));
  const code = await new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new LaunchError(`npm cannot be started (${error.code}); install Node with npm`)),
    );
    child.once("close", resolve);
  }).finally(() => clearInterval(timer));
  if (code !== 0) {
    process.stderr.write(Buffer.concat(said));
    throw new LaunchError("npm ci failed; it needs the registry, see above");
  }
  console.error(`Installed in ${seconds()}.`);
}

/** Lets one install run at a time; the lock is a link to its owner's process id, so that a dead owner shows. */
async function withLock(work) {
  mkdirSync(CACHE, { recursive: true });
  const endMs = Date.now() + LOCK_WAIT_MS;
  while (!tryLock()) {
    if (Date.now() > endMs)
      throw new LaunchError(`another install has not ended; if none runs, delete ${LOCK}`);
    await sleep(LOCK_POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(LOCK, { force: true });
  }
}

function tryLock() {
  try {
    symlinkSync(String(process.pid), LOCK);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  try {
    process.kill(Number(readlinkSync(LOCK)), 0);
  } catch (error) {
    // ESRCH: the owner died without tidying up. ENOENT: it has just finished. Either way the next try decides.
    if (error.code === "ESRCH") rmSync(LOCK, { force: true });
  }
  return false;
}

/** Installs what is missing and returns the path of Bun. */
async function prepare() {
  const find = () => {
    const path = join(PROJECT, "node_modules", bunPackage(), "bin/bun");
    return isInstalled() && existsSync(path) ? path : undefined;
  };
  return (
    find() ??
    withLock(async () => {
      if (!find()) await install();
      const bun = find();
      if (!bun) throw new LaunchError(`npm has no Bun for ${process.platform} on ${process.arch}`);
      return bun;
    })
  );
}

/** Whether no bundle is missing, and no file that it is made of is newer. */
function isBundled() {
  const bundles = BUNDLES.map((file) => join(PROJECT, file));
  if (!bundles.every((file) => existsSync(file))) return false;
  const sources = [...BUNDLED_FROM, "cli/build"].flatMap((folder) =>
    readdirSync(join(PROJECT, folder)).map((file) => join(PROJECT, folder, file)),
  );
  const date = (path) => statSync(path).mtimeMs;
  const newest = [...sources, join(PROJECT, "package.json")].filter((path) => !bundles.includes(path));
  return Math.min(...bundles.map(date)) >= Math.max(...newest.map(date));
}

/**
 * How a user's own command is run: files are named from where the user stands, which npm tells, and the register is the
 * one that `npm start` uses.
 */
function asUser() {
  const cwd = process.env.INIT_CWD ?? process.cwd();
  const data = process.env.TVS_DATA ? {} : { TVS_DATA: join(PROJECT, "data") };
  return { cwd, env: data };
}

/**
 * Runs one program on this terminal until it ends, passing signals on: a supervisor signals only this process.
 * Ctrl-C is the exception, since the terminal sends it to the child as well.
 *
 * @returns {Promise<{code: number | null, signal: string | null}>} how it ended
 */
function run(command, args, { cwd = PROJECT, env = {} } = {}) {
  const child = spawn(command, args, { cwd, stdio: "inherit", env: { ...process.env, ...env } });
  const forward = (signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new LaunchError(`${command} cannot be started: ${error.code}`)));
    child.once("exit", (code, signal) => {
      for (const name of signals) process.off(name, forward);
      resolve({ code, signal });
    });
  });
}

/**
 * Says every few seconds how far the tests are: `--only-failures` prints nothing while all goes well, and minutes of
 * silence look like a hang. The tests' processes write the file of each into one (test/harness/progress.ts).
 */
async function countAloud(work, args) {
  const folder = mkdtempSync(join(tmpdir(), "tvs-progress-"));
  const file = join(folder, "done");
  const told = args.find((arg) => arg.startsWith("--reporter-outfile="))?.replace("--reporter-outfile=", "");
  const report = told ?? join(folder, "report.xml");
  if (!told) args.push("--reporter=junit", `--reporter-outfile=${report}`);
  writeFileSync(file, "");
  process.env.TVS_TESTS_DONE = file;
  const files = testFiles(args);
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const done = readFileSync(file, "utf8").split("\n").slice(0, -1);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    console.error(`${seconds} s: ${howFar(done, files)}`);
  }, PROGRESS_MS);
  try {
    const ended = await work();
    if (files > 1 && existsSync(report)) console.error(slowest(readFileSync(report, "utf8")));
    return ended;
  } finally {
    clearInterval(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The tests that took longest, by their files: where the next seconds are to be had. */
function slowest(report) {
  const tests = [...report.matchAll(/<testcase name="([^"]*)".*? time="([^"]*)".*? file="([^"]*)"/g)]
    .map(([, name, time, file]) => ({ name, seconds: Number(time), file }))
    .filter(({ seconds }) => seconds >= 0.1)
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ name, seconds, file }) => `  ${seconds.toFixed(1)} s ${file}: ${name}`);
  return ["the slowest tests:", ...tests].join("\n");
}

/** @param {string[]} done the file of each test that is done, in that order */
function howFar(done, files) {
  const begun = new Set(done).size;
  const latest = [...new Set(done.slice(-LATEST).reverse())].slice(0, 2);
  const names = latest.map((path) => relative(join(PROJECT, "test"), path));
  return [`${done.length} tests done, ${begun} of ${files} files begun`, ...names].join("; ");
}

/** How many files `bun test` takes with these arguments, options and all: as it does, by parts of their paths. */
function testFiles(args) {
  const paths = args.slice(1).filter((arg) => !arg.startsWith("-"));
  const isMeant = (file) => paths.length === 0 || paths.some((path) => `./test/${file}`.includes(path));
  const isLeftOut = (file) =>
    (args.includes(NO_BROWSER) && file.startsWith("pages/")) ||
    (args.includes(NO_NODES) && OF_NODES.includes(file));
  return readdirSync(join(PROJECT, "test"), { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".test.ts") && isMeant(file) && !isLeftOut(file)).length;
}

async function main(name, args) {
  const steps = Object.hasOwn(COMMANDS, name ?? "") ? COMMANDS[name] : undefined;
  if (!steps) {
    console.error(`usage: node cli/launch.mjs ${Object.keys(COMMANDS).join("|")} [arguments]`);
    return 2;
  }
  const bun = await prepare();
  if (name !== "bundle" && !isBundled()) {
    const { code } = await run(bun, [BUNDLER]);
    if (code !== 0) return 1;
  }
  let worst = 0;
  for (const step of steps) {
    const last = step === steps.at(-1) ? args : [];
    const all = [...(step.bun ?? step.node), ...last];
    const beside = step.beside ? spawn(bun, step.beside, { cwd: PROJECT, stdio: "inherit" }) : undefined;
    const act = () =>
      run(step.bun ? bun : process.execPath, all, step.isUsers ? asUser() : { env: step.env });
    const { code, signal } = await (step.bun?.[0] === "test" ? countAloud(act, all) : act());
    beside?.kill();
    // Ending by the same signal tells the shell the truth; the number is for signals that Node itself survives.
    if (signal) process.kill(process.pid, signal);
    if (signal) return 128 + constants.signals[signal];
    worst ||= code;
  }
  return worst;
}

try {
  const [name, ...args] = process.argv.slice(2);
  process.exitCode = await main(name, args);
} catch (error) {
  console.error(error instanceof LaunchError ? `launch: ${error.message}` : error);
  process.exitCode = 1;
}

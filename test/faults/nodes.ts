import { join } from "node:path";
import { type Cluster, startCluster } from "../harness/cluster.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runTvs } from "../harness/program.ts";
import { type ChangeFindings, changeWhileAsked } from "./changes.ts";
import { type FaultyReceiver, startFaultyReceiver } from "./faulty-receiver.ts";
import { type Answer, type KeyedLoad, type LoadFindings, startLoad } from "./keyed-load.ts";
import { broken, printFindings } from "./killed.ts";
import { makeNextRelease } from "./next-release.ts";
import { type Fault, type FaultyWorld, faultKinds, isNoticedTooLate, makeFault } from "./node-faults.ts";
import { addPartner, openDatabase } from "./register.ts";
import {
  type Changes,
  changeByCommand,
  expectEvent,
  importRegister,
  prepareChanges,
} from "./status-changes.ts";
import { addSubscribers, judgeWebhooks, settle } from "./subscribers.ts";
import type { WebhookFindings } from "./webhook-kill-findings.ts";

/**
 * Three nodes over one libSQL server behind a proxy, under load. Nodes and the server are killed, links are cut and go
 * silent, the next release is rolled out; then what callers and subscribers hold is compared with what the database
 * says. Run alone: `bun test/faults/nodes.ts ROUNDS`, each round one fault of each kind.
 */
export type NodesFindings = {
  readonly rounds: number;
  readonly answered: number;
  readonly replayed: number;
  readonly statusChanges: number;
  readonly nodeFaults: readonly Fault[];
  /** Answers under the rolling release. */
  readonly answeredWhileRolling: number;
  readonly webhooks: WebhookFindings["counts"];
  /** Must be nothing. */
  readonly faults: LoadFindings &
    WebhookFindings["faults"] & {
      /** Answers, of those that are no replay, that were older than a change that had ended before they were asked for. */
      readonly olderAnswers: number;
      /** The same while no node fails. */
      readonly olderInQuiet: number;
      readonly unexpectedInQuiet: readonly string[];
      /** Calls under the rolling release that were neither answered nor refused for their quota. */
      readonly failedWhileRolling: readonly string[];
      readonly noticedTooLate: number;
    };
};

/** Of whom the callers ask, and whose status changes. */
const askedTeachers = 20;
const nodes = 3;
const smallPerMinute = 40;
/** After a node is healthy: until the proxy has asked it, and calls reach it. */
const proxySeesMs = 1_200;

type StatusChange = {
  readonly tId: number;
  readonly license: string;
  readonly startedAt: number;
  readonly doneAt: number;
};
type World = FaultyWorld & {
  readonly changes: Changes;
  readonly made: StatusChange[];
  program?: readonly string[];
};

function failNodes(rounds: number): Promise<NodesFindings> {
  return withTempDir(async (folder) => {
    const next = await makeNextRelease(join(folder, "next"), "99.0.0");
    const receiver = await startFaultyReceiver();
    const args = ["--threads", "1", "--allow-private-webhooks", "--drain-wait", "3s"];
    const cluster = await startCluster({ nodes, isProxied: true, args });
    try {
      return await failNodesOf({ cluster, receiver, next, rounds });
    } finally {
      await cluster.close();
      receiver.close();
    }
  });
}

type Parts = {
  readonly cluster: Cluster;
  readonly receiver: FaultyReceiver;
  /** The words that start the next release. */
  readonly next: readonly string[];
  readonly rounds: number;
};

async function failNodesOf({ cluster, receiver, next, rounds }: Parts): Promise<NodesFindings> {
  const { register, url } = cluster;
  const changes = prepareChanges(register);
  await importRegister(changes);
  await addSubscribers({ register, receiver, url });
  const quietChanges = await quietly(cluster, changes);
  const load = await startCallers(cluster);
  const apiKey = await addPartner(register, "probe", 100_000_000);
  const world: World = { cluster, changes, load, apiKey, made: [] };
  const changing = changeOnAndOn(world);
  // The faults stand in the way of a failure's report; what fails here is thrown below.
  changing.ended.catch(() => {});
  const nodeFaults: Fault[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const [turn, kind] of faultKinds.entries()) {
      const node = cluster.nodes[(round + turn) % nodes];
      if (node !== undefined) nodeFaults.push(await makeFault(kind, world, node));
      // Between two faults the proxy has to see all nodes again, or the next would leave it none.
      await sleep(proxySeesMs);
    }
  }
  const rolling = await rollOut(world, next);
  changing.stop();
  await changing.ended;
  await load.stop();
  return judgeAll({ world, receiver, quietChanges, nodeFaults, rolling, rounds });
}

/** Everything that an answer rests on, changed while all nodes are asked and none of them fails. */
async function quietly({ register, nodes: all }: Cluster, { expected }: Changes): Promise<ChangeFindings> {
  const rounds = 1;
  const findings = await changeWhileAsked({ register, urls: all.map(({ url }) => url), rounds });
  for (const event of ["license.revoked", "license.reinstated"]) expectEvent(expected, 0, event);
  return findings;
}

/** Callers of one partner without a quota that they could reach, and of one whose quota its callers share. */
async function startCallers({ register, url }: Cluster): Promise<KeyedLoad> {
  const big = { partnerId: "big", count: 12, perMinute: null, pauseMs: 10 };
  const small = { partnerId: "small", count: 3, perMinute: smallPerMinute, pauseMs: 10 };
  const callers = [
    { ...big, apiKey: await addPartner(register, "big", 100_000_000) },
    { ...small, apiKey: await addPartner(register, "small", smallPerMinute) },
  ];
  return startLoad({ url: () => url, teachers: askedTeachers, callers });
}

/** Revokes and reinstates licences by command, one after the other, until it is stopped. */
function changeOnAndOn(world: World): { ended: Promise<void>; stop(): void } {
  const { changes, made } = world;
  let isOver = false;
  const run = async () => {
    for (let n = 0; !isOver; n = (n + 1) % askedTeachers) {
      const startedAt = performance.now();
      const license = await changeByCommand(changes, n, (words) => runThroughFaults(words, world));
      made.push({ tId: n + 1, license, startedAt, doneAt: performance.now() });
      await sleep(200);
    }
  };
  const stop = () => {
    isOver = true;
  };
  return { ended: run(), stop };
}

/** An operator tries again what failed because the server was away, until it is done. */
async function runThroughFaults(words: readonly string[], world: World): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const { program, cluster } = world;
    const finished = await runTvs(words, {
      ...cluster.register,
      ...(program === undefined ? {} : { program }),
    });
    // A command whose reply was lost has done its work.
    const wasDone = attempt > 0 && /is revoked already|is not revoked/.test(finished.stderr);
    if (finished.code === 0 || wasDone) return;
    if (attempt === 100) throw new Error(finished.stderr);
    await sleep(100);
  }
}

/** Answers under the rolling release, and what befell the other calls. */
type Rolling = { readonly answered: number; readonly failed: readonly string[] };

/** Gives every node the next release, one after the other, as an operator does. */
async function rollOut(world: World, next: readonly string[]): Promise<Rolling> {
  const { cluster, load } = world;
  const [answered, failed] = [load.answers.length, load.failures.length];
  for (const node of cluster.nodes) {
    await node.stop();
    await node.start(next);
    world.program = next;
    await sleep(proxySeesMs);
  }
  return {
    answered: load.answers.length - answered,
    failed: load.failures.slice(failed).map(({ reason }) => reason),
  };
}

type Judging = {
  readonly world: World;
  readonly receiver: FaultyReceiver;
  readonly quietChanges: ChangeFindings;
  readonly nodeFaults: readonly Fault[];
  readonly rolling: Rolling;
  readonly rounds: number;
};

async function judgeAll(judging: Judging): Promise<NodesFindings> {
  const { receiver, quietChanges, nodeFaults, rolling, rounds } = judging;
  const { cluster, load, changes, made, program } = judging.world;
  await settle(cluster.register, program);
  const database = await openDatabase(cluster.register);
  try {
    const webhooks = await judgeWebhooks(database, changes, receiver);
    return {
      rounds,
      answered: load.answers.length,
      replayed: load.answers.filter(({ isReplay }) => isReplay).length,
      statusChanges: made.length,
      nodeFaults,
      answeredWhileRolling: rolling.answered,
      webhooks: webhooks.counts,
      faults: {
        ...(await load.judge(database)),
        ...webhooks.faults,
        olderAnswers: load.answers.filter((answer) => isOlder(answer, made)).length,
        olderInQuiet: Object.values(quietChanges.older).reduce((sum, count) => sum + count, 0),
        unexpectedInQuiet: quietChanges.unexpected,
        failedWhileRolling: rolling.failed,
        noticedTooLate: nodeFaults.filter(isNoticedTooLate).length,
      },
    };
  } finally {
    await database.close();
  }
}

/** A replay says what was so when its key ran; anything else, what was so when it was asked for or later. */
function isOlder(
  { isReplay, tId, license, askedAt, answeredAt }: Answer,
  made: readonly StatusChange[],
): boolean {
  if (isReplay) return false;
  const ofTeacher = made.filter((change) => change.tId === tId);
  const before = ofTeacher.findLast(({ doneAt }) => doneAt < askedAt);
  const meanwhile = ofTeacher.filter(({ startedAt, doneAt }) => doneAt >= askedAt && startedAt <= answeredAt);
  const possible = [before?.license ?? "VALID", ...meanwhile.map((change) => change.license)];
  return !possible.includes(license);
}

if (import.meta.main) {
  const findings = await failNodes(Number(process.argv[2] ?? 10));
  printFindings(findings);
  process.exitCode = Object.keys(broken(findings.faults)).length === 0 ? 0 : 1;
}

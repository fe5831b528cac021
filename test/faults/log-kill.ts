import { type Cluster, startCluster } from "../harness/cluster.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runTvs, startService } from "../harness/program.ts";
import { type KeyedLoad, startLoad } from "./keyed-load.ts";
import { answersAndReplays, prepareCallers } from "./kill.ts";
import { printFindings } from "./killed.ts";
import { type HeadSeen, headOf, judgeLog, type LogKillFindings } from "./log-kill-findings.ts";
import { observeLog } from "./log-observer.ts";
import type { Register } from "./register.ts";

/**
 * Kills services with SIGKILL again and again while callers wait for answers and checkpoints are signed, and looks
 * whether an observer of the evidence log, who keeps everything that he was ever shown, can be shown the lie of it.
 * Run alone: `bun test/faults/log-kill.ts 50` over a file, `bun test/faults/log-kill.ts 50 nodes` with three nodes over
 * a libSQL server, which is killed too. TVS_COMMAND names the program.
 */
const teachers = 200;
const unlimited = ["--public-per-minute", "100000000"];
const nodes = 3;

/** Kills the one service of a database file. */
export function killOverFile(kills: number, threads: number): Promise<LogKillFindings> {
  return withTempDir(async (dataDir) => {
    const register = { dataDir };
    const args = ["--threads", String(threads), ...unlimited, "--issuer", "https://teachers.example"];
    const start = () => startService({ dataDir, args });
    const callers = await prepareCallers(register);
    let service = await start();
    const load = startLoad({ url: () => service.url, teachers, callers });
    const watch = startWatching(register, load, () => service.url);
    for (let kill = 0; kill < kills; kill++) {
      await answersAndReplays(load);
      const signing = watch.signNow({ mayFail: false });
      await sleep(Math.random() * 600);
      await service.stop("SIGKILL");
      // A command that signs while the service is killed leaves nothing half done either.
      await signing;
      await watch.keepHead(dataDir);
      service = await start();
    }
    await load.stop();
    await watch.observer.stop();
    await service.stop();
    await watch.keepHead(dataDir);
    service = await start();
    try {
      return await watch.judge(service.url, kills);
    } finally {
      await service.stop();
    }
  });
}

/** Kills the nodes over a libSQL server in turn, and after each round of them the server. */
export async function killOverServer(kills: number): Promise<LogKillFindings> {
  const cluster = await startCluster({ nodes, args: ["--threads", "1", ...unlimited] });
  try {
    return await killNodesOf(cluster, kills);
  } finally {
    await cluster.close();
  }
}

async function killNodesOf({ register, nodes: all, server }: Cluster, kills: number) {
  const callers = await prepareCallers(register);
  let turn = 0;
  const url = () => all[turn++ % all.length]?.url ?? "";
  const load = startLoad({ url, teachers, callers });
  const watch = startWatching(register, load, url);
  for (let kill = 0; kill < kills; kill++) {
    await answersAndReplays(load);
    const node = all[kill % (nodes + 1)];
    const signing = watch.signNow({ mayFail: node === undefined });
    await sleep(Math.random() * 600);
    if (node === undefined) await server.restart();
    else await node.stop("SIGKILL");
    await signing;
    if (node !== undefined) await watch.keepHead(node.dataDir);
    await node?.start();
  }
  await load.stop();
  await watch.observer.stop();
  for (const node of all) {
    await node.stop();
    await watch.keepHead(node.dataDir);
  }
  // The node that kept house may have been killed last, and then nobody has signed for what came after.
  await watch.signNow({ mayFail: false });
  await all[0]?.start();
  return watch.judge(all[0]?.url ?? "", kills);
}

/** The observer, and what is kept beside him. */
function startWatching(register: Register, load: KeyedLoad, url: () => string) {
  const { answers } = load;
  const observer = observeLog({ url, answers });
  const heads: HeadSeen[] = [];
  const unexpected: string[] = [];
  return {
    observer,
    /** Has a command sign a checkpoint now: a service by itself does so every half minute. */
    async signNow({ mayFail }: { mayFail: boolean }): Promise<void> {
      const { code, stderr } = await runTvs(["log", "checkpoint"], register);
      if (code !== 0 && !mayFail) unexpected.push(`tvs log checkpoint: ${stderr}`);
    },
    async keepHead(dataDir: string): Promise<void> {
      const head = await headOf(dataDir, register);
      if (head !== null) heads.push(head);
    },
    async judge(now: string, kills: number): Promise<LogKillFindings> {
      const verified = observer.verified();
      const faults = await judgeLog({ register, url: now, observer, load, heads, unexpected });
      return {
        kills,
        answered: answers.length,
        interrupted: load.failures.length,
        checkpoints: observer.seen().length,
        verified,
        faults,
      };
    },
  };
}

if (import.meta.main) {
  const [kills = "50", mode = "file"] = process.argv.slice(2);
  printFindings(await (mode === "nodes" ? killOverServer(Number(kills)) : killOverFile(Number(kills), 2)));
}

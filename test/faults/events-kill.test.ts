import { expect, test } from "bun:test";
import type { WebhookEvent } from "../../src/partner/contract.ts";
import { startCluster } from "../harness/cluster.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { noServer } from "../harness/sqld.ts";
import { type Trial, tried } from "../harness/trial.ts";
import { limitFor, roundsOf } from "./killed.ts";
import { addPartner, openDatabase, type Register } from "./register.ts";
import {
  type Changes,
  eventKey,
  importRegister,
  makeChanges,
  prepareChanges,
  reached,
} from "./status-changes.ts";

/**
 * Kills what serves with SIGKILL again and again while statuses change and partners fetch their events, page by page,
 * each page perhaps from another thread or node; then compares what they have with what has changed.
 */
const issuer = "https://teachers.example";
const kills = roundsOf(2);
const changeCount = kills > 3 ? 300 : 100;

/** Fetches until it is told to stop and has come to the end; what fails is asked again from where it was. */
function startPoller(url: () => string, apiKey: string, limit: number) {
  const got: WebhookEvent[] = [];
  const statuses = new Set<number>();
  let [iterator, isOver, isDone, failed] = [null as string | null, false, false, 0];
  const poll = async () => {
    const after = iterator === null ? "" : `&after=${iterator}`;
    const sent = { headers: { Authorization: `Bearer ${apiKey}` }, signal: AbortSignal.timeout(15_000) };
    const response = await fetch(`${url()}/v1/inter-agency/events?limit=${limit}${after}`, sent);
    statuses.add(response.status);
    if (response.status !== 200) throw new Error(await response.text());
    const page = (await response.json()) as { data: WebhookEvent[]; iterator: string | null; done: boolean };
    got.push(...page.data);
    iterator = page.iterator;
    isDone = page.done && page.data.length === 0;
  };
  const polling = (async () => {
    while (!(isOver && isDone)) {
      const before = got.length;
      isDone = false;
      await poll().catch(() => failed++);
      if (got.length === before) await sleep(5);
    }
  })();
  return {
    async end() {
      isOver = true;
      await polling;
      return { got, failed, refused: [...statuses].filter((status) => status >= 400 && status < 500) };
    },
  };
}

/** What both pollers have, against what was changed and what the database says. */
async function judge(changes: Changes, fetched: ReadonlyMap<string, WebhookEvent[]>): Promise<void> {
  const database = await openDatabase(changes.register);
  const rows = await database.query("SELECT event_id FROM events ORDER BY id");
  await database.close();
  const committed = rows.map((row) => String(row.event_id));
  expect([committed.length, new Set(committed).size]).toEqual([changeCount, changeCount]);
  for (const got of fetched.values()) {
    expect(got.map(({ eventId }) => eventId)).toEqual(committed);
    const counts = new Map<string, number>();
    for (const { eventType, data } of got) {
      const key = eventKey(data.tId, eventType);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    expect([...counts].sort()).toEqual([...changes.expected].sort());
  }
}

type Run = {
  readonly trial: Trial;
  /** Where the next call goes. */
  url(): string;
  /** Ends something that serves, and starts it again. */
  kill(): Promise<void>;
};

async function run(register: Register, { url, kill, trial }: Run): Promise<void> {
  const changes = prepareChanges(register);
  await importRegister(changes);
  const pollers = new Map<string, ReturnType<typeof startPoller>>();
  for (const [id, limit] of [
    ["a", 7],
    ["b", 40],
  ] as const)
    pollers.set(id, startPoller(url, await addPartner(register, id, 100_000_000), limit));
  const changing = makeChanges(changes, changeCount);
  // The kills stand in the way of a failure's report; what fails here is thrown below.
  changing.catch(() => {});
  for (let round = 0; round < kills; round++) {
    await reached(changes, { goal: ((round + Math.random()) * changeCount) / kills, changing });
    await sleep(Math.random() * 300);
    await kill();
    trial.count("kills");
  }
  await changing;
  const fetched = new Map<string, WebhookEvent[]>();
  for (const [id, poller] of pollers) {
    const { got, failed, refused } = await poller.end();
    fetched.set(id, got);
    trial.count("events fetched", got.length);
    // The kills were felt, and no page was ever refused.
    expect({ refused, isFelt: failed > 0 }).toEqual({ refused: [], isFelt: true });
  }
  await judge(changes, fetched);
}

test(
  "partners fetch every event once and in one order from four threads that are killed",
  tried("kills-events", (trial) =>
    withTempDir(async (dataDir) => {
      const args = ["--threads", "4", "--spread", "always", "--issuer", issuer];
      const start = () => startService({ dataDir, args });
      let service = await start();
      const kill = async () => {
        await service.stop("SIGKILL");
        service = await trial.healed(start);
      };
      try {
        await run({ dataDir }, { url: () => service.url, kill, trial });
      } finally {
        await service.stop();
      }
    }),
  ),
  limitFor(300_000),
);

test.skipIf(noServer !== undefined)(
  "and from two nodes over a server, in turns, each of which is killed",
  tried("kills-events", async (trial) => {
    const cluster = await startCluster({ nodes: 2, args: ["--threads", "1"] });
    try {
      let [turn, round] = [0, 0];
      const node = (n: number) => cluster.nodes[n % 2] as (typeof cluster.nodes)[number];
      const kill = async () => {
        const one = node(round++);
        await one.stop("SIGKILL");
        await trial.healed(() => one.start());
      };
      await run(cluster.register, { url: () => node(turn++).url, kill, trial });
    } finally {
      await cluster.close();
    }
  }),
  limitFor(300_000),
);

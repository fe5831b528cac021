/**
 * The model: nodes over one libSQL server, as the program has them. A call comes to a thread of a node; its thread
 * reads (while one request is on its way, the next ones gather), signs, or lets an idle thread of the node sign, and
 * commits (one commit on its way, the next acts gather while the thread still signs). The primary serves so many
 * requests at once with so many cores, and commits one at a time.
 *
 * It does not know refusals: calls wait as long as it takes, and whoever reads the outcome judges the wait.
 */
import { costOf, grownTo } from "./costs.ts";
import { createLine, createPlaces, type Places, type Timeline } from "./events.ts";
import type { Layout } from "./layout.ts";

/** While its thread still signs, a commit waits for so long, or for so many acts (`store/driver/commits.ts`). */
const gatherSeconds = 0.005;
export const maxActs = 128;
/** Of a server's memory, what holds the database. */
const cachedPart = 0.8;
/** A page of the index and a page of the table; those above them are always in memory. */
const leavesOfRead = 2;

export type Counts = {
  answered: number;
  commits: number;
  acts: number;
  requests: number;
  written: number;
  pages: number;
};

/** What is shared by all of one simulation. */
export type World = Layout & {
  readonly timeline: Timeline;
  /** Cores of a machine: of each its own, or all the same. */
  readonly machine: (cores: number) => Places;
  readonly counts: Counts;
  /** A time that is this long on average, and half of it at least. */
  readonly vary: (seconds: number) => number;
};

/** The libSQL server. */
export type Primary = {
  read(roundTrip: number, rows: number, done: () => void): void;
  commit(roundTrip: number, acts: number, done: () => void): void;
  beat(roundTrip: number): void;
  readonly cores: Places;
  readonly writer: Places;
};

/** One after the other. */
export const both = (first: () => void, second: () => void) => () => {
  first();
  second();
};

export function createPrimary(world: World): Primary {
  const { timeline, costs, server, teachers, counts, vary } = world;
  const cores = world.machine(server.cores);
  const connections = createPlaces(timeline, server.connections);
  const writer = createPlaces(timeline, 1);
  const sizes = { from: costs.teachers, to: teachers };
  const [readCost, holdCost] = [grownTo(costs.read, sizes), grownTo(costs.hold, sizes)];
  const missing = Math.max(0, 1 - (cachedPart * server.memoryBytes) / (teachers * costs.teacherBytes));

  /** The way there and back, and a connection for as long as the work takes. */
  function request(roundTrip: number, work: (end: () => void) => void, done: () => void): void {
    counts.requests++;
    timeline.after(roundTrip / 2, () =>
      connections.take((giveBack) =>
        work(() => {
          giveBack();
          timeline.after(roundTrip / 2, done);
        }),
      ),
    );
  }
  /** What others may do at the same time, and then what nobody may. */
  function write(parsing: number, holding: number, end: () => void): void {
    cores.use(vary(parsing), () => writer.take((giveBack) => cores.use(vary(holding), both(giveBack, end))));
  }
  return {
    cores,
    writer,
    read(roundTrip, rows, done) {
      const pages = rows * leavesOfRead * missing;
      counts.pages += pages;
      const fetched = (end: () => void) =>
        pages === 0 ? end() : timeline.after(pages * server.pageRead, end);
      request(roundTrip, (end) => cores.use(vary(costOf(readCost, rows)), () => fetched(end)), done);
    },
    commit(roundTrip, acts, done) {
      counts.commits++;
      counts.acts += acts;
      counts.written += costOf(costs.written, acts);
      const holding = costOf(holdCost, acts);
      const parsing = Math.max(0, costOf(costs.commit, acts) - holding);
      request(roundTrip, (end) => write(parsing, holding, end), done);
    },
    beat(roundTrip) {
      const { commit, hold } = costs.beat;
      request(
        roundTrip,
        (end) => write(Math.max(0, commit - hold), hold, end),
        () => {},
      );
    },
  };
}

type Task = { readonly seconds: number; readonly done: () => void };

/** A serving thread: callers and the database in turn with signatures, its own, or another one's when it is idle. */
type Thread = {
  work(seconds: number, done: () => void): void;
  sign(done: () => void): void;
  readonly signing: number;
  wake(): void;
  offer(): Task | undefined;
};

function createThread({ costs, vary }: World, machine: Places, mates: readonly Thread[]): Thread {
  const urgent = createLine<Task>();
  const signatures = createLine<Task>();
  let isBusy = false;
  /** In each turn of the event loop it signs, however much has come meanwhile. */
  let isSigningTurn = false;
  let signing = 0;

  function helped(): Task | undefined {
    for (const mate of mates) {
      const task = mate.offer();
      if (task !== undefined) return { ...task, seconds: task.seconds + costs.handOver };
    }
    return undefined;
  }
  function wake(): void {
    if (isBusy) return;
    const signed = isSigningTurn ? signatures.take() : undefined;
    isSigningTurn = signed === undefined;
    const task = signed ?? urgent.take() ?? signatures.take() ?? helped();
    if (task === undefined) return;
    isBusy = true;
    machine.use(vary(task.seconds), () => {
      isBusy = false;
      task.done();
      wake();
    });
  }
  return {
    get signing() {
      return signing;
    },
    work(seconds, done) {
      urgent.push({ seconds, done });
      wake();
    },
    sign(done) {
      signing++;
      const signed = () => {
        signing--;
        done();
      };
      signatures.push({ seconds: costs.signature, done: signed });
      wake();
      if (signatures.length > 0) for (const mate of mates) mate.wake();
    },
    wake,
    offer: () => signatures.take(),
  };
}

/** What gathers while one request is on its way. */
type Gatherer = { add(done: () => void): void; look(): void };

type GatherOptions = {
  /** Whether it is worth waiting a little for more. */
  isMoreComing?(): boolean;
  /** In which the requests of a node's threads are made one at a time; until its turn has come, more gather. */
  readonly turns?: Places;
};

/** @param send makes one request of so many */
function createGatherer(
  { timeline }: World,
  send: (count: number, done: () => void) => void,
  { isMoreComing = () => false, turns = createPlaces(timeline, 1) }: GatherOptions = {},
): Gatherer {
  const waiting = createLine<() => void>();
  let isUnderWay = false;
  /** When what waits has waited long enough; null while nothing does. */
  let until: number | null = null;

  function look(): void {
    if (isUnderWay || waiting.length === 0) return;
    if (waiting.length < maxActs && isMoreComing() && (until ?? 1 / 0) > timeline.now()) {
      if (until !== null) return;
      until = timeline.now() + gatherSeconds;
      timeline.after(gatherSeconds, look);
      return;
    }
    dispatch();
  }
  function dispatch(): void {
    isUnderWay = true;
    until = null;
    turns.take((giveBack) => {
      const group: (() => void)[] = [];
      while (group.length < maxActs && waiting.length > 0) group.push(waiting.take() as () => void);
      send(group.length, () => {
        giveBack();
        isUnderWay = false;
        for (const done of group) done();
        look();
      });
    });
  }
  return {
    add(done) {
      waiting.push(done);
      look();
    },
    look,
  };
}

/** What a call of a kind does until it is answered. */
export type Serve = { check(done: () => void): void; lookUp(done: () => void): void; poll(): void };

type Way = { readonly primary: Primary; readonly roundTrip: number };

/** @param turns the node's, in which its threads commit */
function createServe(
  world: World,
  thread: Thread,
  { primary, roundTrip, turns }: Way & { turns: Places },
): Serve {
  const { costs } = world;
  const reads = createGatherer(world, (rows, done) =>
    thread.work(costOf(costs.askRead, rows), () => primary.read(roundTrip, rows, done)),
  );
  const commit = (acts: number, done: () => void) =>
    thread.work(costOf(costs.askCommit, acts), () => primary.commit(roundTrip, acts, done));
  const commits = createGatherer(world, commit, { isMoreComing: () => thread.signing > 0, turns });
  return {
    check: (done) => thread.work(costs.check, () => reads.add(() => thread.sign(() => commits.add(done)))),
    lookUp: (done) => thread.work(costs.lookup, () => reads.add(done)),
    poll: () => reads.add(() => {}),
  };
}

export type Node = { readonly machine: Places; readonly threads: readonly Serve[] };

export function createNode(world: World, way: Way): Node {
  const machine = world.machine(world.threads);
  const threads: Thread[] = [];
  while (threads.length < world.threads) threads.push(createThread(world, machine, threads));
  const turns = createPlaces(world.timeline, 1);
  return { machine, threads: threads.map((thread) => createServe(world, thread, { ...way, turns })) };
}

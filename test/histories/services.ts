/** Histories of running services: callers over HTTP, an operator, a reader of events, and faults. */
import { generateSigningKey } from "../../src/domain/keys.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import { openDatabase, type Register } from "../faults/register.ts";
import { sleep } from "../harness/eventually.ts";
import { seededNumbers } from "../harness/random.ts";
import { readSeed, reportTries } from "../harness/trial.ts";
import { eventLog } from "./event-log.ts";
import { checkLinearizability } from "./linearizability.ts";
import { type CommandContext, createContext } from "./operator.ts";
import type { CallReply, PartnerHistory, PlannedRequest, Ticks } from "./part.ts";
import { describeUnexplainedCalls, drawPlannedRequest, recordCallStart } from "./part.ts";

type Random = (below: number) => number;

/** The running services, and their faults. */
export type FaultyServices = {
  readonly register: Register;
  readonly masterKey: string;
  /** The URL of a running service, for the next call. */
  url(random: Random): Promise<string>;
  /** Makes a fault and ends it. @param more waits until this many further calls have ended */
  fail(random: Random, more: (calls: number) => Promise<void>): Promise<void>;
  /** Starts a server again that has stopped answering. */
  revive?(): Promise<void>;
  /**
   * Whether the outcome of every commit is known, as with a database file. A server may have committed although the
   * call was answered 503 (decision D12.3).
   */
  readonly isSure: boolean;
};

const partners = 4;
const callersEach = 3;
/** Calls of each caller in a round, in a short and in a long run. More calls in a round leave less time for setup. */
const [callsEach, manyCallsEach] = [40, 150];
const callsAChange = 12;
const pageLimit = 5;
/** A call answered within this time was committed, because a node waits two seconds for a server. */
const surelyCommittedMs = 1_500;
/** A server that takes longer has hung, as sqld does once in some ten thousand commits (`data/help/libsql.md`). */
const operatorWaitMs = 10_000;

/** Plays rounds with so many operations and faults. @returns the histories that no order explains, with their seeds */
export async function playRounds(
  serving: FaultyServices,
  { operations, faults }: { operations: number; faults: number },
): Promise<string[]> {
  const round = partners * callersEach * (operations > 10_000 ? manyCallsEach : callsEach);
  const rounds = Math.max(1, Math.round(operations / round), Math.ceil(faults / 2));
  reportTries({ calls: rounds * round, faults });
  const found: string[] = [];
  for (let n = 0; n < rounds; n++) {
    const due = Math.ceil((faults * (n + 1)) / rounds) - Math.ceil((faults * n) / rounds);
    const seed = readSeed() + n;
    const doubts = await playRound(serving, { seed, calls: round, faults: due, first: n * partners });
    found.push(...doubts.map((words) => `TVS_SEED=${seed} npm test -- test/histories: ${words}`));
  }
  return found;
}

/** The seed of a round, its numbers of calls and faults, and the number of its first partner. */
type Round = Readonly<Record<"seed" | "calls" | "faults" | "first", number>>;

async function playRound(serving: FaultyServices, { seed, calls, faults, first }: Round): Promise<string[]> {
  const random = seededNumbers(seed);
  const secrets = deriveSecrets(serving.masterKey);
  const database = await openDatabase(serving.register, operatorWaitMs);
  let ticks = 0;
  const progress = createProgress();
  const around = { random, secrets, now: Date.now, tick: () => ++ticks };
  // Generating a key takes as long as a hundred calls, so it is done for one change in eight.
  const nextKey = async () => (random(8) > 0 ? undefined : generateSigningKey(secrets, 2048, Date.now()));
  const state: FaultCounts = { failing: 0, healed: 0 };
  const { revive } = serving;
  const operator = createContext(database, {
    ...{ ...around, calls: (2 * calls) / partners, nextKey },
    ...(revive && { onSilence: () => untilHealed(state, revive) }),
  });
  try {
    await operator.begin();
    const reader = await operator.addReader(first);
    for (let n = 0; n < partners; n++) await operator.addPart(first + n);
    let isOver = false;
    const calling = Array.from({ length: partners * callersEach }, (_, n) => {
      const part = operator.parts[n % partners] as PartnerHistory;
      const own = { part, random: seededNumbers(seed * 1_000 + n), calls: calls / (partners * callersEach) };
      return call(serving, { ...around, ...own, state, onEnd: progress.count });
    });
    const over = Promise.all(calling).finally(() => {
      isOver = true;
      progress.end();
    });
    const failTimes = async () => {
      for (let n = 0; n < faults; n++) {
        await progress.more(random(Math.floor(calls / (faults + 1))));
        await untilHealed(state, () => serving.fail(random, progress.more));
      }
    };
    const changeThings = async () => {
      for (; !isOver; await progress.more(callsAChange)) await operator.change();
    };
    await Promise.all([
      over,
      changeThings(),
      readEvents(serving, { ...reader, ...around, published: operator.published, isOver: () => isOver }),
      failTimes(),
    ]);
  } finally {
    await database.close();
  }
  const doubts = operator.parts.map(describeUnexplainedCalls);
  const log = checkLinearizability(operator.published, eventLog);
  const found = [...doubts, log === null ? null : `events: ${JSON.stringify(log.next)} after ${log.placed}`];
  return found.filter((words) => words !== null);
}

/** The number of current faults, and of ended ones. */
type FaultCounts = { failing: number; healed: number };

async function untilHealed(state: FaultCounts, fail: () => Promise<void>): Promise<void> {
  state.failing++;
  await fail();
  state.failing--;
  state.healed++;
}

/** Waits for calls to end, so that the time of changes and faults depends on calls and not on a clock. */
function createProgress() {
  let [count, isOver] = [0, false];
  const waiting: { readonly until: number; go(): void }[] = [];
  const wake = () => {
    for (const one of waiting.splice(0))
      if (isOver || one.until <= count) one.go();
      else waiting.push(one);
  };
  return {
    count() {
      count++;
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
    /** Waits until this many further calls have ended, or all. */
    more: (calls: number) =>
      isOver ? Promise.resolve() : new Promise<void>((go) => waiting.push({ until: count + calls, go })),
  };
}

type Caller = {
  readonly part: PartnerHistory;
  readonly random: Random;
  readonly tick: Ticks;
  now(): number;
  readonly state: FaultCounts;
  readonly calls: number;
  onEnd(): void;
};

async function call(
  serving: FaultyServices,
  { part, random, calls, state, onEnd, ...around }: Caller,
): Promise<void> {
  for (let n = 0; n < calls; n++) {
    const url = await serving.url(random);
    const ask = drawPlannedRequest(part, random);
    const before = { failing: state.failing, healed: state.healed, at: performance.now() };
    const ended = recordCallStart(part, ask, around);
    const reply = await send(url, ask);
    const wasCalm = before.failing + state.failing === 0 && before.healed === state.healed;
    const isExact = serving.isSure || (wasCalm && performance.now() - before.at < surelyCommittedMs);
    ended(reply !== null && reply.status >= 500 && !serving.isSure ? null : reply, isExact);
    onEnd();
  }
}

const base = "/v1/inter-agency";
/** A call that takes longer counts as lost. */
const maxCallMs = 30_000;

/** Sends a call. @returns null if the reply was lost */
async function send(
  url: string,
  { operation, apiKey, idempotencyKey, body }: PlannedRequest,
): Promise<CallReply | null> {
  try {
    const response = await fetch(`${url}${base}/${operation}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${apiKey}`,
        ...(idempotencyKey && { "Idempotency-Key": idempotencyKey }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(maxCallMs),
    });
    const { status, headers } = response;
    return { status, body: await response.text(), header: (name) => headers.get(name) };
  } catch {
    return null;
  }
}

type Reader = {
  readonly apiKey: string;
  readonly random: Random;
  readonly tick: Ticks;
  readonly published: CommandContext["published"];
  isOver(): boolean;
};

/** Reads pages of events, each from any node, until the round is over and the last page was read. */
async function readEvents(
  serving: FaultyServices,
  { apiKey, random, tick, published, isOver }: Reader,
): Promise<void> {
  let [from, after] = [0, ""];
  for (let isAtEnd = false; !isAtEnd; ) {
    const wasOver = isOver();
    const url = `${await serving.url(random)}${base}/events?limit=${pageLimit}${after}`;
    const begin = tick();
    const response = await fetch(url, { headers: { Authorization: `Bearer ${apiKey}` } }).catch(() => null);
    const text = await response?.text().catch(() => null);
    const end = tick();
    if (response?.status !== 200 || text == null) {
      await sleep(5);
      continue;
    }
    const { data, iterator, done: isDone } = JSON.parse(text) as EventPage;
    const page = data.map(({ eventId }) => eventId);
    published.push({ call: { from, limit: pageLimit, page, isDone }, begin, end });
    from += page.length;
    if (iterator !== null) after = `&after=${iterator}`;
    isAtEnd = wasOver && isDone;
  }
}

type EventPage = {
  readonly data: readonly { eventId: string }[];
  readonly iterator: string | null;
  readonly done: boolean;
};

import { describe, expect, test } from "bun:test";
import { Worker } from "node:worker_threads";
import type { KeyRing } from "../../src/domain/keys.ts";
import { newSigningBoards, openSigningBoard } from "../../src/signing/board.ts";
import { findLibcrypto } from "../../src/signing/libcrypto.ts";
import { until } from "../harness/eventually.ts";
import { aRing, type KeyName, verifies } from "../harness/keys.ts";
import { numbers } from "../harness/random.ts";
import type { Order, Reply, ThreadData } from "./serving-thread.ts";

const entry = new URL("./serving-thread.ts", import.meta.url);
const threads = 3;
const ringNames = ["active", "pending"] as const;
type Ring = readonly [KeyName, KeyName];

type Call = { readonly inputs: readonly string[]; readonly kid: string; readonly thread: number };
type Answer = Exclude<Reply, string>;

/** Serving threads on one board, as the main thread has them. */
class Threads {
  readonly boards = newSigningBoards(threads);
  readonly calls = new Map<number, Call>();
  readonly answers: Answer[] = [];
  private readonly workers: Worker[] = [];
  private loaded = 0;

  async start(thread: number, ring: Ring): Promise<void> {
    const worker = new Worker(entry, {
      workerData: { boards: this.boards, thread, ring } satisfies ThreadData,
    });
    this.workers[thread] = worker;
    const ready = Promise.withResolvers<void>();
    worker.on("error", ready.reject);
    worker.on("message", (reply: Reply) => {
      if (reply === "ready") ready.resolve();
      else if (reply === "loaded") this.loaded++;
      else this.answers.push(reply);
    });
    await ready.promise;
  }

  ask(call: Call & { bulk: boolean }): void {
    const id = this.calls.size;
    const { inputs, kid, bulk, thread } = call;
    this.calls.set(id, call);
    this.workers[thread]?.postMessage({ id, kid, inputs, bulk } satisfies Order);
  }

  async load(ring: Ring): Promise<void> {
    this.loaded = 0;
    for (const worker of this.workers) worker.postMessage({ ring } satisfies Order);
    await until(() => this.loaded === threads);
  }

  /** Ends a thread as a fault would, and puts another in its place. @returns what it may have left unanswered */
  async replace(thread: number): Promise<Set<number>> {
    const worker = this.workers[thread] as Worker;
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    await worker.terminate();
    await ended;
    openSigningBoard(this.boards, 0).abandon(thread);
    const answered = new Set(this.answers.map(({ id }) => id));
    const lost = [...this.calls].filter(([id, call]) => call.thread === thread && !answered.has(id));
    await this.start(thread, ringNames);
    return new Set(lost.map(([id]) => id));
  }

  async end(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  /** Answers that are not the signatures that their calls asked for. */
  wrongAnswers(ring: KeyRing): Answer[] {
    return this.answers.filter((answer) => {
      const call = this.calls.get(answer.id);
      if (call === undefined || "code" in answer) return true;
      const { kid, inputs } = call;
      const isRight = (input: string, i: number) =>
        verifies(ring, kid, { input, signature: answer.signatures[i] ?? "" });
      return answer.signatures.length !== inputs.length || !inputs.every(isRight);
    });
  }
}

async function withThreads(act: (all: Threads) => Promise<void>): Promise<void> {
  const all = new Threads();
  try {
    await Promise.all([0, 1, 2].map((thread) => all.start(thread, ringNames)));
    await act(all);
  } finally {
    await all.end();
  }
}

/** Asks for so many calls of both sorts, most of them of one thread, so that the others have time for it. */
function askAtRandom(
  all: Threads,
  ring: KeyRing,
  asked: { random: (below: number) => number; calls: number },
) {
  const { random } = asked;
  const favourite = random(threads);
  for (let i = 0; i < asked.calls; i++) {
    const thread = random(4) === 0 ? random(threads) : favourite;
    const bulk = random(3) === 0;
    const { kid } = random(2) === 0 ? ring.active : ring.pending;
    const inputs = Array.from({ length: bulk ? 1 + random(30) : 1 }, (_, n) => `${all.calls.size}.${n}`);
    all.ask({ thread, bulk, kid, inputs });
  }
}

describe.if(findLibcrypto() !== undefined)("serving threads on one board", () => {
  test("answer every call once and rightly, whoever has time for it", () =>
    withThreads(async (all) => {
      const ring = await aRing(...ringNames);
      const random = numbers(11);
      for (let burst = 0; burst < 20; burst++) {
        askAtRandom(all, ring, { random, calls: 1 + random(30) });
        const wanted = all.calls.size - random(20);
        await until(() => all.answers.length >= wanted);
      }
      await until(() => all.answers.length >= all.calls.size);
      expect(new Set(all.answers.map(({ id }) => id)).size).toBe(all.answers.length);
      expect(all.wrongAnswers(ring)).toEqual([]);
      const board = openSigningBoard(all.boards, 0);
      expect([board.waiting(false), board.waiting(true)]).toEqual([0, 0]);
    }));

  test("lose no call but its own when one dies under load, again and again", () =>
    withThreads(async (all) => {
      const ring = await aRing(...ringNames);
      const random = numbers(12);
      const lost = new Set<number>();
      for (let death = 0; death < 6; death++) {
        askAtRandom(all, ring, { random, calls: 40 });
        const before = all.answers.length;
        await until(() => all.answers.length > before + random(10));
        for (const id of await all.replace(random(threads))) lost.add(id);
      }
      const answered = () => new Set(all.answers.map(({ id }) => id));
      await until(() => [...all.calls.keys()].every((id) => lost.has(id) || answered().has(id)));
      expect(answered().size).toBe(all.answers.length);
      expect(all.wrongAnswers(ring)).toEqual([]);
      const board = openSigningBoard(all.boards, 0);
      expect([board.waiting(false), board.waiting(true)]).toEqual([0, 0]);
    }));

  test("sign through rotations with the key that was asked for, or refuse", () =>
    withThreads(async (all) => {
      const ring = await aRing(...ringNames);
      const random = numbers(13);
      for (let rotation = 0; rotation < 6; rotation++) {
        askAtRandom(all, ring, { random, calls: 30 });
        await all.load(rotation % 2 === 0 ? ["pending", "stranger"] : ringNames);
        askAtRandom(all, ring, { random, calls: 10 });
      }
      await until(() => all.answers.length >= all.calls.size);
      const refused = all.answers.filter((answer) => "code" in answer);
      for (const answer of refused) expect(answer).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
      for (const { id } of refused) expect(all.calls.get(id)?.kid).toBe(ring.active.kid);
      expect(all.wrongAnswers(ring)).toEqual(refused);
    }));
});

import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import type { SigningInput } from "../../src/signing/engine.ts";
import type { QueueOptions, SignedGroup, SigningHelper } from "../../src/signing/queue.ts";
import { createSigningQueue } from "../../src/signing/queue.ts";
import { catchError } from "../harness/rejection.ts";

const overloaded = { code: "OVERLOADED" };
const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));

/** A fake signature, which is the text of its key id and input. */
const signatureOf = (kid: string, { input }: Pick<SigningInput, "input">) =>
  new Uint8Array(Buffer.from(`${kid}:${input}`));
const signed = (kid: string, ...inputs: string[]) =>
  inputs.map((input) => Buffer.from(signatureOf(kid, { input })).toString("base64url"));

/** Makes a queue that signs in its own thread, and records the groups that it signs there. */
function openQueue(options: Partial<QueueOptions> = {}) {
  const made: string[][] = [];
  const queue = createSigningQueue({
    helpers: [],
    inPlace(kid, messages) {
      made.push(messages.map(({ input }) => input));
      return messages.map((message) => signatureOf(kid, message));
    },
    groupSize: 1,
    parallel: () => 1,
    signatureMs: 1,
    ...options,
  });
  return { queue, made };
}

/** Makes a helper that signs a group only when the test calls `sign`. */
function aHelper(slots = 2, groupSize = 8) {
  type Group = { kid: string; messages: readonly SigningInput[]; made: PromiseWithResolvers<SignedGroup> };
  const groups: Group[] = [];
  const helper: SigningHelper = {
    groupSize,
    slots: () => slots,
    sign(kid, messages) {
      const made = Promise.withResolvers<SignedGroup>();
      groups.push({ kid, messages, made });
      return made.promise;
    },
  };
  return {
    helper,
    sizes: () => groups.map(({ messages }) => messages.length),
    /** Signs the oldest waiting group. */
    sign(signatureMs = 1): void {
      const { kid, messages, made } = groups.shift() as Group;
      made.resolve({ signatures: messages.map((message) => signatureOf(kid, message)), signatureMs });
    },
    die(): void {
      slots = 0;
      for (const { made } of groups.splice(0)) made.reject(new Error("dead"));
    },
  };
}

/** Options of a queue whose calls all wait, because nobody signs. */
const busy: Pick<QueueOptions, "helpers" | "inPlace"> = { helpers: [], inPlace: null };

/** Adds a thousand calls of `size` signatures. @returns how many of them were not refused */
async function admitted(options: Partial<QueueOptions>, size: number): Promise<number> {
  const { queue } = openQueue({ ...busy, ...options });
  let refused = 0;
  const asked = range(1000).map(() =>
    queue.sign("k", new Array(size).fill("x"), true).catch(({ code }) => {
      if (code === overloaded.code) refused++;
    }),
  );
  await turnOfLoop();
  const count = 1000 - refused;
  queue.close();
  await Promise.all(asked);
  return count;
}

test("the signing queue puts single checks before batches, but gives batches every fourth signature", async () => {
  const { queue, made } = openQueue();
  const batches = range(100).map((i) => queue.sign("k", [`batch ${i}`], true));
  const singles = range(40).map((i) => queue.sign("k", [`single ${i}`], false));
  await Promise.all([...batches, ...singles]);
  const order = made.flat();
  const lastSingle = order.indexOf("single 39");
  expect(order.slice(0, lastSingle).filter((name) => name.startsWith("batch"))).toHaveLength(13);
  const sorted = (sort: string) => order.filter((name) => name.startsWith(sort));
  expect(sorted("single")).toEqual(range(40).map((i) => `single ${i}`));
  expect(sorted("batch")).toEqual(range(100).map((i) => `batch ${i}`));
});

test("the signing queue admits 64 callers with batches of 20, even with one slow thread", async () => {
  expect(await admitted({ signatureMs: 1.5 }, 20)).toBeGreaterThanOrEqual(64);
});

test("the signing queue refuses a call that would wait longer than two seconds", async () => {
  expect(await admitted({ signatureMs: 0.5 }, 100)).toBe(41);
  expect(await admitted({ signatureMs: 0.5, parallel: () => 2 }, 100)).toBe(81);
});

test("a refused call adds nothing to the waiting time of later calls", async () => {
  const helper = aHelper(1, 3000);
  const { queue } = openQueue({ inPlace: null, helpers: [helper.helper] });
  const first = queue.sign("k", new Array(2001).fill("x"), false);
  expect(await catchError(queue.sign("k", new Array(20).fill("x"), false))).toMatchObject(overloaded);
  await turnOfLoop();
  helper.sign();
  expect(await first).toHaveLength(2001);
  const second = queue.sign("k", ["x"], false);
  await turnOfLoop();
  helper.sign();
  expect(await second).toEqual(signed("k", "x"));
});

test("a single check waits only for single checks, a batch for all calls", async () => {
  const { queue } = openQueue(busy);
  const ask = (size: number, bulk: boolean) => queue.sign("k", new Array(size).fill("x"), bulk);
  const admittedCalls = [ask(5000, true), ask(1, false)];
  expect(await catchError(ask(1, true))).toMatchObject(overloaded);
  admittedCalls.push(ask(3000, false));
  expect(await catchError(ask(1, true))).toMatchObject(overloaded);
  expect(await catchError(ask(1, false))).toMatchObject(overloaded);
  queue.close();
  for (const call of admittedCalls)
    expect(await catchError(call)).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
});

test("the signing queue averages the time of a signature, and one pause hardly changes the average", async () => {
  const { helper, sign } = aHelper(1);
  const { queue } = openQueue({ inPlace: null, helpers: [helper] });
  async function signIn(ms: number): Promise<void> {
    const one = queue.sign("k", ["x"], false);
    await turnOfLoop();
    sign(ms);
    await one;
  }
  /** Returns whether a check is admitted while 1,500 others wait. It drops all of them. */
  async function isAdmitted(): Promise<boolean> {
    const others = queue.sign("k", new Array(1500).fill("x"), false).catch(() => "refused");
    const answer = await Promise.race([queue.sign("k", ["y"], false).catch(() => "refused"), turnOfLoop()]);
    queue.close();
    await others;
    sign();
    await turnOfLoop();
    return answer !== "refused";
  }
  await signIn(60_000);
  expect(await isAdmitted()).toBe(true);
  for (let i = 0; i < 100; i++) await signIn(4);
  expect(await isAdmitted()).toBe(false);
  for (let i = 0; i < 100; i++) await signIn(0.5);
  expect(await isAdmitted()).toBe(true);
});

test("a signature that waits alone is made in the queue's own thread, though a helper is idle", async () => {
  const { helper, sizes } = aHelper();
  const { queue, made } = openQueue({ helpers: [helper], parallel: () => 2 });
  expect(await queue.sign("k", ["alone"], false)).toEqual(signed("k", "alone"));
  expect([made, sizes()]).toEqual([[["alone"]], []]);
});

test("an idle helper gets a share of several waiting signatures, at most two groups at a time", async () => {
  const { helper, sizes, sign } = aHelper();
  const { queue, made } = openQueue({ helpers: [helper], parallel: () => 2 });
  const batch = queue.sign("k", range(5).map(String), true);
  expect(sizes()).toEqual([1, 1]);
  await turnOfLoop();
  expect(made).toEqual([["2"]]);
  sign();
  await turnOfLoop();
  expect({ made, sizes: sizes() }).toEqual({ made: [["2"], ["4"]], sizes: [1, 1] });
  while (sizes().length > 0) {
    sign();
    await turnOfLoop();
  }
  expect(await batch).toEqual(signed("k", ...range(5).map(String)));
});

test.each<[groupSize: number, sizes: number[]]>([
  [1, [8, 2]],
  [8, [8]],
])("one of two threads gets half of 20 signatures, in groups of %d: %p", async (groupSize, shared) => {
  const { helper, sizes } = aHelper(3);
  const { queue } = openQueue({ helpers: [helper], parallel: () => 2, groupSize });
  const batch = queue.sign("k", range(20).map(String), true).catch(() => {});
  expect(sizes()).toEqual(shared);
  queue.close();
  await batch;
});

test("an engine that signs groups gets up to eight waiting signatures together, all with one key", async () => {
  const { queue, made } = openQueue({ groupSize: 8 });
  const sign = (kid: string, count: number) => queue.sign(kid, range(count).map(String), true);
  await sign("k", 21);
  await sign("k", 3);
  await Promise.all([sign("one", 5), sign("two", 6)]);
  expect(made.map(({ length }) => length)).toEqual([...[8, 8, 5], ...[1, 1, 1], ...[5, 6]]);
});

test("the queue's own thread makes one group in each turn of the event loop", async () => {
  const { queue, made } = openQueue({ groupSize: 8 });
  const batch = queue.sign("k", range(80).map(String), true);
  for (let turn = 1; turn <= 10; turn++) {
    await turnOfLoop();
    expect(made).toHaveLength(turn);
  }
  expect(await batch).toHaveLength(80);
});

test("the signatures of a helper that dies are made in the queue's own thread, each once", async () => {
  const { helper, sizes, die } = aHelper();
  const { queue, made } = openQueue({ helpers: [helper], parallel: () => 2, groupSize: 8 });
  const batch = queue.sign("k", range(40).map(String), true);
  expect(sizes()).toEqual([8, 8]);
  die();
  expect(await batch).toEqual(signed("k", ...range(40).map(String)));
  expect(made.flat().toSorted()).toEqual(range(40).map(String).toSorted());
});

test("if no thread can sign a call, the whole call fails, and other calls are signed", async () => {
  let isBroken = true;
  const { queue } = openQueue({
    inPlace(kid, messages) {
      if (isBroken) throw new Error("broken");
      return messages.map((message) => signatureOf(kid, message));
    },
  });
  const broken = queue.sign("k", ["one", "two", "three"], true);
  const whole = queue.sign("k", ["four"], true);
  expect(await catchError(broken)).toMatchObject({ message: "broken" });
  isBroken = false;
  expect(await whole).toEqual(signed("k", "four"));
});

test("a commit is not kept waiting by a few batches, but by single checks and by many batches", async () => {
  const { queue } = openQueue(busy);
  const asked: Promise<unknown>[] = [];
  const ask = (size: number, bulk: boolean) =>
    asked.push(queue.sign("k", new Array(size).fill("x"), bulk).catch(() => {}));
  ask(255, true);
  expect(queue.whenGathered()).toBeUndefined();
  expect(queue.whenSettled()).toBeInstanceOf(Promise);
  ask(1, true);
  expect(queue.whenGathered()).toBeInstanceOf(Promise);
  queue.close();
  expect([queue.whenGathered(), queue.whenSettled()]).toEqual([undefined, undefined]);
  ask(1, false);
  expect(queue.whenGathered()).toBeInstanceOf(Promise);
  queue.close();
  await Promise.all(asked);
});

test("a commit waits until the single checks are signed, and not for a batch beside them", async () => {
  const { helper, sign } = aHelper(2);
  const { queue } = openQueue({ inPlace: null, helpers: [helper] });
  const single = queue.sign("k", ["single"], false);
  const batch = queue.sign("k", ["batch 1", "batch 2"], true);
  await turnOfLoop();
  const gathered = queue.whenGathered();
  sign();
  await gathered;
  expect(await single).toEqual(signed("k", "single"));
  expect([queue.whenGathered(), await Promise.race([batch, turnOfLoop()])]).toEqual([undefined, undefined]);
  queue.close();
  expect(await catchError(batch)).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
});

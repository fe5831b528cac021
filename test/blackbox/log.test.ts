import { beforeAll, describe, expect, test } from "bun:test";
import { leafOf } from "../fixtures/log-notes.ts";
import { mth, proof } from "../fixtures/rfc6962.ts";
import { untilAnswer } from "../harness/eventually.ts";
import type { Envelope, Problem } from "./contract.ts";
import { type Checkpoint, openCheckpoint, rootOfPath } from "./merkle-tree.ts";
import { api, issuer, type Partner, readJson, sharedWorld } from "./world.ts";

type Inclusion = { leafIndex: number; treeSize: number; hashes: string[]; checkpoint: string };
type Consistency = { from: number; to: number; hashes: string[] };

const world = sharedWorld({ args: ["--public-per-minute", "100000"] });
let partner: Partner;
const envelopes: Envelope[] = [];
/** Each with its note. */
const checkpoints: (Checkpoint & { readonly note: string })[] = [];
/** What was answered when a checkpoint had just been shown for the first time. */
const provenAtOnce: number[] = [];

const log = (path: string, headers?: Record<string, string>) => world.get(`${api}/log${path}`, headers);
const hexOf = ({ signature }: Envelope) => leafOf(signature).toString("hex");
const bytesOf = (hashes: readonly string[]) => hashes.map((hash) => Buffer.from(hash, "base64"));
const keyLines = async () => (await (await log("/key")).text()).trimEnd().split("\n");

/**
 * Has calls attested, and waits for a checkpoint that covers them: the first one of a log comes at once, and a service
 * that is stopped signs for all.
 */
async function grow(calls: number): Promise<void> {
  const answers = Array.from({ length: calls }, (_, tId) => partner.check({ tId }));
  for (const answer of await Promise.all(answers)) envelopes.push(await readJson<Envelope>(answer));
  if (checkpoints.length > 0) await world.restart();
  const newest = await untilAnswer(
    async () => (await log("/checkpoint")).text(),
    (note) => Number(note.split("\n")[1]) >= envelopes.length,
  );
  provenAtOnce.push(...(await askEveryThread(`/consistency?from=1&to=${envelopes.length}`)));
  const [key = ""] = await keyLines();
  checkpoints.push({ ...openCheckpoint(newest, key), note: newest });
}

/** Asks over connections of their own, which threads and nodes share out among themselves. @returns the statuses */
async function askEveryThread(path: string): Promise<number[]> {
  const asked = Array.from({ length: 12 }, () => log(path, { Connection: "close" }));
  return (await Promise.all(asked)).map(({ status }) => status);
}

let beforeAny: { checkpoint: Response; inclusion: Response; consistency: Response };

beforeAll(async () => {
  partner = await world.partner();
  beforeAny = {
    checkpoint: await log("/checkpoint"),
    inclusion: await log(`/inclusion/${"0".repeat(64)}`),
    consistency: await log("/consistency?from=1&to=1"),
  };
  for (const calls of [1, 2, 11]) await grow(calls);
});

test("before the first checkpoint there is a key, and nothing to prove", async () => {
  for (const [what, answer] of Object.entries(beforeAny)) {
    expect([what, answer.status]).toEqual([what, 404]);
    expect(Object.keys(await readJson<Problem>(answer))).toEqual(["statusCode", "message"]);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
  }
});

test("the key is that of the log, which has the issuer's name", async () => {
  const answer = await log("/key");
  expect(answer.headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
  const name = `${new URL(issuer).host}/log`;
  expect(await answer.text()).toMatch(
    new RegExp(`^${name.replaceAll(".", "\\.")}\\+[0-9a-f]{8}\\+[\\w+/]{44}\n$`),
  );
});

test("checkpoints are signed in both ways, at the time that they say", () => {
  const now = Date.now() / 1000;
  expect(checkpoints.map(({ size }) => size)).toEqual([1, 3, 14]);
  for (const { origin, seconds } of checkpoints) {
    expect(origin).toBe(`${new URL(issuer).host}/log`);
    expect(Math.abs(now - seconds)).toBeLessThan(120);
  }
});

describe("an inclusion proof", () => {
  test("leads from each envelope to the earliest checkpoint that covers it", async () => {
    const [key = ""] = await keyLines();
    for (const envelope of envelopes) {
      const answer = await log(`/inclusion/${hexOf(envelope)}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
      const { leafIndex: index, treeSize: size, hashes, checkpoint } = await readJson<Inclusion>(answer);
      const opened = openCheckpoint(checkpoint, key);
      expect(opened.size).toBe(size);
      // Others may have been signed in between.
      expect(size).toBeLessThanOrEqual(checkpoints.find((one) => one.size > index)?.size ?? 0);
      const leaf = leafOf(envelope.signature);
      expect(rootOfPath(leaf, { index, size, hashes: bytesOf(hashes) })).toEqual(opened.root);
    }
  });

  test("leads to a later checkpoint, when that is asked for", async () => {
    const [first, , last] = checkpoints;
    const [envelope] = envelopes;
    if (envelope === undefined || first === undefined || last === undefined)
      throw new Error("nothing attested");
    const answer = await readJson<Inclusion>(await log(`/inclusion/${hexOf(envelope)}?size=${last.size}`));
    expect(answer.checkpoint).toBe(last.note);
    const { leafIndex: index, treeSize: size, hashes } = answer;
    expect(rootOfPath(leafOf(envelope.signature), { index, size, hashes: bytesOf(hashes) })).toEqual(
      last.root,
    );
  });
});

test("every envelope has a place of its own, and a consistency proof shows that the log has only grown", async () => {
  const placeOf = async (one: Envelope) =>
    (await readJson<Inclusion>(await log(`/inclusion/${hexOf(one)}`))).leafIndex;
  const places = await Promise.all(envelopes.map(placeOf));
  expect(places.toSorted((a, b) => a - b)).toEqual(envelopes.map((_, at) => at));
  const leaves = envelopes.map((_, at) => leafOf(envelopes[places.indexOf(at)]?.signature ?? ""));
  const [, first, last] = checkpoints;
  if (first === undefined || last === undefined) throw new Error("no checkpoints");
  for (const { size, root } of [first, last]) expect(mth(leaves.slice(0, size))).toEqual(root);
  const between = async (from: number, to: number) => log(`/consistency?from=${from}&to=${to}`);
  const { hashes, ...sizes } = await readJson<Consistency>(await between(first.size, last.size));
  expect(sizes).toEqual({ from: first.size, to: last.size });
  const proven = proof(first.size, leaves.slice(0, last.size));
  expect(hashes).toEqual(proven.map((hash) => hash.toString("base64")));
  const same = await readJson<Consistency>(await between(last.size, last.size));
  expect(same).toEqual({ from: last.size, to: last.size, hashes: [] });
});

test("a checkpoint that was shown once is known wherever its proof is asked for", () => {
  expect(provenAtOnce.filter((status) => status !== 200)).toEqual([]);
  expect(provenAtOnce.length).toBe(36);
});

describe("what is not there, or was asked for wrongly, is said so", () => {
  const known = () => hexOf(envelopes[0] as Envelope);
  const latest = () => envelopes[envelopes.length - 1] as Envelope;
  const hashForm = "leafHash must be 64 hexadecimal digits in lower case";
  const sizeUnknown = "there was never a checkpoint of this size that covers the leaf";
  const sizeForm = "must be a whole number from 1 to 2^53 - 1, without leading zeros";
  const cases: [what: string, path: () => string, status: number, message: string][] = [
    ["upper case", () => `/inclusion/${known().toUpperCase()}`, 400, hashForm],
    ["63 characters", () => `/inclusion/${known().slice(1)}`, 400, hashForm],
    ["65 characters", () => `/inclusion/${known()}0`, 400, hashForm],
    ["base64", () => `/inclusion/${Buffer.from(known(), "hex").toString("base64url")}`, 400, hashForm],
    [
      "an unknown leaf",
      () => `/inclusion/${"0".repeat(64)}`,
      404,
      "no checkpoint covers a leaf with this hash",
    ],
    ["a size that never was", () => `/inclusion/${known()}?size=15`, 404, sizeUnknown],
    ["a size before the leaf", () => `/inclusion/${hexOf(latest())}?size=3`, 404, sizeUnknown],
    ["no tree", () => `/inclusion/${known()}?size=0`, 400, `size ${sizeForm}`],
    ["an empty size", () => `/inclusion/${known()}?size=`, 400, `size ${sizeForm}`],
    ["a sign", () => "/consistency?from=-1&to=3", 400, `from ${sizeForm}`],
    ["leading zeros", () => "/consistency?from=03&to=14", 400, `from ${sizeForm}`],
    ["an exponent", () => "/consistency?from=1e0&to=14", 400, `from ${sizeForm}`],
    ["beyond what numbers say", () => "/consistency?from=1&to=9007199254740992", 400, `to ${sizeForm}`],
    ["no from", () => "/consistency?to=3", 400, "from is required"],
    ["no to", () => "/consistency?from=3", 400, "to is required"],
    ["from above to", () => "/consistency?from=4&to=3", 400, "from must not be above to"],
    ["to beyond the log", () => "/consistency?from=3&to=15", 404, "no checkpoint covers so many leaves"],
    ["the list of leaves", () => "/inclusion/", 404, "there is no such path"],
  ];

  test.each(cases)("%s", async (_what, path, status, message) => {
    const answer = await log(path());
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect({ status: answer.status, body: await readJson<Problem>(answer) }).toEqual({
      status,
      body: { statusCode: status, message },
    });
  });
});

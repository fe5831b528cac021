import { expect, test } from "bun:test";
import { createEvidenceLogDocuments, createOneSecondCache } from "../../src/api/evidence-api.ts";
import { beginNextLog, createLogWriter } from "../../src/domain/evidence/checkpoint.ts";
import { createEvidenceReader, ensureFirstLog } from "../../src/domain/evidence/log.ts";
import { leafHashOf } from "../../src/domain/evidence/tree.ts";
import { verifyCheckpoint } from "../../src/partner/log-checkpoint.ts";
import { isConsistencyProven, rootOfInclusionProof } from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { readVerifierKey } from "../../src/partner/signed-note.ts";
import { aClock } from "../harness/clock.ts";
import { aPinnedCheckpoint, attest } from "../harness/evidence.ts";
import { fillRing } from "../harness/keys.ts";
import { catchError } from "../harness/rejection.ts";
import { anAttestation, secrets } from "../harness/samples.ts";
import { type TestStores, withStoresAt } from "../harness/store.ts";
import { answerErrors } from "./openapi/document.ts";
import * as examples from "./openapi/examples.ts";

const { issuer } = examples;

type LogWorld = Awaited<ReturnType<typeof addLog>>;

async function addLog(stores: TestStores) {
  const { clock, evidence: store } = stores;
  const { kid } = (await fillRing(stores.keys, 0)).active;
  const writer = createLogWriter({ store, pinned: aPinnedCheckpoint(), secrets, clock });
  let made = 0;
  /** Adds the attestations of this many calls. @returns their JWS texts */
  async function grow(calls: number): Promise<string[]> {
    const more = Array.from({ length: calls }, () => anAttestation(made++, { kid }));
    await attest(stores.driver, more);
    return more.map(({ jws }) => jws);
  }
  const documents = createEvidenceLogDocuments({ evidence: createEvidenceReader(store), clock });
  return { ...stores, documents, grow, sign: () => writer.checkpoint() };
}

function withLog(act: (world: LogWorld) => Promise<void>): Promise<void> {
  return withStoresAt("2026-03-01T09:30:30Z", async (stores) => act(await addLog(stores)));
}

const openLog = ({ evidence: store, clock }: LogWorld) => ensureFirstLog({ store, secrets, issuer, clock });
const hexOf = (jws: string) => Buffer.from(leafHashOf(jws)).toString("hex");
const bytesOf = (hashes: readonly string[]) =>
  hashes.map((hash) => new Uint8Array(Buffer.from(hash, "base64")));

async function read<T>(document: Promise<{ body: string }>): Promise<T> {
  return JSON.parse((await document).body) as T;
}

test("a partner can verify every proof of the log", () =>
  withLog(async (world) => {
    const { documents, grow, sign } = world;
    await openLog(world);
    const signed = [];
    const roots = new Map<number, Uint8Array<ArrayBuffer>>();
    for (const calls of [1, 6, 300]) {
      signed.push(...(await grow(calls)));
      await sign();
      world.clock.add(30_000);
      const key = await readVerifierKey((await documents.key()).body.trimEnd());
      if (key === null) throw new Error("not a key");
      const opened = await verifyCheckpoint((await documents.checkpoint()).body, [key]);
      if (opened instanceof Refusal) throw new Error(opened.reason);
      expect(opened.size).toBe(signed.length);
      roots.set(opened.size, opened.root);
    }
    for (const [at, jws] of signed.entries()) {
      const shown = await read<typeof examples.inclusion>(documents.inclusion(hexOf(jws)));
      expect(answerErrors("LogInclusion", shown)).toEqual([]);
      const { leafIndex, treeSize, hashes } = shown;
      expect([leafIndex, treeSize]).toEqual([at, at < 1 ? 1 : at < 7 ? 7 : 307]);
      const proof = {
        leafHash: new Uint8Array(leafHashOf(jws)),
        index: at,
        size: treeSize,
        hashes: bytesOf(hashes),
      };
      expect(await rootOfInclusionProof(proof)).toEqual(roots.get(treeSize) ?? null);
    }
    for (const [from, fromRoot] of roots)
      for (const [to, toRoot] of [...roots].filter(([size]) => size >= from)) {
        const shown = await read<typeof examples.consistency>(documents.consistency(from, to));
        expect(answerErrors("LogConsistency", shown)).toEqual([]);
        const { hashes } = shown;
        expect(await isConsistencyProven({ from, to, fromRoot, toRoot, hashes: bytesOf(hashes) })).toBe(true);
      }
  }));

test("a request for the checkpoint of an empty log gets NOT_KNOWN, and a new checkpoint is served within a second", () =>
  withLog(async (world) => {
    const { documents, clock, grow, sign } = world;
    await openLog(world);
    const refused = { code: "NOT_KNOWN", message: "there is no checkpoint yet" };
    expect(await catchError(documents.checkpoint())).toMatchObject(refused);
    await grow(1);
    await sign();
    clock.add(1_000);
    expect((await documents.checkpoint()).type).toBe("text/plain; charset=utf-8");
  }));

test("a document of the log is read from the database at most once a second, and again after a failed read", async () => {
  const clock = aClock("2026-03-01T09:30:30Z");
  let reads = 0;
  const recent = createOneSecondCache(async () => {
    if (++reads === 1) throw new Error("away");
    return reads;
  }, clock);
  expect(reads).toBe(0);
  expect(await catchError(recent())).toMatchObject({ message: "away" });
  expect(await Promise.all([recent(), recent()])).toEqual([2, 2]);
  clock.add(999);
  expect(await recent()).toBe(2);
  clock.add(1);
  expect(await recent()).toBe(3);
});

test("a consistency proof to the newest signed tree is served, although the cached checkpoint is older", () =>
  withLog(async (world) => {
    const { documents, grow, sign } = world;
    await openLog(world);
    await grow(1);
    await sign();
    await documents.checkpoint();
    await grow(1);
    await sign();
    expect(await read(documents.consistency(1, 2))).toMatchObject({ from: 1, to: 2 });
  }));

test("a log begun after a loss proves its own tree, and its key is listed before the old log's key", () =>
  withLog(async (world) => {
    const { documents, grow, sign, clock, driver, evidence: store } = world;
    await openLog(world);
    const [first = ""] = await grow(1);
    await sign();
    const old = await documents.inclusion(hexOf(first));
    await grow(1);
    await sign();
    const before = await documents.consistency(1, 2);
    await driver.batch([{ sql: "DELETE FROM attestations WHERE id = 2", args: [] }]);
    await beginNextLog({ store, secrets, issuer, clock, pinned: aPinnedCheckpoint() }, "a test");
    const writer = createLogWriter({ store, secrets, clock, pinned: aPinnedCheckpoint() });
    await grow(1);
    await writer.checkpoint();
    clock.add(1_000);
    const after = await documents.consistency(1, 2);
    expect(after.body).not.toBe(before.body);
    expect((await documents.checkpoint()).body).toStartWith("teachers.example/log/2\n2\n");
    const names = (await documents.key()).body
      .trimEnd()
      .split("\n")
      .map((line) => line.split("+")[0]);
    expect(names).toEqual(["teachers.example/log/2", "teachers.example/log"]);
    expect(await documents.inclusion(hexOf(first))).toEqual(old);
  }));

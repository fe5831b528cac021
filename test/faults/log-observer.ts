/** Somebody outside, who keeps every checkpoint of the evidence log that he ever saw, and asks for proofs all along. */
import { decodeBase64 } from "../../src/partner/base64.ts";
import { type Checkpoint, openCheckpoint } from "../../src/partner/log-checkpoint.ts";
import {
  attestationLeafHash,
  isConsistent,
  isSameHash,
  rootOfInclusion,
} from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { readVerifierKey, type VerifierKey } from "../../src/partner/signed-note.ts";
import { sleep } from "../harness/eventually.ts";
import type { Answer } from "./keyed-load.ts";

type ObserverOptions = {
  /** Where the service is now. */
  url(): string;
  /** Envelopes that were answered; the list grows. */
  readonly answers: readonly Pick<Answer, "signature">[];
};

/** What the observer could not verify, in words: every list must be empty. */
type LogDoubts = {
  /** Envelopes without a proof, or with one that does not hold. */
  readonly notProvable: readonly string[];
  /** Pairs of seen checkpoints of which the second did not grow out of the first. */
  readonly inConflict: readonly string[];
  /** Answers that were neither a proof nor a plain refusal for the time being. */
  readonly unexpected: readonly string[];
};

export type LogObserver = {
  /** One checkpoint for each size that was ever shown, the smallest first. */
  seen(): readonly Checkpoint[];
  /** Proofs that were verified while the service was failing. */
  verified(): number;
  stop(): Promise<void>;
  /** Asks a service that fails no more about everything that was seen and answered. */
  judge(url: string): Promise<LogDoubts>;
};

type Held = {
  readonly seen: Map<number, Checkpoint>;
  readonly inConflict: string[];
  readonly unexpected: string[];
  readonly notProvable: string[];
  keys: readonly VerifierKey[];
  verified: number;
};

const pauseMs = 20;
const patience = () => ({ signal: AbortSignal.timeout(10_000) });
const base = "/v1/inter-agency/log";

/** Begins to watch; a service that does not answer is asked again. */
export function observeLog({ url, answers }: ObserverOptions): LogObserver {
  const held: Held = {
    seen: new Map(),
    inConflict: [],
    unexpected: [],
    notProvable: [],
    keys: [],
    verified: 0,
  };
  let isOver = false;
  const running = (async () => {
    let last: Checkpoint | null = null;
    while (!isOver) {
      last = await look(held, url(), last);
      const one = answers[Math.floor(Math.random() * answers.length)];
      if (one !== undefined && last !== null) await proveAlong(held, url(), one.signature);
      await sleep(pauseMs);
    }
  })();
  const seen = () => [...held.seen.values()].sort((one, other) => one.size - other.size);
  return {
    seen,
    verified: () => held.verified,
    async stop() {
      isOver = true;
      await running;
    },
    async judge(now) {
      await look(held, now, null);
      await judgePairs(held, now, seen());
      await judgeAnswers(held, now, [...new Set(answers.map(({ signature }) => signature))]);
      const { notProvable, inConflict, unexpected } = held;
      return { notProvable, inConflict, unexpected };
    },
  };
}

/** One look at the newest checkpoint. @returns the one to ask on from */
async function look(held: Held, url: string, last: Checkpoint | null): Promise<Checkpoint | null> {
  const note = await textOf(`${url}${base}/checkpoint`);
  if (note === null) return last;
  const checkpoint = await opened(held, url, note);
  if (checkpoint === null) return last;
  remember(held, checkpoint);
  // Another node may not have seen the newest one yet, which is no shrinking.
  if (last === null || last.size >= checkpoint.size) return last ?? checkpoint;
  const isShown = await isGrown(url, last, checkpoint);
  if (isShown === false) held.inConflict.push(`${last.size} and ${checkpoint.size}`);
  if (isShown === true) held.verified++;
  return checkpoint;
}

function remember({ seen, inConflict }: Held, checkpoint: Checkpoint): void {
  const known = seen.get(checkpoint.size);
  if (known !== undefined && !isSameHash(known.root, checkpoint.root))
    inConflict.push(`two roots of size ${checkpoint.size}`);
  seen.set(checkpoint.size, checkpoint);
}

/** @returns the checkpoint, when a key of the log signed it */
async function opened(held: Held, url: string, note: string): Promise<Checkpoint | null> {
  if (held.keys.length === 0) held.keys = await keysOf(url);
  if (held.keys.length === 0) return null;
  const checkpoint = await openCheckpoint(note, held.keys);
  if (!(checkpoint instanceof Refusal)) return checkpoint;
  held.unexpected.push(`${checkpoint.reason}: ${note}`);
  return null;
}

async function keysOf(url: string): Promise<VerifierKey[]> {
  const lines = (await textOf(`${url}${base}/key`))?.split("\n") ?? [];
  const keys = await Promise.all(lines.filter((line) => line !== "").map(readVerifierKey));
  return keys.filter((key) => key !== null);
}

/** @returns null when the service did not answer */
async function isGrown(url: string, from: Checkpoint, to: Checkpoint): Promise<boolean | null> {
  const text = await textOf(`${url}${base}/consistency?from=${from.size}&to=${to.size}`);
  if (text === null) return null;
  const { hashes } = JSON.parse(text) as { hashes: string[] };
  const proof = { from: from.size, to: to.size, fromRoot: from.root, toRoot: to.root };
  return isConsistent({ ...proof, hashes: hashes.map(bytesOf) });
}

async function proveAlong(held: Held, url: string, jws: string): Promise<void> {
  const flaw = await flawOfProof(held, url, jws);
  if (flaw === null) held.verified++;
  else if (flaw !== "no answer") held.notProvable.push(flaw);
}

/** @returns null for an envelope that is proven to be in the log; `no answer` when nobody says so yet */
async function flawOfProof(held: Held, url: string, jws: string): Promise<string | null> {
  const leafHash = await attestationLeafHash(jws);
  const name = Buffer.from(leafHash).toString("hex");
  const text = await textOf(`${url}${base}/inclusion/${name}`);
  if (text === null) return "no answer";
  const found = JSON.parse(text) as {
    leafIndex: number;
    treeSize: number;
    hashes: string[];
    checkpoint: string;
  };
  const checkpoint = await opened(held, url, found.checkpoint);
  if (checkpoint === null) return `${name}: the checkpoint is not the log's`;
  remember(held, checkpoint);
  const { leafIndex: index, treeSize: size } = found;
  const root = await rootOfInclusion({ leafHash, index, size, hashes: found.hashes.map(bytesOf) });
  const holds = size === checkpoint.size && root !== null && isSameHash(root, checkpoint.root);
  return holds ? null : `${name}: the proof does not hold`;
}

async function judgePairs(held: Held, url: string, seen: readonly Checkpoint[]): Promise<void> {
  for (const [n, to] of seen.entries()) {
    const from = seen[n - 1];
    if (from === undefined) continue;
    if ((await isGrown(url, from, to)) !== true) held.inConflict.push(`${from.size} and ${to.size}`);
  }
}

/** Proofs that are asked for at once. */
const together = 16;

async function judgeAnswers(held: Held, url: string, answered: readonly string[]): Promise<void> {
  const left = [...answered];
  const askOn = async () => {
    for (let jws = left.pop(); jws !== undefined; jws = left.pop()) {
      const flaw = await flawOfProof(held, url, jws);
      if (flaw !== null) held.notProvable.push(flaw);
    }
  };
  await Promise.all(Array.from({ length: together }, askOn));
}

/** @returns the body; null when the service is away, or has not got that far */
async function textOf(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, patience());
    const text = await response.text();
    return response.status === 200 ? text : null;
  } catch {
    return null;
  }
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return decodeBase64(text) ?? new Uint8Array();
}

/** `tvs log check`: watches a log from outside, without a register, wherever this program runs. */

import words from "../../data/commands.json" with { type: "json" };
import { isoSeconds } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { decodeHash } from "../../src/partner/base64.ts";
import { type Checkpoint, openCheckpoint, readOrigin } from "../../src/partner/log-checkpoint.ts";
import type { LogState, RememberedCheckpoint } from "../../src/partner/log-state.ts";
import { isConsistent, isSameHash } from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import type { VerifierKey } from "../../src/partner/signed-note.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "../../src/partner/strict-json.ts";
import { command, everyValue, operand, option } from "../command.ts";
import { exitCodes, print, printable, record } from "../terminal/output.ts";
import { defaultTimeoutMs, fetchBounded, readHttpUrl, timeoutArg } from "../verify/bounded-fetch.ts";
import { readLogKeys, readStateFile, rememberInFile } from "./log-state.ts";

/** How far a checkpoint's time may lie ahead of this machine's clock, as with every other time that is verified. */
const aheadMs = 60_000;

/**
 * What became of a log since it was last seen. `grown` includes a new log that has all entries seen of the log before;
 * `lost` is a new log that has not. `forked` and `shrunk` mean that the log contradicts what it has shown.
 */
type Verdict = "first" | "same" | "grown" | "lost" | "forked" | "shrunk";

type Finding = {
  readonly verdict: Verdict;
  /** What it means, for people. */
  readonly detail: string;
  /** The checkpoint that was compared with. */
  readonly seen: RememberedCheckpoint | null;
};

/** Whether the tree `to` begins with the tree `from`; null when the log does not know so many leaves. */
type AskConsistency = (from: Tree, to: Tree) => Promise<boolean | null>;
type Tree = Pick<Checkpoint, "size" | "root">;

export const logCheckCommand = command({
  ...words["log check"],
  args: {
    url: operand(readHttpUrl),
    "log-key": { ...option("KEY"), required: true },
    "log-state": { ...option("FILE"), required: true },
    ...timeoutArg,
  },
  async run({ args, rawArgs }) {
    const keys = await readLogKeys(everyValue(rawArgs, "log-key") ?? [args["log-key"]]);
    const file = args["log-state"];
    const state = readStateFile("--log-state", file);
    const log = openLogAt(args.url, args.timeout ?? defaultTimeoutMs);
    const body = await log.checkpoint();
    const [checkpoint, note] = [await open(body, keys), new TextDecoder().decode(body)];
    const { verdict, detail, seen } = await judge(checkpoint, state, log.isConsistent);
    const isGood = verdict !== "forked" && verdict !== "shrunk";
    if (isGood) await rememberInFile(file, { checkpoint, note });
    if (verdict !== "first" && verdict !== "same" && verdict !== "grown")
      process.exitCode = exitCodes[verdict === "lost" ? "undecided" : "refused"];
    const { origin, size, seconds } = checkpoint;
    const [checkpointAt, seenSize] = [isoSeconds(seconds), seen?.size ?? null];
    const described = { verdict, origin, size, checkpointAt, seenSize, detail };
    print(args, { ...described, checkpoint: note, seenCheckpoint: seen?.note ?? null }, () => {
      const lines = record(described);
      // Two notes of one key that contradict each other are evidence for everybody.
      const notes = `seen before:\n${shownAs(seen?.note ?? "")}\nshown now:\n${shownAs(note)}`;
      return isGood ? lines : `${lines}\n\n${notes}`;
    });
  },
});

/** A note without control characters, which could steer a terminal. */
function shownAs(note: string): string {
  return note.split("\n").map(printable).join("\n");
}

/** @throws TvsError INPUT_UNREADABLE for a checkpoint that cannot be verified */
async function open(body: Uint8Array, keys: readonly VerifierKey[]): Promise<Checkpoint> {
  const checkpoint = await openCheckpoint(body, keys);
  if (checkpoint instanceof Refusal) throw undecidable(whyNotOpened(checkpoint, body));
  if (checkpoint.seconds * 1000 <= Date.now() + aheadMs) return checkpoint;
  throw undecidable(
    "the checkpoint is from the future; check the clock of this machine, then that of the service",
  );
}

function whyNotOpened({ reason, detail }: Refusal, body: Uint8Array): string {
  const origin = (new TextDecoder().decode(body).split("\n", 1)[0] ?? "").slice(0, 200);
  if (reason === "LOG_KEY_MISSING")
    return `the service has begun a new log, ${origin}, whose key was not given; ask its operator by another way for the key, and why`;
  if (reason === "PROOF_OF_ANOTHER_LOG")
    return `the checkpoint is of ${origin}, a log that no --log-key is of`;
  if (reason === "CHECKPOINT_SIGNATURE_INVALID")
    return `the checkpoint was not signed by the key that --log-key gives for ${origin}`;
  return `what was sent as the newest checkpoint is none: ${detail ?? reason}`;
}

/** Compares the checkpoint that a log shows with the largest one seen of it. @throws TvsError INPUT_UNREADABLE */
async function judge(shown: Checkpoint, state: LogState, ask: AskConsistency): Promise<Finding> {
  const { origin, size } = shown;
  const { before, after } = neighbours(origin, state);
  const seen = state.get(origin) ?? before ?? null;
  const found = (verdict: Verdict, detail: string) => ({ verdict, detail, seen });
  if (after !== undefined) {
    const detail = `the service shows ${origin} again, after ${after.origin} had followed it`;
    return { verdict: "shrunk", detail, seen: after };
  }
  if (seen === null) return found("first", "nothing was seen of this log before; it is watched from now on");
  const isLarger = size >= seen.size;
  const goesOn = isLarger ? await ask(seen, shown) : await ask(shown, seen);
  if (seen.origin !== origin) {
    const isWhole = isLarger && goesOn === true;
    const lacks = "lacks entries that were seen: ask its operator what was lost, and why";
    const detail = `${origin} has followed ${seen.origin}, and ${isWhole ? "has all entries that were seen" : lacks}`;
    return found(isWhole ? "grown" : "lost", detail);
  }
  const sizes = `of ${seen.size} entries seen before and ${size} shown now`;
  if (goesOn === false) return found("forked", `the trees ${sizes} contradict each other`);
  if (isLarger && goesOn === null) throw undecidable(`the log does not prove that the trees ${sizes} fit`);
  if (goesOn === null) return found("shrunk", `the log does not know the larger tree any more ${sizes}`);
  if (size === seen.size) return found("same", "the log has not changed");
  if (isLarger)
    return found("grown", `the log has grown by ${size - seen.size} entries, and goes on from before`);
  // A node or a cache may show an earlier checkpoint for seconds.
  return found("same", `an earlier checkpoint was shown, and the trees ${sizes} fit`);
}

/** The checkpoints that were seen of the service's log before this one, and of a log after it. Logs may have been missed. */
function neighbours(origin: string, state: LogState) {
  const own = readOrigin(origin);
  const logs = [...state.values()]
    .map((seen) => ({ seen, ...readOrigin(seen.origin) }))
    .filter(({ service }) => service === own.service)
    .sort((a, b) => a.number - b.number);
  const before = logs.findLast(({ number }) => number < own.number)?.seen;
  return { before, after: logs.find(({ number }) => number > own.number)?.seen };
}

function undecidable(words: string): TvsError {
  return new TvsError("INPUT_UNREADABLE", words);
}

/**
 * Asks the public routes of a service's log. Throws TvsError INPUT_UNREADABLE for an answer that cannot be read.
 * @param service its address, with a path or without. @param timeoutMs for each answer
 */
function openLogAt(service: URL, timeoutMs: number) {
  const base = `${service.origin}${service.pathname.replace(/\/+$/, "")}/v1/inter-agency/log`;
  const ask = (path: string) => fetchBounded(new URL(`${base}/${path}`), timeoutMs);

  return {
    /** The newest checkpoint, not verified. */
    async checkpoint(): Promise<Uint8Array> {
      const { status, body } = await ask("checkpoint");
      if (status === 404)
        throw undecidable("the log has no checkpoint yet, or there is no such service at that address");
      if (status !== 200)
        throw undecidable(`the log answered HTTP ${status} when asked for its newest checkpoint`);
      return body;
    },
    async isConsistent(from: Tree, to: Tree): Promise<boolean | null> {
      if (from.size === to.size) return isSameHash(from.root, to.root);
      const { status, body } = await ask(`consistency?from=${from.size}&to=${to.size}`);
      if (status === 404) return null;
      if (status !== 200)
        throw undecidable(
          `the log answered HTTP ${status} when asked whether ${to.size} entries go on from ${from.size}`,
        );
      const hashes = readHashes(readStrictJson(body));
      return isConsistent({ from: from.size, to: to.size, fromRoot: from.root, toRoot: to.root, hashes });
    },
  };
}

function readHashes(json: JsonValue | Refusal): Uint8Array<ArrayBuffer>[] {
  const noProof = () => undecidable("what the log sent as a proof of consistency is none");
  const hashes = !(json instanceof Refusal) && isJsonObject(json) ? json.hashes : null;
  if (!Array.isArray(hashes)) throw noProof();
  return hashes.map((one) => {
    const hash = typeof one === "string" ? decodeHash(one) : null;
    if (hash === null) throw noProof();
    return hash;
  });
}

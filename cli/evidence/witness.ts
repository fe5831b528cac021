/** `tvs log witness`: somebody else keeps an eye on the log, without a register, wherever this program runs. */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import words from "../../data/commands.json" with { type: "json" };
import { isoSeconds } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { openingLeafHash } from "../../src/domain/evidence/tree.ts";
import { decodeHash } from "../../src/partner/base64.ts";
import { type Checkpoint, openCheckpoint, readOrigin } from "../../src/partner/log-checkpoint.ts";
import { findFork, type LogState, type RememberedCheckpoint } from "../../src/partner/log-state.ts";
import {
  type InclusionProof,
  isConsistent,
  isSameHash,
  rootOfInclusion,
} from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "../../src/partner/strict-json.ts";
import { command, everyValue, operand, option } from "../command.ts";
import { exitCodes, print, printable, record } from "../terminal/output.ts";
import {
  type BoundedAnswer,
  defaultTimeoutMs,
  fetchBounded,
  readHttpUrl,
  timeoutArg,
} from "../verify/bounded-fetch.ts";
import { writeUnlessThere } from "./anchor-folder.ts";
import { readLogKeys, readStateFile, rememberInFile } from "./witness-state.ts";

/** How far a checkpoint's time may lie ahead of this machine's clock, as with every other time that is verified. */
const aheadMs = 60_000;

/** What became of a log since it was last seen; `unlinked` is a new epoch that does not name what was seen before it. */
type Verdict = "first" | "unlinked" | "same" | "grown" | "forked" | "shrunk";

type Shown = { readonly checkpoint: Checkpoint; readonly note: string };

type Finding = {
  readonly verdict: Verdict;
  /** What it means, for people. */
  readonly words: string;
  readonly seen: RememberedCheckpoint | null;
};

export const logWitnessCommand = command({
  ...words["log witness"],
  args: {
    url: operand(readHttpUrl),
    "log-key": {
      ...option("KEY"),
      required: true,
    },
    "log-state": {
      ...option("FILE"),
      required: true,
    },
    ...timeoutArg,
  },
  async run({ args, rawArgs }) {
    const keys = await readLogKeys(everyValue(rawArgs, "log-key") ?? [args["log-key"]]);
    const file = args["log-state"];
    const state = readStateFile("--log-state", file);
    const log = openWitnessedLog(args.url, args.timeout ?? defaultTimeoutMs);
    const shown = await fetchCheckpoint(log, keys);
    const finding = await judge(shown, state, log);
    const isGood = finding.verdict !== "forked" && finding.verdict !== "shrunk";
    if (isGood) await rememberInFile(file, shown);
    else process.exitCode = exitCodes.refused;
    if (finding.verdict === "unlinked") process.exitCode = exitCodes.undecided;
    const evidence = isGood ? [] : await keepEvidence(file, shown, finding);
    print(args, describe(shown, finding, evidence), () => text(shown, finding, evidence));
  },
});

/** @throws TvsError INPUT_UNREADABLE for whatever cannot be verified */
async function fetchCheckpoint(log: WitnessedLog, keys: Parameters<typeof openCheckpoint>[1]) {
  const body = await log.checkpoint();
  const checkpoint = await openCheckpoint(body, keys);
  if (checkpoint instanceof Refusal) throw undecidable(whyNotOpened(checkpoint, body));
  if (checkpoint.seconds * 1000 > Date.now() + aheadMs)
    throw undecidable(
      "the checkpoint is from the future; check the clock of this machine, then that of the service",
    );
  return { checkpoint, note: new TextDecoder().decode(body) };
}

function whyNotOpened({ reason, detail }: Refusal, body: Uint8Array): string {
  const [origin = ""] = new TextDecoder().decode(body).split("\n", 1);
  if (reason === "LOG_EPOCH_UNKNOWN")
    return (
      `the log has gone over to another epoch, ${origin.slice(0, 200)}, whose key was not given. Ask its operator by ` +
      "another way why, and for that key; then give it with a further --log-key"
    );
  if (reason === "PROOF_OF_ANOTHER_LOG")
    return `the checkpoint is of ${origin.slice(0, 200)}, a log that no --log-key is of`;
  if (reason === "CHECKPOINT_SIGNATURE_INVALID")
    return `the checkpoint was not signed by the key that --log-key gives for ${origin.slice(0, 200)}`;
  return `what was sent as the newest checkpoint is none: ${detail ?? reason}`;
}

/** Holds what a log shows against the largest checkpoint seen of it. @throws TvsError INPUT_UNREADABLE */
async function judge({ checkpoint }: Shown, state: LogState, log: WitnessedLog): Promise<Finding> {
  const { origin, size } = checkpoint;
  const { before, after: later } = neighbours(origin, state);
  if (later !== undefined) {
    const words = `the log shows ${origin} as its newest epoch again, after it had gone over to ${later.origin}`;
    return { verdict: "shrunk", words, seen: later };
  }
  const seen = state.get(origin) ?? null;
  if (seen === null) return judgeNew(checkpoint, before, log);
  if (findFork(checkpoint, state) !== null)
    return { verdict: "forked", words: `the log has shown two different trees of ${size} entries`, seen };
  if (size === seen.size) return { verdict: "same", words: "the log has not changed", seen };
  return size < seen.size ? judgeSmaller(checkpoint, seen, log) : judgeLarger(checkpoint, seen, log);
}

/** Of an epoch that was never seen: its first entry names the last checkpoint of the one before (decision D13.4). */
async function judgeNew(
  { origin, size, root }: Checkpoint,
  before: RememberedCheckpoint | undefined,
  log: WitnessedLog,
): Promise<Finding> {
  if (before === undefined) {
    const words = "nothing was seen of this log before; it is from now on";
    return { verdict: "first", words, seen: null };
  }
  const leafHash = new Uint8Array(openingLeafHash(before.note));
  const proof = await log.inclusion(leafHash, size);
  const gone = `the log has gone over from ${before.origin} to ${origin}`;
  const seenLast = `the checkpoint of ${before.size} entries that was seen last`;
  if (proof === null) {
    const words =
      `${gone}, which does not name ${seenLast}: it may name a later one, or an epoch between them, and whether that ` +
      "goes on from what was seen cannot be decided from here. Ask its operator for the checkpoint that it names. The " +
      "new epoch is watched from now on";
    return { verdict: "unlinked", words, seen: before };
  }
  const proven =
    proof.index === 0 && proof.size === size ? await rootOfInclusion({ leafHash, ...proof }) : null;
  if (proven === null || !isSameHash(proven, root))
    throw undecidable(`${gone}, and what it sent as the proof that it names ${seenLast} does not hold`);
  return { verdict: "first", words: `${gone}, which names ${seenLast}`, seen: before };
}

async function judgeLarger(
  { size, root }: Checkpoint,
  seen: RememberedCheckpoint,
  log: WitnessedLog,
): Promise<Finding> {
  const hashes = await log.consistency(seen.size, size);
  if (hashes === null)
    throw undecidable(
      `the log does not know its ${size} entries when asked whether they go on from ${seen.size}`,
    );
  if (await isConsistent({ from: seen.size, to: size, fromRoot: seen.root, toRoot: root, hashes })) {
    const words = `the log has grown by ${size - seen.size} entries, and goes on from before`;
    return { verdict: "grown", words, seen };
  }
  const words = `the tree of ${size} entries does not go on from that of ${seen.size}: what it proves does not hold`;
  return { verdict: "forked", words, seen };
}

/** A thread, a node or a cache may show an earlier checkpoint for seconds; the log still knows what it has grown into. */
async function judgeSmaller(
  { size, root, seconds }: Checkpoint,
  seen: RememberedCheckpoint,
  log: WitnessedLog,
): Promise<Finding> {
  const hashes = await log.consistency(size, seen.size);
  if (hashes === null) {
    const words =
      `the log has shown ${seen.size} entries before, and shows ${size} now, signed ${isoSeconds(seconds)}; asked for ` +
      `the tree of ${seen.size}, it does not know it: entries were taken back`;
    return { verdict: "shrunk", words, seen };
  }
  if (await isConsistent({ from: size, to: seen.size, fromRoot: root, toRoot: seen.root, hashes })) {
    const words = `an earlier checkpoint was shown, of ${size} entries; the log has grown from there into what was seen`;
    return { verdict: "same", words, seen };
  }
  const words = `the tree of ${seen.size} entries that was seen does not go on from the one of ${size} that is shown now`;
  return { verdict: "forked", words, seen };
}

/** The checkpoints that were seen of the epochs next before and next after, of the same log: numbers may be left out. */
function neighbours(origin: string, state: LogState) {
  const own = readOrigin(origin);
  const epochs = [...state.values()]
    .map((seen) => ({ seen, ...readOrigin(seen.origin) }))
    .filter(({ log }) => log === own.log)
    .sort((a, b) => a.epoch - b.epoch);
  const before = epochs.findLast(({ epoch }) => epoch < own.epoch)?.seen;
  return { before, after: epochs.find(({ epoch }) => epoch > own.epoch)?.seen };
}

/**
 * Writes both checkpoints beside the state file: two notes of one key that contradict each other convince everybody.
 * @returns the files; none where they cannot be written, which then only the output has
 */
async function keepEvidence(stateFile: string, { note }: Shown, { seen }: Finding): Promise<string[]> {
  const before = seen?.note ?? "";
  const id = createHash("sha256").update(before).update(note).digest("hex").slice(0, 12);
  const files = {
    [`${stateFile}.${id}.seen.checkpoint`]: before,
    [`${stateFile}.${id}.shown.checkpoint`]: note,
  };
  try {
    for (const [file, content] of Object.entries(files)) await writeUnlessThere(file, content);
    return Object.keys(files);
  } catch {
    return [];
  }
}

function describe(
  { checkpoint, note }: Shown,
  { verdict, words, seen }: Finding,
  evidence: readonly string[],
) {
  const { origin, size, seconds } = checkpoint;
  return {
    verdict,
    origin,
    size,
    checkpointAt: isoSeconds(seconds),
    seenSize: seen?.size ?? null,
    detail: words,
    evidence,
    checkpoint: note,
    seenCheckpoint: seen?.note ?? null,
  };
}

function text(shown: Shown, finding: Finding, evidence: readonly string[]): string {
  const { verdict, origin, size, checkpointAt, seenSize, detail } = describe(shown, finding, evidence);
  const lines = record({ log: origin, verdict, detail, size, signed: checkpointAt, "seen before": seenSize });
  if (verdict !== "forked" && verdict !== "shrunk") return lines;
  if (evidence.length > 0) return `${lines}\n${record({ evidence: evidence.join(", ") })}`;
  // A note may hold what steers a terminal, signed or not.
  const shownAs = (note: string) => note.split("\n").map(printable).join("\n");
  return `${lines}\n\nseen before:\n${shownAs(finding.seen?.note ?? "")}\nshown now:\n${shownAs(shown.note)}`;
}

// A service's evidence log, as everybody can ask it: the answers as they are, read but not believed.

type Hashes = readonly Uint8Array<ArrayBuffer>[];

/** What a witness asks. Each throws TvsError INPUT_UNREADABLE for an answer that is none. */
type WitnessedLog = ReturnType<typeof openWitnessedLog>;

export function undecidable(words: string): TvsError {
  return new TvsError("INPUT_UNREADABLE", words);
}

/** @param service its address, which may have a path of its own. @param timeoutMs for each answer */
function openWitnessedLog(service: URL, timeoutMs: number) {
  const base = `${service.origin}${service.pathname.replace(/\/+$/, "")}/v1/inter-agency/log`;
  const ask = (path: string) =>
    fetchBounded({ url: new URL(`${base}/${path}`), called: "the log", timeoutMs });

  return {
    /** The newest checkpoint: a note that nobody has verified. */
    async checkpoint(): Promise<Uint8Array> {
      const { status, body } = await ask("checkpoint");
      if (status === 404)
        throw undecidable("the log has no checkpoint yet, or there is no such service at that address");
      if (status !== 200)
        throw undecidable(`the log answered HTTP ${status} when asked for its newest checkpoint`);
      return body;
    },
    /** Whether one tree begins with another; null when the log says that it never signed for so many entries. */
    async consistency(from: number, to: number): Promise<Hashes | null> {
      const asked = `to prove that ${to} entries go on from ${from}`;
      const answer = readAnswer(await ask(`consistency?from=${from}&to=${to}`), asked);
      return answer && readHashes(answer.hashes, "consistency");
    },
    /** Where a leaf stands in the tree of `size` entries; null when the log says that it has no such leaf. */
    async inclusion(leafHash: Uint8Array, size: number): Promise<Omit<InclusionProof, "leafHash"> | null> {
      const hex = Buffer.from(leafHash).toString("hex");
      const answer = readAnswer(await ask(`inclusion/${hex}?size=${size}`), "for its first entry");
      if (answer === null) return null;
      const { leafIndex, treeSize } = answer;
      if (typeof leafIndex !== "number" || typeof treeSize !== "number") throw noProof("inclusion");
      return { index: leafIndex, size: treeSize, hashes: readHashes(answer.hashes, "inclusion") };
    },
  };
}

function noProof(of: string): TvsError {
  return undecidable(`what the log sent as a proof of ${of} is none`);
}

/** @returns null for what the log says is not there; an empty object for what is no proof */
function readAnswer({ status, body }: BoundedAnswer, asked: string): { [name: string]: JsonValue } | null {
  if (status === 404) return null;
  if (status !== 200) throw undecidable(`the log answered HTTP ${status} when asked ${asked}`);
  const json = readStrictJson(body);
  return !(json instanceof Refusal) && isJsonObject(json) ? json : {};
}

function readHashes(texts: JsonValue | undefined, of: string): Hashes {
  if (!Array.isArray(texts)) throw noProof(of);
  return texts.map((one) => {
    const hash = typeof one === "string" ? decodeHash(one) : null;
    if (hash === null) throw noProof(of);
    return hash;
  });
}

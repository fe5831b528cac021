/** `tvs log check`: watches a log from outside, without a register, wherever this program runs. */

import words from "../../data/commands.json" with { type: "json" };
import { isoSeconds } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { decodeHash } from "../../src/partner/base64.ts";
import { type Checkpoint, openCheckpoint, readOrigin } from "../../src/partner/log-checkpoint.ts";
import { findFork, type LogState, type RememberedCheckpoint } from "../../src/partner/log-state.ts";
import { isConsistent } from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import type { VerifierKey } from "../../src/partner/signed-note.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "../../src/partner/strict-json.ts";
import { command, everyValue, operand, option } from "../command.ts";
import { exitCodes, print, printable, record } from "../terminal/output.ts";
import { defaultTimeoutMs, fetchBounded, readHttpUrl, timeoutArg } from "../verify/bounded-fetch.ts";
import { readLogKeys, readStateFile, rememberInFile } from "./log-state.ts";

/** How far a checkpoint's time may lie ahead of this machine's clock, as with every other time that is verified. */
const aheadMs = 60_000;

/** What became of a log since it was last seen; `lost` is a new log that has not all that was seen of the one before. */
type Verdict = "first" | "same" | "grown" | "lost" | "forked" | "shrunk";

type Shown = { readonly checkpoint: Checkpoint; readonly note: string };

type Finding = {
  readonly verdict: Verdict;
  /** What it means, for people. */
  readonly words: string;
  readonly seen: RememberedCheckpoint | null;
};

/** Whether the tree of one checkpoint begins with that of another; null when the log does not know so many leaves. */
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
    const shown = await readShown(await log.checkpoint(), keys);
    const finding = await judge(shown.checkpoint, state, log.isConsistent);
    const isGood = finding.verdict !== "forked" && finding.verdict !== "shrunk";
    if (isGood) await rememberInFile(file, shown);
    else process.exitCode = exitCodes.refused;
    if (finding.verdict === "lost") process.exitCode = exitCodes.undecided;
    const described = describe(shown, finding);
    print(args, described, () => text(described, isGood));
  },
});

/** @throws TvsError INPUT_UNREADABLE for a checkpoint that cannot be verified */
async function readShown(body: Uint8Array, keys: readonly VerifierKey[]): Promise<Shown> {
  const checkpoint = await openCheckpoint(body, keys);
  if (checkpoint instanceof Refusal) throw undecidable(whyNotOpened(checkpoint, body));
  if (checkpoint.seconds * 1000 > Date.now() + aheadMs)
    throw undecidable(
      "the checkpoint is from the future; check the clock of this machine, then that of the service",
    );
  return { checkpoint, note: new TextDecoder().decode(body) };
}

function whyNotOpened({ reason, detail }: Refusal, body: Uint8Array): string {
  const origin = (new TextDecoder().decode(body).split("\n", 1)[0] ?? "").slice(0, 200);
  if (reason === "LOG_KEY_MISSING")
    return (
      `the service has begun a new log, ${origin}, whose key was not given. Ask its operator by another way why, and for ` +
      "that key; then give it with a further --log-key"
    );
  if (reason === "PROOF_OF_ANOTHER_LOG")
    return `the checkpoint is of ${origin}, a log that no --log-key is of`;
  if (reason === "CHECKPOINT_SIGNATURE_INVALID")
    return `the checkpoint was not signed by the key that --log-key gives for ${origin}`;
  return `what was sent as the newest checkpoint is none: ${detail ?? reason}`;
}

/** Holds what a log shows against the largest checkpoint seen of it. @throws TvsError INPUT_UNREADABLE */
async function judge(shown: Checkpoint, state: LogState, ask: AskConsistency): Promise<Finding> {
  const { origin, size, seconds } = shown;
  const { before, after } = neighbours(origin, state);
  if (after !== undefined) {
    const words = `the service shows ${origin} as its newest log again, after it had gone over to ${after.origin}`;
    return { verdict: "shrunk", words, seen: after };
  }
  const seen = state.get(origin) ?? null;
  if (seen === null) return judgeNew(shown, before, ask);
  if (findFork(shown, state) !== null)
    return { verdict: "forked", words: `the log has shown two different trees of ${size} entries`, seen };
  if (size === seen.size) return { verdict: "same", words: "the log has not changed", seen };
  if (size > seen.size) {
    const grows = await ask(seen, shown);
    if (grows === null)
      throw undecidable(
        `the log does not know its ${size} entries when asked whether they go on from ${seen.size}`,
      );
    if (grows) {
      const words = `the log has grown by ${size - seen.size} entries, and goes on from before`;
      return { verdict: "grown", words, seen };
    }
    return {
      verdict: "forked",
      words: `the tree of ${size} entries does not go on from that of ${seen.size}`,
      seen,
    };
  }
  // A thread, a node or a cache may show an earlier checkpoint for seconds; the log still knows what it has grown into.
  const grew = await ask(shown, seen);
  if (grew === null) {
    const words =
      `the log has shown ${seen.size} entries before, and shows ${size} now, signed ${isoSeconds(seconds)}; it does not ` +
      "know the larger tree any more: entries were taken back";
    return { verdict: "shrunk", words, seen };
  }
  if (grew) {
    const words = `an earlier checkpoint was shown, of ${size} entries; the log has grown from there into what was seen`;
    return { verdict: "same", words, seen };
  }
  return {
    verdict: "forked",
    words: `the tree of ${seen.size} entries that was seen does not go on from that of ${size}`,
    seen,
  };
}

/** Of a log that was not seen before. A later one of the same service has the tree of the one before, but for what was lost. */
async function judgeNew(
  shown: Checkpoint,
  before: RememberedCheckpoint | undefined,
  ask: AskConsistency,
): Promise<Finding> {
  if (before === undefined)
    return { verdict: "first", words: "nothing was seen of this log before; it is from now on", seen: null };
  const gone = `the service has gone over from ${before.origin} to ${shown.origin}`;
  const goesOn = shown.size >= before.size && (await ask(before, shown));
  if (goesOn === true)
    return {
      verdict: "grown",
      words: `${gone}, which has all ${before.size} entries that were seen`,
      seen: before,
    };
  const words =
    `${gone}, which has not all of the ${before.size} entries that were seen: ask its operator what was lost, and why. The ` +
    "new log is watched from now on";
  return { verdict: "lost", words, seen: before };
}

/** The checkpoints that were seen of the logs next before and next after, of the same service: numbers may be left out. */
function neighbours(origin: string, state: LogState) {
  const own = readOrigin(origin);
  const logs = [...state.values()]
    .map((seen) => ({ seen, ...readOrigin(seen.origin) }))
    .filter(({ service }) => service === own.service)
    .sort((a, b) => a.number - b.number);
  const before = logs.findLast(({ number }) => number < own.number)?.seen;
  return { before, after: logs.find(({ number }) => number > own.number)?.seen };
}

function describe({ checkpoint, note }: Shown, { verdict, words, seen }: Finding) {
  const { origin, size, seconds } = checkpoint;
  return {
    verdict,
    origin,
    size,
    checkpointAt: isoSeconds(seconds),
    seenSize: seen?.size ?? null,
    detail: words,
    checkpoint: note,
    seenCheckpoint: seen?.note ?? null,
  };
}

/** Two notes of one key that contradict each other convince everybody: where the log is not good, both are printed. */
function text(described: ReturnType<typeof describe>, isGood: boolean): string {
  const { verdict, origin, size, checkpointAt, seenSize, detail, checkpoint, seenCheckpoint } = described;
  const lines = record({ log: origin, verdict, detail, size, signed: checkpointAt, "seen before": seenSize });
  // A note may hold what steers a terminal, signed or not.
  const shownAs = (note: string | null) => (note ?? "").split("\n").map(printable).join("\n");
  return isGood
    ? lines
    : `${lines}\n\nseen before:\n${shownAs(seenCheckpoint)}\nshown now:\n${shownAs(checkpoint)}`;
}

function undecidable(words: string): TvsError {
  return new TvsError("INPUT_UNREADABLE", words);
}

/**
 * A service's evidence log, as everybody can ask it. Each question throws TvsError INPUT_UNREADABLE for an answer that
 * cannot be read.
 * @param service its address, which may have a path of its own. @param timeoutMs for each answer
 */
function openLogAt(service: URL, timeoutMs: number) {
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
    async isConsistent(from: Tree, to: Tree): Promise<boolean | null> {
      const { status, body } = await ask(`consistency?from=${from.size}&to=${to.size}`);
      if (status === 404) return null;
      if (status !== 200)
        throw undecidable(
          `the log answered HTTP ${status} when asked to prove that ${to.size} entries go on from ${from.size}`,
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

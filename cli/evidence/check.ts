/** Runs `tvs log check`, which compares a service's log with the checkpoints seen before, without a register. */

import { isoFromSeconds } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { decodeBase64Hash } from "../../src/partner/base64.ts";
import { type Checkpoint, splitLogOrigin, verifyCheckpoint } from "../../src/partner/log-checkpoint.ts";
import type { LogState, RememberedCheckpoint } from "../../src/partner/log-state.ts";
import { isConsistencyProven, isSameHash } from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import type { VerifierKey } from "../../src/partner/signed-note.ts";
import { isJsonObject, type JsonValue, readStrictJson } from "../../src/partner/strict-json.ts";
import { operand, option, readRepeatedOption } from "../command.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { escapeUnprintable, exitCodes, formatMembers, printResult } from "../terminal/output.ts";
import { defaultFetchTimeoutMs, fetchBounded, parseHttpUrl, timeoutArg } from "../verify/bounded-fetch.ts";
import { addToLogStateFile, readLogStateFile, readTrustedLogKeys } from "./log-state.ts";

/** How far a checkpoint's time may be ahead of this machine's clock, in ms. `tvs verify` has the same limit. */
const aheadMs = 60_000;

/**
 * `first`: the service's log was never seen before. `same`: no new entries. `grown`: the log, or its successor, has all
 * entries seen before. `lost`: the successor is not proven to have them. `forked`: the tree contradicts the tree seen
 * before. `shrunk`: the service does not show the larger tree, or the successor, that was seen before.
 */
type Verdict = "first" | "same" | "grown" | "lost" | "forked" | "shrunk";

/** A log's public routes: their base URL, and the timeout for each response in milliseconds. */
type LogRoutes = { readonly base: string; readonly timeoutMs: number };
type Tree = Pick<Checkpoint, "size" | "root">;

export const logCheckCommand = defineTvsCommand("log check", {
  args: {
    url: operand(parseHttpUrl),
    "log-key": { ...option("KEY"), required: true },
    "log-state": { ...option("FILE"), required: true },
    ...timeoutArg,
  },
  async run({ args, rawArgs }) {
    const keys = await readTrustedLogKeys(readRepeatedOption(rawArgs, "log-key") ?? [args["log-key"]]);
    const file = args["log-state"];
    const state = readLogStateFile("--log-state", file);
    const { origin: host, pathname } = args.url;
    const base = `${host}${pathname.replace(/\/+$/, "")}/v1/inter-agency/log`;
    const routes = { base, timeoutMs: args.timeout ?? defaultFetchTimeoutMs };
    const body = await get(routes, "checkpoint", "for its newest checkpoint");
    if (body === null)
      throw undecidable("the log has no checkpoint yet, or another service is at that address");
    const [checkpoint, note] = [await openShown(body, keys), new TextDecoder().decode(body)];
    const { verdict, detail, seen } = await compare(checkpoint, state, routes);
    const isGood = verdict !== "forked" && verdict !== "shrunk";
    if (isGood) await addToLogStateFile(file, { checkpoint, note });
    if (verdict !== "first" && verdict !== "same" && verdict !== "grown")
      process.exitCode = exitCodes[verdict === "lost" ? "undecided" : "refused"];
    const { origin, size, seconds } = checkpoint;
    const [checkpointAt, seenSize] = [isoFromSeconds(seconds), seen?.size ?? null];
    const described = { verdict, origin, size, checkpointAt, seenSize, detail };
    printResult(args, { ...described, checkpoint: note, seenCheckpoint: seen?.note ?? null }, () => {
      const lines = formatMembers(described);
      // Prints both notes, which contradict each other: anybody can verify that the log's key signed them.
      const notes = `seen before:\n${escapeNote(seen?.note ?? "")}\nshown now:\n${escapeNote(note)}`;
      return isGood ? lines : `${lines}\n\n${notes}`;
    });
  },
});

/** Replaces control characters in a note, which could otherwise control the terminal. */
function escapeNote(note: string): string {
  return note.split("\n").map(escapeUnprintable).join("\n");
}

/** Verifies the checkpoint that the log shows now. @throws TvsError INPUT_UNREADABLE */
async function openShown(body: Uint8Array, keys: readonly VerifierKey[]): Promise<Checkpoint> {
  const checkpoint = await verifyCheckpoint(body, keys);
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
  return `the log sent something else as its newest checkpoint: ${detail ?? reason}`;
}

/**
 * Compares the checkpoint shown now with the largest one seen before.
 * @returns the verdict, its explanation, and the checkpoint that was seen before
 * @throws TvsError INPUT_UNREADABLE if the log gives no proof
 */
async function compare(shown: Checkpoint, state: LogState, log: LogRoutes) {
  const { origin, size } = shown;
  const { before, after } = neighbours(origin, state);
  const seen = state.get(origin) ?? before ?? null;
  const found = (verdict: Verdict, detail: string, compared = seen) => ({ verdict, detail, seen: compared });
  if (after !== undefined)
    return found("shrunk", `the service shows ${origin} again, after ${after.origin} had followed it`, after);
  if (seen === null) return found("first", "nothing was seen of this log before; it is watched from now on");
  const isLarger = size >= seen.size;
  const goesOn = isLarger ? await isGrown(log, seen, shown) : await isGrown(log, shown, seen);
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
  // A node or a cache may still show an earlier checkpoint for some seconds.
  return found("same", `an earlier checkpoint was shown, and the trees ${sizes} fit`);
}

/** Finds, among the logs whose checkpoints were seen, the last log before `origin` and the first log after `origin`. */
function neighbours(origin: string, state: LogState) {
  const own = splitLogOrigin(origin);
  const numberOf = (seen: RememberedCheckpoint) => splitLogOrigin(seen.origin).number;
  const logs = [...state.values()]
    .filter((seen) => splitLogOrigin(seen.origin).service === own.service)
    .sort((a, b) => numberOf(a) - numberOf(b));
  return {
    before: logs.findLast((seen) => numberOf(seen) < own.number),
    after: logs.find((seen) => numberOf(seen) > own.number),
  };
}

function undecidable(words: string): TvsError {
  return new TvsError("INPUT_UNREADABLE", words);
}

/** Fetches a path. @param asked completes the message "when asked" @returns null for 404 @throws TvsError */
async function get({ base, timeoutMs }: LogRoutes, path: string, asked: string): Promise<Uint8Array | null> {
  const { status, body } = await fetchBounded(new URL(`${base}/${path}`), timeoutMs);
  if (status === 200 || status === 404) return status === 200 ? body : null;
  throw undecidable(`the log answered HTTP ${status} when asked ${asked}`);
}

/** Asks the log to prove that tree `to` begins with tree `from`. @returns null if the log has fewer leaves than `to` */
async function isGrown(log: LogRoutes, from: Tree, to: Tree): Promise<boolean | null> {
  if (from.size === to.size) return isSameHash(from.root, to.root);
  const asked = `whether ${to.size} entries go on from ${from.size}`;
  const body = await get(log, `consistency?from=${from.size}&to=${to.size}`, asked);
  if (body === null) return null;
  const hashes = readHashes(readStrictJson(body));
  return isConsistencyProven({ from: from.size, to: to.size, fromRoot: from.root, toRoot: to.root, hashes });
}

function readHashes(json: JsonValue | Refusal): Uint8Array<ArrayBuffer>[] {
  const texts = !(json instanceof Refusal) && isJsonObject(json) ? json.hashes : null;
  const hashes = Array.isArray(texts) ? texts.map((one) => decodeBase64Hash(String(one))) : [null];
  if (hashes.every((hash) => hash !== null)) return hashes;
  throw undecidable("the log sent something else as a proof of consistency");
}

import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { programWords } from "../harness/program.ts";
import { cores } from "./machine.ts";

/** An executable that is measured. */
export type Program = {
  readonly words: readonly string[];
  /** The release that the one of this source is compared with. */
  readonly isEarlier: boolean;
  /** Whether it can be told by how many threads to serve. */
  readonly hasThreads: boolean;
  /** By how many it serves here; null for the program's own choice. */
  readonly threads: number | null;
};

/** What takes turns in each round, the program of this source first. */
export type Programs = readonly [own: Program, ...earlier: Program[]];

/**
 * @param threads for the program of this source; its own choice when null
 * @param against path of another executable; nothing is compared when null
 * @throws Error when that one cannot be run, or this one does not know threads
 */
export function findPrograms({
  threads,
  against,
}: {
  threads: number | null;
  against: string | null;
}): Programs {
  const ownHasThreads = knowsThreads(programWords);
  if (threads !== null && !ownHasThreads) throw new Error("this build's serve has no --threads");
  const own = { words: programWords, isEarlier: false, hasThreads: ownHasThreads, threads };
  if (against === null) return [own];
  const words = [resolve(against)];
  accessSync(resolve(against), constants.X_OK);
  return [own, { words, isEarlier: true, hasThreads: knowsThreads(words), threads: null }];
}

function knowsThreads(words: readonly string[]): boolean {
  const { stdout } = Bun.spawnSync([...words, "serve", "--help"], { stderr: "ignore" });
  return stdout.toString().includes("--threads");
}

/** The options of `serve` that this program is measured with. */
export function serveWords({ threads }: Program): string[] {
  return threads === null ? [] : ["--threads", String(threads)];
}

/** Who serves with one program, for a table's caption. */
export function threadsOf({ threads, hasThreads }: Program): string {
  if (!hasThreads) return "no --threads";
  return `--threads ${threads ?? `${cores} (its own choice)`}`;
}

/** The same things, every other round in the opposite order: what comes second may find the machine warmer. */
export function inTurn<T>(compared: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...compared] : [...compared].reverse();
}

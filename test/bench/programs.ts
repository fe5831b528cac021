import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { programWords } from "../harness/program.ts";
import { cores } from "./machine.ts";

/** An executable that is measured. */
export type Program = {
  readonly words: readonly string[];
  /** The release that the one of this source is compared with. */
  readonly isEarlier: boolean;
  /** Whether its `serve` has the option `--signers`. */
  readonly hasSigners: boolean;
  /** By how many it serves here; null for the program's own choice. */
  readonly signers: number | null;
};

/** What takes turns in each round, the program of this source first. */
export type Programs = readonly [own: Program, ...earlier: Program[]];

/**
 * @param signers for the program of this source; its own choice when null
 * @param against path of another executable; nothing is compared when null
 * @throws Error when that one cannot be run, or this one does not know signers
 */
export function findPrograms({
  signers,
  against,
}: {
  signers: number | null;
  against: string | null;
}): Programs {
  const ownHasSigners = knowsSigners(programWords);
  if (signers !== null && !ownHasSigners) throw new Error("this build's serve has no --signers");
  const own = { words: programWords, isEarlier: false, hasSigners: ownHasSigners, signers };
  if (against === null) return [own];
  const words = [resolve(against)];
  accessSync(resolve(against), constants.X_OK);
  return [own, { words, isEarlier: true, hasSigners: knowsSigners(words), signers: null }];
}

function knowsSigners(words: readonly string[]): boolean {
  const { stdout } = Bun.spawnSync([...words, "serve", "--help"], { stderr: "ignore" });
  return stdout.toString().includes("--signers");
}

/** The options of `serve` that this program is measured with. */
export function serveWords({ signers }: Program): string[] {
  return signers === null ? [] : ["--signers", String(signers)];
}

/** Who serves with one program, for a table's caption. */
export function signersOf({ signers, hasSigners }: Program): string {
  if (!hasSigners) return "no --signers";
  return `--signers ${signers ?? `${cores} (its own choice)`}`;
}

/** The same things, every other round in the opposite order: what comes second may find the machine warmer. */
export function inTurn<T>(compared: readonly T[], round: number): T[] {
  return round % 2 === 0 ? [...compared] : [...compared].reverse();
}

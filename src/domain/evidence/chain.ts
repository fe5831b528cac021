/**
 * What checkpoints say of one another. Each names the one before it, by an extension line (C2SP tlog-checkpoint; decision
 * D13.2): so none can be taken out of the database unnoticed, as long as somebody has a later one.
 */

import { hash } from "node:crypto";
import { readOrigin, readTreeHead, type TreeHead } from "../../partner/log-checkpoint.ts";
import { Refusal } from "../../partner/reasons.ts";
import { readNote } from "../../partner/signed-note.ts";
import { TvsError } from "../errors.ts";

const name = "previous ";

/** The line that names a checkpoint. @param note the signed note as it left; null where there is none before */
export function linkTo(note: string | null): string {
  return `${name}${hash("sha256", note ?? "", "base64")}`;
}

/** The line by which a checkpoint names the one before it; null in one from before checkpoints were chained. */
export function linkOf({ extensions = [] }: Pick<TreeHead, "extensions">): string | null {
  return extensions.find((line) => line.startsWith(name)) ?? null;
}

/** Whether a checkpoint is one of those that name the one before them: an old one does not, nor what is none. */
export function isChained(note: string | null): boolean {
  return linkOf(headIn(note) ?? {}) !== null;
}

/** What a note states that the database holds, where anything may stand; null when it is none. */
export function headIn(note: string | null | undefined): TreeHead | null {
  const signed = readNote(note ?? "");
  const head = signed instanceof Refusal ? signed : readTreeHead(signed.text);
  return head instanceof Refusal ? null : head;
}

/** @throws TvsError INPUT_UNREADABLE */
export function treeHeadOf(note: string): TreeHead {
  const found = headIn(note);
  if (found !== null) return found;
  throw new TvsError("INPUT_UNREADABLE", "the kept checkpoint of the evidence log is not one");
}

/** Whether a checkpoint is of an earlier epoch than another one, or of a smaller tree of the same. */
export function isBefore(note: string, other: string): boolean {
  const [one, another] = [treeHeadOf(note), treeHeadOf(other)];
  const epochs = readOrigin(one.origin).epoch - readOrigin(another.origin).epoch;
  return epochs < 0 || (epochs === 0 && one.size < another.size);
}

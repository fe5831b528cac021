/**
 * Each checkpoint names the one before it, by an extension line (C2SP tlog-checkpoint; decision D13.2): so none can be
 * taken out of the database unnoticed, as long as somebody has a later one.
 */

import { hash } from "node:crypto";
import type { TreeHead } from "../../partner/log-checkpoint.ts";

const name = "previous ";

/** The line that names a checkpoint. @param note the signed note as it left; null where there is none before */
export function linkTo(note: string | null): string {
  return `${name}${hash("sha256", note ?? "", "base64")}`;
}

/** The line by which a checkpoint names the one before it; null in one from before checkpoints were chained. */
export function linkOf({ extensions = [] }: Pick<TreeHead, "extensions">): string | null {
  return extensions.find((line) => line.startsWith(name)) ?? null;
}

import { Buffer } from "node:buffer";
import type { TeacherPatch } from "./rows.ts";

const indexes = ["ninIndex", "emailIndex", "phoneIndex"] as const;

/** A patch on its way through JSON: its blind indexes are hex. */
export type WrittenPatch = Readonly<Record<string, unknown>>;

export function writtenPatch(patch: TeacherPatch): WrittenPatch {
  const written: Record<string, unknown> = { ...patch };
  for (const index of indexes) {
    const bytes = patch[index];
    if (bytes !== undefined) written[index] = hexOf(bytes);
  }
  return written;
}

/** The patch as it was. @param written is taken over and changed */
export function readPatch(written: WrittenPatch): TeacherPatch {
  const patch = written as Record<string, unknown>;
  for (const index of indexes) {
    const hex = patch[index];
    if (typeof hex === "string") patch[index] = new Uint8Array(Buffer.from(hex, "hex"));
  }
  return patch as TeacherPatch;
}

export function hexOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString("hex");
}

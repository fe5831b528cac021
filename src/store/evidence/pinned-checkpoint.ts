import { lstatSync, readFileSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import { isBefore } from "../../domain/evidence/chain.ts";
import { codeOf, discard, placeOver, writeBeside } from "../driver/files.ts";

/** No log has more signatures on a checkpoint than fit into this. */
const maxBytes = 64 * 1024;

export type PinnedCheckpoint = ReturnType<typeof openPinnedCheckpoint>;

/**
 * The newest checkpoint in a file beside the master key: what the database may not fall behind (decision D13.3).
 * @param file its path; it need not be there
 */
export function openPinnedCheckpoint(file: string) {
  let known: string | undefined;

  /** The signed note; null when there is none yet. @throws TvsError INPUT_UNREADABLE */
  function read(): string | null {
    try {
      const stat = lstatSync(file);
      if (!stat.isFile() || stat.size > maxBytes) throw unreadable(file);
      return readFileSync(file, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw error instanceof TvsError ? error : unreadable(file, error);
    }
  }

  /** @returns whether it was given its name: not when others have kept a later one while this one was written */
  function place(written: string, note: string): boolean {
    try {
      const kept = read();
      if (kept !== null && isBefore(note, kept)) return false;
      placeOver(written, file);
      return true;
    } finally {
      discard(written);
    }
  }

  return {
    read,
    /**
     * Keeps it, unless a later one is kept by then ({@link isBefore}); it is on the disk when this is over.
     * @throws TvsError STORE_READ_ONLY
     */
    async write(note: string) {
      if (note === known && read() === note) return;
      try {
        if (!place(await writeBeside(file, note), note)) return;
        known = note;
      } catch (cause) {
        if (cause instanceof TvsError) throw cause;
        const message = `${file} cannot be written, and nothing is signed for without it; check the data directory`;
        throw new TvsError("STORE_READ_ONLY", message, { cause });
      }
    },
  };
}

function unreadable(file: string, cause?: unknown): TvsError {
  const message = `${file}, the newest checkpoint of the evidence log, cannot be read; check its owner and mode`;
  return new TvsError("INPUT_UNREADABLE", message, { cause });
}

import { lstatSync, readFileSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import { isBefore } from "../../domain/evidence/log.ts";
import { codeOf, discard, placeOver, writeBeside } from "../driver/files.ts";

/** No log has more signatures on a checkpoint than fit into this. */
const maxBytes = 64 * 1024;

export type PinnedCheckpoint = ReturnType<typeof openPinnedCheckpoint>;

/**
 * The newest checkpoint in a file beside the master key: what the database may not fall behind (decision D13.3).
 * @param file its path; it need not be there
 */
export function openPinnedCheckpoint(file: string) {
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

  return {
    read,
    /**
     * Pins a checkpoint; it is on the disk when this is over.
     * @returns false when a later one is pinned by then ({@link isBefore})
     * @throws TvsError STORE_READ_ONLY
     */
    async write(note: string): Promise<boolean> {
      try {
        const written = await writeBeside(file, note);
        try {
          const pinned = read();
          if (pinned !== null && isBefore(note, pinned)) return false;
          placeOver(written, file);
          return true;
        } finally {
          discard(written);
        }
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

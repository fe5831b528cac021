import { lstatSync, readFileSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import { isEarlierCheckpoint } from "../../domain/evidence/log.ts";
import { discardFile, replaceFile, writeTemporaryFile } from "../driver/files.ts";

/** Maximum bytes of the file. A checkpoint with two signatures has less than a kilobyte. */
const maxBytes = 64 * 1024;

export type PinnedCheckpointStore = ReturnType<typeof openPinnedCheckpoint>;

/**
 * Opens the pinned checkpoint: a file beside the master key that has the newest checkpoint of the log. The service
 * refuses a database that lacks leaves under this checkpoint (decision D13.3). @param file created by the first write
 */
export function openPinnedCheckpoint(file: string) {
  /** Reads the signed note. @returns null before the first write @throws TvsError INPUT_UNREADABLE */
  function read(): string | null {
    try {
      const stat = lstatSync(file, { throwIfNoEntry: false });
      if (stat === undefined) return null;
      if (stat.isFile() && stat.size <= maxBytes) return readFileSync(file, "utf8");
      throw new Error("it is not a file, or too large");
    } catch (cause) {
      const message = `${file}, the newest checkpoint of the evidence log, cannot be read; check its owner and mode`;
      throw new TvsError("INPUT_UNREADABLE", message, { cause });
    }
  }

  return {
    read,
    /**
     * Pins a checkpoint. When the promise resolves, the file is on the disk.
     * @returns false if the pinned checkpoint is later than `note` ({@link isEarlierCheckpoint})
     * @throws TvsError STORE_READ_ONLY, INPUT_UNREADABLE
     */
    async write(note: string): Promise<boolean> {
      let written: string | null = null;
      try {
        written = await writeTemporaryFile(file, note);
        const pinned = read();
        if (pinned !== null && isEarlierCheckpoint(note, pinned)) return false;
        replaceFile(written, file);
        return true;
      } catch (cause) {
        if (cause instanceof TvsError) throw cause;
        const message = `${file} cannot be written, and nothing is signed for without it; check the data directory`;
        throw new TvsError("STORE_READ_ONLY", message, { cause });
      } finally {
        if (written !== null) discardFile(written);
      }
    },
  };
}

import { readFileSync, rmSync } from "node:fs";
import { TvsError } from "../../domain/errors.ts";
import type { DueEpoch } from "../../domain/evidence/epochs.ts";
import { codeOf, placeOver, writeBeside } from "../driver/files.ts";

export type DueEpochFile = ReturnType<typeof openDueEpochFile>;

/**
 * The mark that an epoch is due, in a file beside the master key: token, number and reason, a line each.
 * @param file its path; it need not be there
 */
export function openDueEpochFile(file: string) {
  return {
    /** @returns null where there is none. @throws TvsError INPUT_UNREADABLE */
    read(): DueEpoch | null {
      try {
        const [token = "", epoch, reason = ""] = readFileSync(file, "utf8").split("\n");
        return { token, epoch: Number(epoch), reason };
      } catch (cause) {
        if (codeOf(cause) === "ENOENT") return null;
        throw new TvsError("INPUT_UNREADABLE", `${file} cannot be read; check its owner and mode`, { cause });
      }
    },
    /** @throws TvsError STORE_READ_ONLY */
    async write({ token, epoch, reason }: DueEpoch) {
      try {
        placeOver(await writeBeside(file, `${token}\n${epoch}\n${reason}\n`), file);
      } catch (cause) {
        throw new TvsError("STORE_READ_ONLY", `${file} cannot be written; check the data directory`, {
          cause,
        });
      }
    },
    remove: () => rmSync(file, { force: true }),
  };
}

/** What an import needs where there is no register yet. */

import { mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Config } from "../src/config.ts";
import { deriveSecrets, newMasterKey } from "../src/domain/secrets.ts";
import { type ImportReaderData, readInThread } from "./import-reader.ts";
import { noRegister } from "./register.ts";
import { note } from "./terminal/output.ts";

/**
 * Reads an extract to its end, so that none that cannot be read leaves a register behind that was made for it.
 * @param told how many bytes were read, again and again
 * @throws TvsError INPUT_UNREADABLE
 */
export async function readToEnd(entry: URL, file: string, told: (bytes: number) => void): Promise<void> {
  const { blindIndexKey } = deriveSecrets(newMasterKey());
  const data: ImportReaderData = { file, name: basename(file), blindIndexKey };
  let done = 0;
  for await (const { bytes } of readInThread(entry, data)) {
    done += bytes;
    told(done);
  }
}

/**
 * A register for a dry run where there is none: one in the temp folder, which goes when the program ends, so that an
 * extract can be tried before anything is made. It is said, because a mistyped --data looks the same. What a kill -9
 * leaves there names teachers, but not their NINs: the master key is in memory alone.
 */
export function throwAwayRegister(config: Config): Config {
  note(`${noRegister(config).message}; this is what a new one would contain`);
  const dataDir = mkdtempSync(join(tmpdir(), "tvs-dry-run-"));
  process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  const database = { kind: "file", file: join(dataDir, "tvs.db") } as const;
  return {
    ...config,
    dataDir,
    database,
    masterKey: newMasterKey(),
    masterKeyFile: join(dataDir, "master.key"),
  };
}

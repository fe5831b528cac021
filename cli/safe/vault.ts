import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../src/config.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { deriveSecrets, newMasterKey, type Secrets } from "../../src/domain/secrets.ts";
import { placeNew, writeBeside } from "../../src/store/driver/files.ts";
import { masterKeyCheckName, type SettingsStore } from "../../src/store/settings.ts";

/**
 * Finds the master key, or makes one for a database that has none yet, and derives the secrets.
 *
 * The key is on the disk before the database says that it belongs to it: a kill between the two leaves a
 * key that the next start adopts, never a database whose key nobody has.
 * @throws TvsError MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_INVALID
 */
export async function openVault(config: Config, settings: SettingsStore): Promise<Secrets> {
  const stored = (await settings.read()).get(masterKeyCheckName);
  const text = masterKeyAtHand(config);
  if (text === undefined && stored !== undefined) {
    const message =
      `${config.masterKeyFile} is missing, and this database was made with a master key; ` +
      (config.database.kind === "server"
        ? "copy it from a machine that has it, or set TVS_MASTER_KEY"
        : "put the file back, or set TVS_MASTER_KEY");
    throw new TvsError("MASTER_KEY_MISSING", message);
  }
  const secrets = deriveSecrets(text ?? (await createMasterKey(config.masterKeyFile)));
  const check = stored ?? (await settings.writeFirst(masterKeyCheckName, secrets.check));
  if (check === secrets.check) return secrets;
  if (text === undefined) {
    rmSync(config.masterKeyFile, { force: true });
    const message =
      "another machine has just made this register, with a master key of its own; " +
      `copy its master.key to ${config.masterKeyFile}`;
    throw new TvsError("MASTER_KEY_MISSING", message);
  }
  const message =
    "the master key is not the one this database was made with; use the master.key that belongs to it";
  throw new TvsError("MASTER_KEY_WRONG", message);
}

/** The master key's text, from the environment or from its file; undefined when there is none. */
export function masterKeyAtHand(config: Config): string | undefined {
  return config.masterKey ?? readMasterKey(config.masterKeyFile);
}

/** Where the master key is, which no backup contains. */
export function masterKeyLocation(config: Config): string {
  return config.masterKey === undefined ? config.masterKeyFile : "TVS_MASTER_KEY";
}

function readMasterKey(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new TvsError("MASTER_KEY_MISSING", `${file} cannot be read; check its owner and mode`, { cause });
  }
}

/**
 * Makes a master key in its file, which appears whole or not at all: of two first commands at once, the second finds
 * the whole key and uses it. A key that was put in the place of another's could open nothing that one has sealed.
 */
async function createMasterKey(file: string): Promise<string> {
  const text = newMasterKey();
  let temporary: string | undefined;
  try {
    temporary = await writeBeside(file, `${text}\n`);
    placeNew(temporary, file, true);
    return text;
  } catch (cause) {
    if (isTvsError(cause, "REFUSED")) return readFileSync(file, "utf8");
    throw new TvsError("STORE_READ_ONLY", `${file} cannot be written; check the data directory`, { cause });
  } finally {
    if (temporary !== undefined) rmSync(temporary, { force: true });
  }
}

/** Makes the data directory, readable by its owner alone. @throws TvsError STORE_READ_ONLY */
export function ensureDataDir({ dataDir, database }: Config): void {
  for (const folder of database.kind === "file" ? [dataDir, dirname(database.file)] : [dataDir]) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw new TvsError("STORE_READ_ONLY", `${folder} cannot be created; check --data`, { cause });
    }
  }
}

import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../src/config.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { deriveSecrets, generateMasterKey, type Secrets } from "../../src/domain/secrets.ts";
import { placeNewFile, writeTemporaryFile } from "../../src/store/driver/files.ts";
import { masterKeyCheckSettingName, type SettingsStore } from "../../src/store/settings.ts";

/**
 * Reads the master key, or makes one for a new database, and derives the secrets from it.
 *
 * The key is flushed to the disk before the database stores its check value. After a kill between the two steps, the
 * next command uses the same key.
 * @throws TvsError MASTER_KEY_MISSING, MASTER_KEY_WRONG, MASTER_KEY_INVALID
 */
export async function unlockSecrets(config: Config, settings: SettingsStore): Promise<Secrets> {
  const stored = (await settings.read()).get(masterKeyCheckSettingName);
  const text = findMasterKey(config);
  if (text === undefined && stored !== undefined) {
    const message =
      `${config.masterKeyFile} is missing, and this database was made with a master key; ` +
      (config.database.kind === "server"
        ? "copy it from a machine that has it, or set TVS_MASTER_KEY"
        : "put the file back, or set TVS_MASTER_KEY");
    throw new TvsError("MASTER_KEY_MISSING", message);
  }
  const secrets = deriveSecrets(text ?? (await createMasterKey(config.masterKeyFile)));
  const check = stored ?? (await settings.writeFirst(masterKeyCheckSettingName, secrets.check));
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

/** Reads the text of the master key from the environment, else from its file. @returns undefined without either */
export function findMasterKey(config: Config): string | undefined {
  return config.masterKey ?? readMasterKey(config.masterKeyFile);
}

export function describeMasterKeyLocation(config: Config): string {
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

/** Makes the file of a new master key in one step. If another command made the file first, returns the key of that file. */
async function createMasterKey(file: string): Promise<string> {
  const text = generateMasterKey();
  let temporary: string | undefined;
  try {
    temporary = await writeTemporaryFile(file, `${text}\n`);
    placeNewFile(temporary, file, true);
    return text;
  } catch (cause) {
    if (isTvsError(cause, "REFUSED")) return readFileSync(file, "utf8");
    throw new TvsError("STORE_READ_ONLY", `${file} cannot be written; check the data directory`, { cause });
  } finally {
    if (temporary !== undefined) rmSync(temporary, { force: true });
  }
}

/** Makes the data folder and the database's folder, with mode 0700. @throws TvsError STORE_READ_ONLY */
export function ensureDataDir({ dataDir, database }: Config): void {
  for (const folder of database.kind === "file" ? [dataDir, dirname(database.file)] : [dataDir]) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw new TvsError("STORE_READ_ONLY", `${folder} cannot be created; check --data`, { cause });
    }
  }
}

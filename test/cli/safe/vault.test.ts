import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findMasterKey, unlockSecrets } from "../../../cli/safe/vault.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { generateMasterKey } from "../../../src/domain/secrets.ts";
import { withTempDir } from "../../harness/folder.ts";
import { catchError } from "../../harness/rejection.ts";
import { masterKey, secrets } from "../../harness/samples.ts";
import { withStores } from "../../harness/store.ts";

const configOf = (data: string, key?: string) => readCommandConfig({ data }, { TVS_MASTER_KEY: key });

test("the first use of a database creates a master key file that only its owner can read, and stores a check value", () =>
  withStores(async ({ folder, settings }) => {
    const made = await unlockSecrets(configOf(folder), settings);
    const file = join(folder, "master.key");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toMatch(/^[\w-]{43}\n$/);
    expect((await settings.read()).get("master_key_check")).toBe(made.check);
    expect((await unlockSecrets(configOf(folder), settings)).check).toBe(made.check);
  }));

test("the first use of a database uses a master key file that exists already, for example after a kill", () =>
  withStores(async ({ folder, settings }) => {
    writeFileSync(join(folder, "master.key"), `${masterKey}\n`);
    expect((await unlockSecrets(configOf(folder), settings)).check).toBe(secrets.check);
  }));

test("the first use of a database with the master key in the environment writes no file, and stores only a derived value", () =>
  withStores(async ({ folder, settings }) => {
    await unlockSecrets(configOf(folder, masterKey), settings);
    expect(existsSync(join(folder, "master.key"))).toBe(false);
    const values = [...(await settings.read()).values()].join();
    expect(values).toContain(secrets.check);
    expect(values).not.toContain(masterKey);
  }));

test("the first use of a database stores no check value if the master key file cannot be written", () =>
  withStores(async ({ folder, settings }) => {
    const config = { ...configOf(folder), masterKeyFile: join(folder, "missing", "master.key") };
    expect(await catchError(unlockSecrets(config, settings))).toMatchObject({ code: "STORE_READ_ONLY" });
    expect((await settings.read()).has("master_key_check")).toBe(false);
  }));

test("a database whose master key is missing is refused, and no new master key is made", () =>
  withStores(async ({ folder, settings }) => {
    await unlockSecrets(configOf(folder), settings);
    unlinkSync(join(folder, "master.key"));
    const refusal = { code: "MASTER_KEY_MISSING", message: expect.stringContaining("TVS_MASTER_KEY") };
    expect(await catchError(unlockSecrets(configOf(folder), settings))).toMatchObject(refusal);
    expect(existsSync(join(folder, "master.key"))).toBe(false);
  }));

test("a command with another database's master key, from a file or the environment, is refused and changes nothing", () =>
  withStores(async ({ folder, settings }) => {
    const { check } = await unlockSecrets(configOf(folder), settings);
    const other = generateMasterKey();
    writeFileSync(join(folder, "master.key"), `${other}\n`);
    for (const config of [configOf(folder, other), configOf(folder)]) {
      const refusal = { code: "MASTER_KEY_WRONG", message: expect.not.stringContaining(other) };
      expect(await catchError(unlockSecrets(config, settings))).toMatchObject(refusal);
    }
    expect((await settings.read()).get("master_key_check")).toBe(check);
  }));

test("a command with a malformed master key is refused", () =>
  withStores(async ({ folder, settings }) => {
    writeFileSync(join(folder, "master.key"), "");
    for (const config of [configOf(folder, "short"), configOf(folder)])
      expect(await catchError(unlockSecrets(config, settings))).toMatchObject({ code: "MASTER_KEY_INVALID" });
  }));

test("the master key in the environment takes precedence over the master key file", () =>
  withTempDir(async (folder) => {
    writeFileSync(join(folder, "master.key"), "from the file");
    expect(findMasterKey(configOf(folder, "from the environment"))).toBe("from the environment");
    expect(findMasterKey(configOf(folder))).toBe("from the file");
    expect(findMasterKey(configOf(join(folder, "nowhere")))).toBeUndefined();
  }));

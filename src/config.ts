import { availableParallelism } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import * as v from "valibot";
import { TvsError } from "./domain/errors.ts";
import { parseRetention } from "./domain/evidence/retention.ts";
import {
  envVariableOf,
  maxSignerThreads,
  optionNameOf,
  registerAccessSettings,
  type SettingRow,
  serveSettings,
  sharedSettings,
  storedNameOf,
} from "./domain/settings.ts";

/** The environment variables. Each command passes them to this file, and only this file interprets them. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** A command line's options, by their long names. An option that was not given is absent or undefined. */
export type CommandLineOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export type LibsqlServerAddress = {
  /** `libsql://`, `http://` or `https://` with host and port. The URL contains no secret, so commands print it. */
  readonly url: string;
  readonly token?: string | undefined;
};
type DatabaseAddress =
  | { readonly kind: "file"; readonly file: string }
  | (LibsqlServerAddress & { readonly kind: "server" });

export type Config = ReturnType<typeof readCommandConfig>;
export type ServeConfig = ReturnType<typeof readServeConfig>;
/** The setting for the engine that signs. With `auto`, a test and a measurement at the start choose the engine. */
export type SigningEngineChoice = Config["signingEngine"];

/**
 * Reads the settings that every command has: an option wins over its environment variable. A setting that the database
 * stores is undefined unless this command line or environment sets it.
 * @throws TvsError CONFIG_INVALID that names the option and its variable
 */
export function readCommandConfig(options: CommandLineOptions, environment: Environment) {
  const given = readSettings({ ...registerAccessSettings, ...sharedSettings }, options, environment);
  const { data, database: address, databaseToken, cryptoMb, ...config } = given;
  const { sandbox, keepAttestations } = config;
  if (keepAttestations !== undefined) parseRetention(keepAttestations);
  const dataDir = resolve(data);
  const database = databaseAddress(address ?? `file:${join(dataDir, defaultFile(sandbox))}`, databaseToken);
  return Object.freeze({
    ...config,
    dataDir,
    database,
    masterKeyFile: masterKeyPathOf(dataDir, database, sandbox),
    accessLogFile: serviceFileOf("access.log", { dataDir, database, sandbox }),
    /** The path of Intel's crypto_mb library; if undefined, the folders of Linux distributions are searched. */
    cryptoMbFile: cryptoMb === undefined ? undefined : resolve(cryptoMb),
    /** The operator's name, and the option or variable that names the operator; undefined if none does. */
    operator: findOperator(options, environment),
  });
}

/**
 * Reads each setting of `serve` from its option, else its environment variable, else from what `tvs init` stored.
 * @throws TvsError CONFIG_INVALID
 */
export function readServeConfig(
  options: CommandLineOptions,
  environment: Environment,
  remembered: ReadonlyMap<string, string> = new Map(),
) {
  const given = readSettings(serveSettings, options, environment, remembered);
  const { trustedProxy, tlsPort, tlsCert, tlsKey, ...serving } = given;
  const config = readCommandConfig(options, environment);
  return Object.freeze({
    ...config,
    ...serving,
    /** The number of signer threads, in addition to the main thread. */
    signers: serving.signers ?? Math.min(maxSignerThreads, availableParallelism() - 1),
    /** IP addresses and CIDR blocks of proxies whose `X-Forwarded-For` is trusted. */
    trustedProxies: trustedProxy,
    /** The port of the operator's console and the metrics, on 127.0.0.1; undefined if the console is off. */
    adminPort: serving.adminPort ?? (config.sandbox ? 0 : undefined),
    tls: readTlsOptions(tlsPort, tlsCert, tlsKey),
  });
}

type SettingsTable = Readonly<Record<string, SettingRow>>;
/** The values of a table of settings. A setting that `serve` stores may be undefined: its default is applied later. */
type SettingValues<T extends SettingsTable> = {
  readonly [N in keyof T]: T[N] extends { usual: string; remembered?: "init" }
    ? v.InferOutput<T[N]["kind"]>
    : v.InferOutput<T[N]["kind"]> | undefined;
};

function readSettings<T extends SettingsTable>(
  table: T,
  options: CommandLineOptions,
  environment: Environment,
  remembered: ReadonlyMap<string, string> = new Map(),
): SettingValues<T> {
  const values = Object.entries<SettingRow>(table).map(([name, { kind, usual, remembered: by }]) => {
    const option = optionNameOf(name);
    const variable = envVariableOf(option);
    const given = options[option] ?? environment[variable];
    const other = by === "serve" ? undefined : (by && remembered.get(storedNameOf(name))) || usual;
    const value = given === undefined || given === "" ? other : given;
    return [name, value === undefined ? undefined : parseSetting(kind, value, `--${option} (${variable})`)];
  });
  return Object.fromEntries(values);
}

function parseSetting(kind: SettingRow["kind"], value: unknown, name: string): unknown {
  try {
    return v.parse(kind, value, { abortPipeEarly: true });
  } catch (error) {
    throw new TvsError("CONFIG_INVALID", `${name} ${(error as Error).message}`);
  }
}

function findOperator({ by }: CommandLineOptions, { TVS_OPERATOR, SUDO_USER }: Environment) {
  if (typeof by === "string") return { name: by, source: "--by" };
  if (TVS_OPERATOR) return { name: TVS_OPERATOR, source: "TVS_OPERATOR" };
  return SUDO_USER ? { name: SUDO_USER, source: "SUDO_USER" } : undefined;
}

/**
 * Reads the address of the database. A server's URL is refused if it has a path, which the client would ignore, or
 * credentials, which belong in TVS_DATABASE_TOKEN.
 */
function databaseAddress(address: string, token: string | undefined): DatabaseAddress {
  const refused = (problem: string) =>
    new TvsError("CONFIG_INVALID", `--database (TVS_DATABASE) must ${problem}`);
  if (address.startsWith("file:")) {
    const file = resolve(address.slice("file:".length).replace(/^\/\/(?=\/)/, ""));
    return { kind: "file", file };
  }
  if (!/^(libsql|https?):\/\//.test(address))
    throw refused("begin with file:, libsql://, http:// or https://");
  const url = address.replace(/\/$/, "");
  if (/^[a-z]+:\/\/[^/?#@\\]+$/.test(url) && URL.canParse(url)) return { kind: "server", url, token };
  const example = "such as http://db.example.gov:8080";
  throw refused(`be the address of a libSQL server without user, path or query, ${example}`);
}

function defaultFile(sandbox: boolean): string {
  return sandbox ? "sandbox.db" : "tvs.db";
}

/** Returns true if the database is the default file of the data folder, which commands find without `--database`. */
export function hasDefaultDatabase(config: Pick<Config, "dataDir" | "database" | "sandbox">): boolean {
  const { dataDir, database } = config;
  return database.kind === "file" && database.file === join(dataDir, defaultFile(config.sandbox));
}

/** Returns the path of the master key. A sandbox has its own master key, which decrypts nothing of a live register. */
function masterKeyPathOf(dataDir: string, database: DatabaseAddress, sandbox: boolean): string {
  const folder = database.kind === "file" ? dirname(database.file) : dataDir;
  const isSandbox = sandbox || (database.kind === "file" && basename(database.file) === "sandbox.db");
  return join(folder, isSandbox ? "sandbox-master.key" : "master.key");
}

/** Returns the path of the evidence log's pinned checkpoint, beside the master key (decision D13.3). */
export function pinnedCheckpointPathOf({ masterKeyFile }: Pick<Config, "masterKeyFile">): string {
  return masterKeyFile.replace(/master\.key$/, "log.checkpoint");
}

export function consoleFilePathOf(config: Pick<Config, "dataDir" | "database" | "sandbox">): string {
  return serviceFileOf("console", config);
}

type Location = { readonly dataDir: string; readonly database: DatabaseAddress; readonly sandbox: boolean };

/** Returns the path of a service's file. The file's name begins with the database's name: databases may share a folder. */
function serviceFileOf(name: string, { dataDir, database, sandbox }: Location): string {
  const file = database.kind === "file" ? basename(database.file) : defaultFile(sandbox);
  const prefix = file.replace(/\.db$/, "");
  return join(dataDir, prefix === "tvs" ? name : `${prefix}-${name}`);
}

function readTlsOptions(port?: number, certFile?: string, keyFile?: string) {
  if (port === undefined && certFile === undefined && keyFile === undefined) return undefined;
  if (port !== undefined && certFile !== undefined && keyFile !== undefined)
    return { port, certFile, keyFile };
  const message = "--tls-port, --tls-cert and --tls-key belong together; give all three";
  throw new TvsError("CONFIG_INVALID", message);
}

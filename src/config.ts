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

/** The environment variables, which a command passes in; only this file interprets them. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** A command line's flags, by their long names. A flag that was not given is absent or undefined. */
export type CommandLineOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export type LibsqlServerAddress = {
  /** Only `libsql://`, `http://` or `https://`, host and port: it contains no secret, so it may be shown. */
  readonly url: string;
  readonly token?: string | undefined;
};
type DatabaseAddress =
  | { readonly kind: "file"; readonly file: string }
  | (LibsqlServerAddress & { readonly kind: "server" });

export type Config = ReturnType<typeof readCommandConfig>;
export type ServeConfig = ReturnType<typeof readServeConfig>;
/** Which engine signs; `auto`: a test and a measurement at the start choose it. */
export type SigningEngineChoice = Config["signingEngine"];

/**
 * Reads the settings that every command has: a flag wins over its environment variable. A setting that the database
 * stores is undefined unless this command line or environment sets it.
 * @throws TvsError CONFIG_INVALID that names the flag and its variable
 */
export function readCommandConfig(flags: CommandLineOptions, environment: Environment) {
  const given = read({ ...registerAccessSettings, ...sharedSettings }, flags, environment);
  const { data, database: address, databaseToken, cryptoMb, ...config } = given;
  const { sandbox, keepAttestations } = config;
  if (keepAttestations !== undefined) parseRetention(keepAttestations);
  const dataDir = resolve(data);
  const database = databaseAddress(address ?? `file:${join(dataDir, usualFile(sandbox))}`, databaseToken);
  return Object.freeze({
    ...config,
    dataDir,
    database,
    masterKeyFile: masterKeyFile(dataDir, database, sandbox),
    accessLogFile: ownFile("access.log", { dataDir, database, sandbox }),
    /** Path of Intel's crypto_mb library. If undefined, it is looked for where distributions install it. */
    cryptoMbFile: cryptoMb === undefined ? undefined : resolve(cryptoMb),
    /** The operator's name, and the flag or variable that had it; undefined if none had a name. */
    operator: namedOperator(flags, environment),
  });
}

/**
 * Reads the settings of `serve`: from a flag, else its environment variable, else what `tvs init` stored.
 * @throws TvsError CONFIG_INVALID
 */
export function readServeConfig(
  flags: CommandLineOptions,
  environment: Environment,
  remembered: ReadonlyMap<string, string> = new Map(),
) {
  const given = read(serveSettings, flags, environment, remembered);
  const { trustedProxy, tlsPort, tlsCert, tlsKey, ...serving } = given;
  const config = readCommandConfig(flags, environment);
  return Object.freeze({
    ...config,
    ...serving,
    /** How many signer threads there are beside the main thread. */
    signers: serving.signers ?? Math.min(maxSignerThreads, availableParallelism() - 1),
    /** IP addresses and CIDR blocks of proxies whose `X-Forwarded-For` is trusted. */
    trustedProxies: trustedProxy,
    /** The port of the operator's console and the metrics, on 127.0.0.1; undefined without one. */
    adminPort: serving.adminPort ?? (config.sandbox ? 0 : undefined),
    tls: tlsOptions(tlsPort, tlsCert, tlsKey),
  });
}

type Table = Readonly<Record<string, SettingRow>>;
/** The values of a table of settings. One that `serve` stores may be undefined: its default is applied only later. */
type Values<T extends Table> = {
  readonly [N in keyof T]: T[N] extends { usual: string; remembered?: "init" }
    ? v.InferOutput<T[N]["kind"]>
    : v.InferOutput<T[N]["kind"]> | undefined;
};

function read<T extends Table>(
  table: T,
  flags: CommandLineOptions,
  environment: Environment,
  remembered: ReadonlyMap<string, string> = new Map(),
): Values<T> {
  const values = Object.entries<SettingRow>(table).map(([name, { kind, usual, remembered: by }]) => {
    const option = optionNameOf(name);
    const variable = envVariableOf(option);
    const given = flags[option] ?? environment[variable];
    const other = by === "serve" ? undefined : (by && remembered.get(storedNameOf(name))) || usual;
    const value = given === undefined || given === "" ? other : given;
    return [name, value === undefined ? undefined : parse(kind, value, `--${option} (${variable})`)];
  });
  return Object.fromEntries(values);
}

function parse(kind: SettingRow["kind"], value: unknown, name: string): unknown {
  try {
    return v.parse(kind, value, { abortPipeEarly: true });
  } catch (error) {
    throw new TvsError("CONFIG_INVALID", `${name} ${(error as Error).message}`);
  }
}

function namedOperator({ by }: CommandLineOptions, { TVS_OPERATOR, SUDO_USER }: Environment) {
  if (typeof by === "string") return { name: by, source: "--by" };
  if (TVS_OPERATOR) return { name: TVS_OPERATOR, source: "TVS_OPERATOR" };
  return SUDO_USER ? { name: SUDO_USER, source: "SUDO_USER" } : undefined;
}

/**
 * Reads the address of the database. It refuses a server's path, which the client would ignore, and credentials:
 * TVS_DATABASE_TOKEN has them.
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

function usualFile(sandbox: boolean): string {
  return sandbox ? "sandbox.db" : "tvs.db";
}

/** Whether the database is the default file of the data folder, so that a command finds it without `--database`. */
export function hasDefaultDatabase(config: Pick<Config, "dataDir" | "database" | "sandbox">): boolean {
  const { dataDir, database } = config;
  return database.kind === "file" && database.file === join(dataDir, usualFile(config.sandbox));
}

/** The path of the master key. A sandbox has its own, which cannot decrypt anything of a live register. */
function masterKeyFile(dataDir: string, database: DatabaseAddress, sandbox: boolean): string {
  const folder = database.kind === "file" ? dirname(database.file) : dataDir;
  const isSandbox = sandbox || (database.kind === "file" && basename(database.file) === "sandbox.db");
  return join(folder, isSandbox ? "sandbox-master.key" : "master.key");
}

/** The path of the evidence log's pinned checkpoint, beside the master key (decision D13.3). */
export function pinnedCheckpointFile({ masterKeyFile }: Pick<Config, "masterKeyFile">): string {
  return masterKeyFile.replace(/master\.key$/, "log.checkpoint");
}

export function consolePortPathOf(config: Pick<Config, "dataDir" | "database" | "sandbox">): string {
  return ownFile("console", config);
}

type Location = { readonly dataDir: string; readonly database: DatabaseAddress; readonly sandbox: boolean };

/** The path of a service's own file. Databases may share a data folder, so the name begins with the database's. */
function ownFile(name: string, { dataDir, database, sandbox }: Location): string {
  const file = database.kind === "file" ? basename(database.file) : usualFile(sandbox);
  const prefix = file.replace(/\.db$/, "");
  return join(dataDir, prefix === "tvs" ? name : `${prefix}-${name}`);
}

function tlsOptions(port?: number, certFile?: string, keyFile?: string) {
  if (port === undefined && certFile === undefined && keyFile === undefined) return undefined;
  if (port !== undefined && certFile !== undefined && keyFile !== undefined)
    return { port, certFile, keyFile };
  const message = "--tls-port, --tls-cert and --tls-key belong together; give all three";
  throw new TvsError("CONFIG_INVALID", message);
}

import { availableParallelism } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import * as v from "valibot";
import { TvsError } from "./domain/errors.ts";
import { parseRetention } from "./domain/evidence/retention.ts";
import {
  maxSigners,
  optionOf,
  registerSettings,
  type Setting,
  serveSettings,
  sharedSettings,
  storedName,
  variableOf,
} from "./domain/settings.ts";

/** The environment, of which this file is the only reader. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** Flags as the command line gave them, by their long name; one that was not given is absent or undefined. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** The address of a libSQL server, and its token. */
export type ServerAddress = {
  /** `libsql://`, `http://` or `https://`, host and port: no more, so it may be shown. */
  readonly url: string;
  readonly token?: string | undefined;
};
type DatabaseAddress =
  | { readonly kind: "file"; readonly file: string }
  | (ServerAddress & { readonly kind: "server" });

export type Config = ReturnType<typeof readConfig>;
export type ServeConfig = ReturnType<typeof readServeConfig>;
/** Which engine signs; `auto` is decided at start by a test and a measurement. */
export type SigningEngine = Config["signingEngine"];

/**
 * Reads the settings of every command, flags before environment. A setting that the database stores is undefined unless
 * this command sets it.
 * @throws TvsError CONFIG_INVALID naming the flag and its variable
 */
export function readConfig(flags: Flags, environment: Environment) {
  const given = read({ ...registerSettings, ...sharedSettings }, flags, environment);
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
    /** Path of Intel's crypto_mb; without it, where distributions put it. */
    cryptoMbFile: cryptoMb === undefined ? undefined : resolve(cryptoMb),
    /** The operator's name and its source; undefined if neither flag nor environment has a name. */
    operator: namedOperator(flags, environment),
  });
}

/**
 * Reads the settings of `serve`: flags before environment, environment before the settings that `init` stored.
 * @throws TvsError CONFIG_INVALID
 */
export function readServeConfig(
  flags: Flags,
  environment: Environment,
  remembered: ReadonlyMap<string, string> = new Map(),
) {
  const given = read(serveSettings, flags, environment, remembered);
  const { trustedProxy, tlsPort, tlsCert, tlsKey, ...serving } = given;
  const config = readConfig(flags, environment);
  return Object.freeze({
    ...config,
    ...serving,
    /** How many threads sign beside the one that answers. */
    signers: serving.signers ?? Math.min(maxSigners, availableParallelism() - 1),
    /** Addresses and CIDR blocks of proxies whose `X-Forwarded-For` is believed. */
    trustedProxies: trustedProxy,
    /** The port of the operator's console and the metrics, on 127.0.0.1; undefined for none. */
    adminPort: serving.adminPort ?? (config.sandbox ? 0 : undefined),
    tls: tlsOptions(tlsPort, tlsCert, tlsKey),
  });
}

type Table = Readonly<Record<string, Setting>>;
/** The values of settings. The usual value of a setting that `serve` stores counts only while none is stored. */
type Values<T extends Table> = {
  readonly [N in keyof T]: T[N] extends { usual: string; remembered?: "init" }
    ? v.InferOutput<T[N]["kind"]>
    : v.InferOutput<T[N]["kind"]> | undefined;
};

function read<T extends Table>(
  table: T,
  flags: Flags,
  environment: Environment,
  remembered: ReadonlyMap<string, string> = new Map(),
): Values<T> {
  const values = Object.entries<Setting>(table).map(([name, { kind, usual, remembered: by }]) => {
    const option = optionOf(name);
    const variable = variableOf(option);
    const given = flags[option] ?? environment[variable];
    const other = by === "serve" ? undefined : (by && remembered.get(storedName(name))) || usual;
    const value = given === undefined || given === "" ? other : given;
    return [name, value === undefined ? undefined : parse(kind, value, `--${option} (${variable})`)];
  });
  return Object.fromEntries(values);
}

/** @throws TvsError CONFIG_INVALID */
function parse(kind: Setting["kind"], value: unknown, name: string): unknown {
  try {
    return v.parse(kind, value, { abortPipeEarly: true });
  } catch (error) {
    throw new TvsError("CONFIG_INVALID", `${name} ${(error as Error).message}`);
  }
}

function namedOperator({ by }: Flags, { TVS_OPERATOR, SUDO_USER }: Environment) {
  if (typeof by === "string") return { name: by, source: "--by" };
  if (TVS_OPERATOR) return { name: TVS_OPERATOR, source: "TVS_OPERATOR" };
  return SUDO_USER ? { name: SUDO_USER, source: "SUDO_USER" } : undefined;
}

function databaseAddress(address: string, token: string | undefined): DatabaseAddress {
  if (address.startsWith("file:")) {
    const file = resolve(address.slice("file:".length).replace(/^\/\/(?=\/)/, ""));
    return { kind: "file", file };
  }
  if (serverScheme.test(address)) return { kind: "server", url: serverUrl(address), token };
  throw new TvsError(
    "CONFIG_INVALID",
    "--database (TVS_DATABASE) must begin with file:, libsql://, http:// or https://",
  );
}

const serverScheme = /^(libsql|https?):\/\//;

/** Refuses paths, which the client would ignore, and credentials, which belong in TVS_DATABASE_TOKEN. */
function serverUrl(address: string): string {
  const isPlain = serverScheme.test(address) && /^[a-z]+:\/\/[^/?#@\\]+\/?$/.test(address);
  if (isPlain && URL.canParse(address)) return address.replace(/\/$/, "");
  const example = "such as http://db.example.gov:8080";
  const message = `--database (TVS_DATABASE) must be the address of a libSQL server without user, path or query, ${example}`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** The usual name of the database's file. */
function usualFile(sandbox: boolean): string {
  return sandbox ? "sandbox.db" : "tvs.db";
}

/** Whether the database is the usual file of its data directory. */
export function hasUsualDatabase(config: Pick<Config, "dataDir" | "database" | "sandbox">): boolean {
  const { dataDir, database } = config;
  return database.kind === "file" && database.file === join(dataDir, usualFile(config.sandbox));
}

/** A sandbox has its own master key, which opens nothing of a live register. */
function masterKeyFile(dataDir: string, database: DatabaseAddress, sandbox: boolean): string {
  const folder = database.kind === "file" ? dirname(database.file) : dataDir;
  const isSandbox = sandbox || (database.kind === "file" && basename(database.file) === "sandbox.db");
  return join(folder, isSandbox ? "sandbox-master.key" : "master.key");
}

/** The newest checkpoint of the evidence log, beside the master key (decision D13.3). */
export function pinnedCheckpointFile({ masterKeyFile }: Pick<Config, "masterKeyFile">): string {
  return masterKeyFile.replace(/master\.key$/, "log.checkpoint");
}

/** The file in which a service stores its console's port. */
export function consoleFile(config: Pick<Config, "dataDir" | "database" | "sandbox">): string {
  return ownFile("console", config);
}

type Location = { readonly dataDir: string; readonly database: DatabaseAddress; readonly sandbox: boolean };

/** A service's own file. Its name begins with the database's, because several databases may share a data folder. */
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

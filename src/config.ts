import { availableParallelism } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import * as v from "valibot";
import { TvsError } from "./domain/errors.ts";
import { parseRetention } from "./domain/evidence/retention.ts";
import { isWildcard, parseNetwork } from "./domain/networks.ts";

export const text = v.pipe(v.string(), v.trim(), v.nonEmpty("must not be empty"));
export const count = (max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, "must be a whole number"),
    v.transform(Number),
    v.maxValue(max, `must be at most ${max}`),
  );
/** A duration such as `5s`, as its number of seconds. */
export const seconds = (max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,3}s$/, "must be a duration in seconds, such as 5s"),
    v.transform((text) => Number(text.slice(0, -1))),
    v.maxValue(max, `must be at most ${max}s`),
  );
export const flag = v.union(
  [
    v.boolean(),
    v.pipe(
      v.picklist(["1", "0", "true", "false", "yes", "no", "on", "off"]),
      v.transform((word) => ["1", "true", "yes", "on"].includes(word)),
    ),
  ],
  "must be true or false",
);
export const timeZone = v.pipe(text, v.check(isTimeZone, "must be an IANA time zone such as Africa/Lagos"));
export const issuer = v.pipe(
  text,
  v.check(isHttpAddress, "must be an http or https URL without user, query or fragment"),
  v.check((address) => !isWildcard(address), "must be the URL at which others reach the service"),
);
const list = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((given) =>
    [given]
      .flat()
      .join(",")
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  ),
);
/** Lists of networks, checked before anything is opened or made. */
export const networks = v.pipe(
  list,
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    try {
      dataset.value.forEach(parseNetwork);
    } catch (error) {
      addIssue({ message: (error as TvsError).message });
    }
  }),
);

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Whether a text is a web address as it is written, for so partners compare it: a URL parser would correct it silently. */
function isHttpAddress(address: string): boolean {
  return /^https?:\/\/[^\s?#@\\/][^\s?#@\\]*$/i.test(address) && URL.canParse(address);
}

/** The environment, of which this file is the only reader. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** Flags as the command line gave them, by their long name; one that was not given is absent or undefined. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** Where a libSQL server is, and what it asks for. */
export type ServerAddress = {
  /** `libsql://`, `http://` or `https://`, host and port: no more, so it may be shown. */
  readonly url: string;
  readonly token?: string | undefined;
};
type DatabaseAddress =
  | { readonly kind: "file"; readonly file: string }
  | (ServerAddress & { readonly kind: "server" });

const signingEngines = ["auto", "crypto_mb", "openssl", "webcrypto"] as const;
/** Which engine signs; `auto` is decided at start by a test and a measurement. */
export type SigningEngine = (typeof signingEngines)[number];

const spreads = ["auto", "always"] as const;

export type Config = ReturnType<typeof readConfig>;
export type ServeConfig = ReturnType<typeof readServeConfig>;

const commonSchema = v.object({
  data: v.optional(text, "./data"),
  database: v.optional(text),
  "database-token": v.optional(text),
  sandbox: v.optional(flag, false),
  "master-key": v.optional(text),
  issuer: v.optional(issuer),
  "time-zone": v.optional(timeZone),
  policy: v.optional(text),
  "allow-private-webhooks": v.optional(flag),
  "status-list": v.optional(flag),
  site: v.optional(text),
  "keep-attestations": v.optional(text),
  "signing-engine": v.optional(
    v.picklist(signingEngines, "must be auto, crypto_mb, openssl or webcrypto"),
    "auto",
  ),
  "crypto-mb": v.optional(text),
});

/** More serve no purpose that anybody has measured, and each takes its memory. */
const maxThreads = 64;

const serveSchema = v.object({
  host: v.optional(text, "127.0.0.1"),
  port: v.optional(count(65_535), "8080"),
  threads: v.optional(v.pipe(count(maxThreads), v.minValue(1, "must be at least 1"))),
  spread: v.optional(v.picklist(spreads, "must be auto or always"), "auto"),
  "access-log": v.optional(flag, false),
  "public-per-minute": v.optional(count(100_000_000), "60"),
  "trusted-proxy": v.optional(networks, ""),
  "client-cert-from": v.optional(networks, ""),
  "admin-port": v.optional(count(65_535)),
  "tls-port": v.optional(count(65_535)),
  "tls-cert": v.optional(text),
  "tls-key": v.optional(text),
});

/**
 * Reads what every command needs, flags before environment.
 * @throws TvsError CONFIG_INVALID naming the flag and its variable
 */
export function readConfig(flags: Flags, environment: Environment) {
  const given = read(commonSchema, flags, environment);
  const dataDir = resolve(given.data);
  const fileName = usualFile(given.sandbox);
  const database = databaseAddress(
    given.database ?? `file:${join(dataDir, fileName)}`,
    given["database-token"],
  );
  return Object.freeze({
    dataDir,
    database,
    sandbox: given.sandbox,
    /** `TVS_MASTER_KEY`, or else the file that holds the same text. */
    masterKey: given["master-key"],
    masterKeyFile: masterKeyFile(dataDir, database, given.sandbox),
    accessLogFile: accessLogFile(dataDir, database, fileName),
    /** Settings that the database remembers, where this command was told otherwise. */
    issuer: given.issuer?.replace(/\/+$/, ""),
    timeZone: given["time-zone"],
    policyFile: given.policy,
    allowPrivateWebhooks: given["allow-private-webhooks"],
    statusList: given["status-list"],
    /** The file that says whose service it is; `none` takes back what was said. */
    siteFile: given.site,
    /** How long attestations are kept, as it was given; remembered in the database. */
    keepAttestations: keepAttestations(given["keep-attestations"]),
    signingEngine: given["signing-engine"],
    /** Path of Intel's crypto_mb; without it, where distributions put it. */
    cryptoMbFile: given["crypto-mb"] === undefined ? undefined : resolve(given["crypto-mb"]),
    /** Who makes changes, as the command was told, and by what; undefined where only the system knows. */
    operator: operatorTold(flags, environment),
  });
}

/** @throws TvsError CONFIG_INVALID */
export function readServeConfig(flags: Flags, environment: Environment) {
  const given = read(serveSchema, flags, environment);
  const config = readConfig(flags, environment);
  return Object.freeze({
    ...config,
    accessLog: given["access-log"],
    host: given.host,
    port: given.port,
    /** How many threads answer, the main one included. */
    threads: given.threads ?? Math.min(maxThreads, availableParallelism()),
    /** Whether connections go to one thread while it is not busy, or always to all. */
    spread: given.spread,
    publicPerMinute: given["public-per-minute"],
    /** Milliseconds after SIGTERM in which everything is still answered, and the health says 503. */
    /** Addresses and CIDR blocks of proxies whose `X-Forwarded-For` is believed. */
    trustedProxies: given["trusted-proxy"],
    /** Addresses and CIDR blocks of proxies whose `Client-Cert` is believed. */
    clientCertFrom: given["client-cert-from"],
    /** The port of the operator's console and the metrics, on 127.0.0.1; undefined for none. */
    adminPort: given["admin-port"] ?? (config.sandbox ? 0 : undefined),
    tls: tlsOptions(given),
  });
}

function operatorTold({ by }: Flags, { TVS_OPERATOR, SUDO_USER }: Environment) {
  if (typeof by === "string") return { name: by, source: "--by" };
  if (TVS_OPERATOR) return { name: TVS_OPERATOR, source: "TVS_OPERATOR" };
  return SUDO_USER ? { name: SUDO_USER, source: "SUDO_USER" } : undefined;
}

function keepAttestations(given: string | undefined): string | undefined {
  if (given !== undefined) parseRetention(given);
  return given;
}

export function variableOf(name: string): string {
  return `TVS_${name.toUpperCase().replaceAll("-", "_")}`;
}

function read<Entries extends v.ObjectEntries>(
  schema: v.ObjectSchema<Entries, undefined>,
  flags: Flags,
  environment: Environment,
): v.InferOutput<v.ObjectSchema<Entries, undefined>> {
  const given: Record<string, unknown> = {};
  for (const name of Object.keys(schema.entries)) {
    const value = flags[name] ?? environment[variableOf(name)];
    if (value !== undefined && value !== "") given[name] = value;
  }
  const parsed = v.safeParse(schema, given, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const name = String(issue.path?.[0]?.key);
  throw new TvsError("CONFIG_INVALID", `--${name} (${variableOf(name)}) ${issue.message}`);
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

/** A path would be left out silently, and what is secret belongs into the token's own variable. */
function serverUrl(address: string): string {
  const isPlain = serverScheme.test(address) && /^[a-z]+:\/\/[^/?#@\\]+\/?$/.test(address);
  if (isPlain && URL.canParse(address)) return address.replace(/\/$/, "");
  const example = "such as http://db.example.gov:8080";
  const message = `--database (TVS_DATABASE) must be the address of a libSQL server without user, path or query, ${example}`;
  throw new TvsError("CONFIG_INVALID", message);
}

/** The database's file in a data directory that nobody has told another database. */
function usualFile(sandbox: boolean): string {
  return sandbox ? "sandbox.db" : "tvs.db";
}

/** Whether the database is the one that its data directory alone means. */
export function hasUsualDatabase(config: Pick<Config, "dataDir" | "database" | "sandbox">): boolean {
  const { dataDir, database } = config;
  return database.kind === "file" && database.file === join(dataDir, usualFile(config.sandbox));
}

/** A sandbox has a master key of its own, so that nothing of it opens anything that is live. */
function masterKeyFile(dataDir: string, database: DatabaseAddress, sandbox: boolean): string {
  const folder = database.kind === "file" ? dirname(database.file) : dataDir;
  const isSandbox = sandbox || (database.kind === "file" && basename(database.file) === "sandbox.db");
  return join(folder, isSandbox ? "sandbox-master.key" : "master.key");
}

/** The newest checkpoint of the evidence log, beside the master key (decision D13.3). */
export function pinnedCheckpointFile({ masterKeyFile }: Pick<Config, "masterKeyFile">): string {
  return masterKeyFile.replace(/master\.key$/, "log.checkpoint");
}

/** The access log's file. */
function accessLogFile(dataDir: string, database: DatabaseAddress, fileName: string): string {
  return ownFile("access.log", dataDir, database.kind === "file" ? database.file : fileName);
}

/** Where a service keeps which port its console has. */
export function consoleFile({
  dataDir,
  database,
  sandbox,
}: Pick<Config, "dataDir" | "database" | "sandbox">) {
  const ofServer = sandbox ? "sandbox.db" : "tvs.db";
  return ownFile("console", dataDir, database.kind === "file" ? database.file : ofServer);
}

/** A service's own file. Its name begins with the database's, because several databases may share a data folder. */
function ownFile(name: string, dataDir: string, databaseFile: string): string {
  const prefix = basename(databaseFile).replace(/\.db$/, "");
  return join(dataDir, prefix === "tvs" ? name : `${prefix}-${name}`);
}

function tlsOptions(given: v.InferOutput<typeof serveSchema>) {
  const { "tls-port": port, "tls-cert": certFile, "tls-key": keyFile } = given;
  if (port === undefined && certFile === undefined && keyFile === undefined) return undefined;
  if (port === undefined || certFile === undefined || keyFile === undefined) {
    throw new TvsError(
      "CONFIG_INVALID",
      "--tls-port, --tls-cert and --tls-key belong together; give all three",
    );
  }
  return { port, certFile, keyFile };
}

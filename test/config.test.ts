import { expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { CommandLineOptions, Environment } from "../src/config.ts";
import { readCommandConfig, readServeConfig } from "../src/config.ts";
import { envVariableOf } from "../src/domain/settings.ts";

const nothing = {};

function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toMatchObject({ name: "TvsError", code: "CONFIG_INVALID" });
    return (error as Error).message;
  }
  throw new Error("it was accepted");
}

test("a command without options and environment variables uses the defaults", () => {
  const dataDir = resolve("./data");
  const shared = {
    dataDir,
    database: { kind: "file" as const, file: join(dataDir, "tvs.db") },
    sandbox: false,
    masterKeyFile: join(dataDir, "master.key"),
    accessLogFile: join(dataDir, "access.log"),
    signingEngine: "auto" as const,
  };
  expect(readCommandConfig(nothing, nothing)).toEqual(shared as never);
  expect(readServeConfig(nothing, nothing)).toEqual({
    ...shared,
    host: "127.0.0.1",
    port: 8080,
    signers: Math.min(64, availableParallelism() - 1),
    accessLog: false,
    publicPerMinute: 60,
    trustedProxies: [],
    clientCertFrom: [],
  } as never);
});

const settings: Readonly<Record<string, string>> = {
  data: "/srv/tvs",
  database: "libsql://db.example",
  "database-token": "t0ken",
  sandbox: "true",
  "master-key": "the key",
  issuer: "https://teachers.example/base//",
  "time-zone": "Pacific/Auckland",
  policy: "/etc/policy.json",
  "allow-private-webhooks": "yes",
  "status-list": "off",
  site: "/etc/site.json",
  "keep-attestations": "7y",
  "signing-engine": "webcrypto",
  "crypto-mb": "/opt/libcrypto_mb.so.11",
  host: "0.0.0.0",
  port: "0",
  signers: "3",
  "access-log": "on",
  "public-per-minute": "5",
  "trusted-proxy": "10.0.0.0/8, ::1",
  "client-cert-from": "10.0.0.5",
  "admin-port": "9464",
  "tls-port": "8443",
  "tls-cert": "c.pem",
  "tls-key": "k.pem",
};

test("an option and its environment variable have the same effect", () => {
  const config = {
    dataDir: "/srv/tvs",
    database: { kind: "server", url: "libsql://db.example", token: "t0ken" },
    sandbox: true,
    masterKey: "the key",
    masterKeyFile: "/srv/tvs/sandbox-master.key",
    accessLogFile: "/srv/tvs/sandbox-access.log",
    issuer: "https://teachers.example/base",
    timeZone: "Pacific/Auckland",
    policy: "/etc/policy.json",
    allowPrivateWebhooks: true,
    statusList: false,
    site: "/etc/site.json",
    keepAttestations: "7y",
    signingEngine: "webcrypto",
    cryptoMbFile: "/opt/libcrypto_mb.so.11",
  };
  const expected = {
    ...config,
    host: "0.0.0.0",
    port: 0,
    signers: 3,
    accessLog: true,
    publicPerMinute: 5,
    trustedProxies: ["10.0.0.0/8", "::1"],
    clientCertFrom: ["10.0.0.5"],
    adminPort: 9464,
    tls: { port: 8443, certFile: "c.pem", keyFile: "k.pem" },
  };
  const variables = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [envVariableOf(name), value]),
  );
  expect(readCommandConfig(settings, nothing)).toEqual(config as never);
  expect(readServeConfig(settings, nothing)).toEqual(expected as never);
  expect(readServeConfig(nothing, variables)).toEqual(expected as never);
});

test("the environment variable of an option is TVS_ and the option's name in capitals", () => {
  expect(envVariableOf("allow-private-webhooks")).toBe("TVS_ALLOW_PRIVATE_WEBHOOKS");
});

test("an option has precedence over its environment variable, even a switch that is off", () => {
  expect(readCommandConfig({ data: "/flag" }, { TVS_DATA: "/variable" }).dataDir).toBe("/flag");
  const config = readCommandConfig({ "allow-private-webhooks": false }, { TVS_ALLOW_PRIVATE_WEBHOOKS: "1" });
  expect(config.allowPrivateWebhooks).toBe(false);
});

test("an empty environment variable has no effect", () => {
  const empty: Environment = {
    TVS_DATA: "",
    TVS_ISSUER: "",
    TVS_SANDBOX: "",
    TVS_MASTER_KEY: "",
    TVS_DATABASE: undefined,
  };
  expect(readCommandConfig({ data: "/d" }, empty)).toEqual(readCommandConfig({ data: "/d" }, nothing));
});

test.each([
  ["1", true],
  ["true", true],
  ["yes", true],
  ["0", false],
  ["false", false],
  ["no", false],
])("an on/off option reads %s as %p", (word, value) => {
  expect(readCommandConfig(nothing, { TVS_SANDBOX: word }).sandbox).toBe(value);
});

const server = "https://db.example";

// The master key is beside the database; that of a libSQL server is in the data directory. A sandbox has its own of both.
test.each<[CommandLineOptions, database: string, masterKey: string]>([
  [{}, "/d/tvs.db", "/d/master.key"],
  [{ database: "file:/elsewhere/x.db" }, "/elsewhere/x.db", "/elsewhere/master.key"],
  [{ database: "file:///elsewhere/x.db" }, "/elsewhere/x.db", "/elsewhere/master.key"],
  [{ database: "file:x.db" }, resolve("x.db"), resolve("master.key")],
  [{ database: "http://127.0.0.1:8081" }, "http://127.0.0.1:8081", "/d/master.key"],
  [{ database: `${server}/` }, server, "/d/master.key"],
  [{ sandbox: true }, "/d/sandbox.db", "/d/sandbox-master.key"],
  [{ database: "file:/d/sandbox.db" }, "/d/sandbox.db", "/d/sandbox-master.key"],
  [{ sandbox: true, database: server }, server, "/d/sandbox-master.key"],
])("the options --data /d and %j name the database %s and the master key %s", (flags, place, masterKey) => {
  const { database, masterKeyFile } = readCommandConfig({ data: "/d", ...flags }, nothing);
  expect([database.kind === "file" ? database.file : database.url, masterKeyFile]).toEqual([
    place,
    masterKey,
  ]);
});

test("a setting that tvs init stored is used if neither its option nor its environment variable is given", () => {
  const remembered = new Map([
    ["host", "127.0.0.2"],
    ["port", "9000"],
    ["access_log", "on"],
  ]);
  const mixed = readServeConfig({ port: "0" }, { TVS_HOST: "", TVS_ACCESS_LOG: "off" }, remembered);
  expect(mixed).toMatchObject({ host: "127.0.0.2", port: 0, accessLog: false });
  expect(readServeConfig(nothing, nothing, remembered)).toMatchObject({ port: 9000, accessLog: true });
});

test("trusted proxies are read from repeated options and from lists, with or without spaces", () => {
  const proxies = (value: string | string[]) =>
    readServeConfig({ "trusted-proxy": value }, nothing).trustedProxies;
  expect(proxies(["10.0.0.1", "10.0.0.2, 10.0.0.3"])).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  expect(proxies(" 10.0.0.1 ,, 10.0.0.2,")).toEqual(["10.0.0.1", "10.0.0.2"]);
  expect(proxies([])).toEqual([]);
});

test("tvs serve refuses a TLS port, certificate or key without the other two", () => {
  const all: Record<string, string> = { "tls-port": "8443", "tls-cert": "c.pem", "tls-key": "k.pem" };
  for (const left of Object.keys(all)) {
    const { [left]: _, ...two } = all;
    expect(refusalOf(() => readServeConfig(two, nothing))).toContain(
      "--tls-port, --tls-cert and --tls-key belong together",
    );
  }
});

test.each<[string, string | undefined, RegExp]>([
  ["data", "  ", /must not be empty$/],
  ["sandbox", "maybe", /must be true or false$/],
  ["allow-private-webhooks", "TRUE", /must be true or false$/],
  ["issuer", "teachers.example", /must be an http or https URL/],
  ["issuer", "ftp://teachers.example", /must be an http or https URL/],
  ["issuer", "https://teachers.example/?a=1", /without user, query or fragment$/],
  ["issuer", "https://teachers.example/#a", /without user, query or fragment$/],
  ["issuer", "https://user@teachers.example/", /without user, query or fragment$/],
  ["issuer", "https://:p@teachers.example", /without user, query or fragment$/],
  ["issuer", "https:///teachers", /must be an http or https URL/],
  ["issuer", "http://0.0.0.0:8090", /must be/],
  ["issuer", "https://[::]", /must be/],
  ...["tvs.db", "postgres://db.example", "/var/tvs.db", "ftp://x"].map((url): [string, string, RegExp] => [
    "database",
    url,
    /must begin with file:/,
  ]),
  ...[
    "http://db.example:8080/main",
    `${server}?tls=0`,
    `${server}/?x`,
    `${server}#x`,
    "https://me:s3cret@x",
  ].map((url): [string, string, RegExp] => [
    "database",
    url,
    /^(?!.*s3cret).* must be the address of a libSQL server without user, path or query, such as http:/,
  ]),
  ["time-zone", "Lagos", /must be an IANA time zone such as Africa\/Lagos$/],
  ["port", "http", /must be a whole number$/],
  ["port", "-1", /must be a whole number$/],
  ["port", "65536", /must be at most 65535$/],
  ["port", "80.5", /must be a whole number$/],
  ["public-per-minute", "many", /must be a whole number$/],
  ["public-per-minute", "100000001", /must be at most 100000000$/],
  ["tls-port", "1e3", /must be a whole number$/],
  ["host", " ", /must not be empty$/],
])(
  "--%s with the value %j is refused in one line that names the option and its variable",
  (name, value, message) => {
    for (const read of [
      () => readServeConfig({ [name]: value }, nothing),
      () => readServeConfig(nothing, { [envVariableOf(name)]: value }),
    ]) {
      const line = refusalOf(read);
      expect(line).toStartWith(`--${name} (${envVariableOf(name)}) `);
      expect(line).toMatch(message);
      expect(line).not.toContain("\n");
    }
  },
);

/** A data folder with a registry, partners and a running service: what most of the test files start with. */
import { afterAll, beforeAll, setDefaultTimeout } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate, type TestCertificate } from "../harness/certificates.ts";
import { withinOneSecond } from "../harness/eventually.ts";
import { makeFolder } from "../harness/folder.ts";
import { csv } from "../harness/imports.ts";
import type { Service, Signal } from "../harness/program.ts";
import { runJson, runTvs, startService, testTimeoutMs } from "../harness/program.ts";
import type { Identifier, Purpose } from "./contract.ts";
import { type ExtractRow, teachers } from "./registry.ts";

export const issuer = "https://verify.example.gov";
export const api = "/v1/inter-agency";

type WorldOptions = {
  rows?: readonly ExtractRow[];
  /** Arguments of `serve` in addition to data folder, port and issuer. */
  args?: readonly string[];
  /** Whether the service also has a TLS port. */
  isTls?: boolean;
  /** Whether the service runs only in `serving`. */
  isStopped?: boolean;
  /** Whether `tvs init` makes the register, which then has no teacher at all. */
  isEmpty?: boolean;
};

export type PartnerOptions = { scopes?: string; purposes?: string; perMinute?: number; perDay?: number };
type Headers = Record<string, string>;

export type World = ReturnType<typeof newWorld>;
export type Partner = Awaited<ReturnType<World["partner"]>>;

/** A world for all tests of a file, made before the first of them and ended after the last. */
export function sharedWorld(options: WorldOptions = {}): World {
  setDefaultTimeout(testTimeoutMs);
  const world = newWorld(options);
  beforeAll(world.begin);
  afterAll(world.end);
  return world;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const world = newWorld(options);
  await world.begin();
  return world;
}

/** Runs a function with a world that has a partner, and no rows. Its service is stopped. */
export async function withStoppedWorld(
  options: Pick<WorldOptions, "args" | "isEmpty">,
  run: (world: World, partner: Partner) => Promise<void>,
): Promise<void> {
  const world = await createWorld({ ...options, rows: [], isStopped: true });
  try {
    await run(world, await world.partner());
  } finally {
    await world.end();
  }
}

function newWorld(options: WorldOptions) {
  const { rows = Object.values(teachers), args = [], isTls = false, isStopped, isEmpty } = options;
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  let current: Service | undefined;
  const past: Service[] = [];
  let partners = 0;

  const tvs = (...words: string[]) => runTvs([...words, "--data", dataDir]);
  const tvsJson = <T>(...words: string[]) => runJson<T>([...words, "--data", dataDir]);

  /** Writes a file beside the data. @returns its path */
  async function file(name: string, text: string): Promise<string> {
    await writeFile(join(folder.path, name), text);
    return join(folder.path, name);
  }

  async function importRows(imported: readonly ExtractRow[]): Promise<void> {
    const path = await file(`import-${crypto.randomUUID()}.csv`, csv(imported));
    await tvsJson("teachers", "import", path, "--allow-change");
  }

  function start(more: readonly string[]): Promise<Service> {
    const [certificate, key] = ["server.pem", "server.key"].map((name) => join(folder.path, name));
    const tls = ["--tls-port", "0", "--tls-cert", `${certificate}`, "--tls-key", `${key}`];
    return startService({ dataDir, args: ["--issuer", issuer, ...(isTls ? tls : []), ...more] });
  }

  /** Makes the register, and starts the service unless `isStopped`. */
  async function begin(): Promise<void> {
    try {
      if (isTls) {
        const { certPem, keyPem } = await makeCertificate({ commonName: "verify.example.gov" });
        await file("server.pem", certPem);
        await file("server.key", keyPem);
      }
      if (isEmpty) await tvsJson("init", "--issuer", issuer, "--name", "Registry");
      if (rows.length > 0) await importRows(rows);
      if (!isStopped) current = await start(args);
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  function service(): Service {
    if (current === undefined) throw new Error("no service runs");
    return current;
  }

  /** Stops the running service, if there is one. @throws Error unless it exits with 0 */
  async function stop(signal?: Signal): Promise<void> {
    const code = await current?.stop(signal);
    if (signal !== "SIGKILL" && (code ?? 0) !== 0) throw new Error(`serve ended badly: ${current?.stderr()}`);
    if (current !== undefined) past.push(current);
    current = undefined;
  }

  /** Adds a partner, and waits until the running service knows it. */
  async function partner(limits: PartnerOptions = {}) {
    const id = `partner-${++partners}`;
    const { scopes = "all", purposes = "all", perMinute = 100_000, perDay = 1_000_000 } = limits;
    const { apiKey, keyId } = await tvsJson<{ apiKey: string; keyId: string }>(
      ...["partners", "add", id, "--name", `Partner ${partners}`, "--scopes", scopes, "--purposes", purposes],
      ...["--per-minute", String(perMinute), "--per-day", String(perDay)],
    );
    const authorization = { Authorization: `Bearer ${apiKey}` };
    const call = (path: string, init: RequestInit) => fetch(`${service().url}${api}${path}`, init);
    /** Posts a JSON value, or text as it is. */
    const post = (path: string, body: unknown, headers: Headers = {}) =>
      call(path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers: { ...authorization, "Content-Type": "application/json", ...headers },
      });
    // The body is empty, so the call is refused. It costs one call of the minute quota, or nothing for a partner
    // without the scope `lookup_by_nin`.
    const isKnown = async () => (await post("/lookup/by-nin", "")).status !== 401;
    if (current !== undefined && !(await withinOneSecond(isKnown)))
      throw new Error("the service does not know the new partner");
    return {
      ...{ id, apiKey, keyId, post },
      get: (path: string, headers: Headers = {}) => call(path, { headers: { ...authorization, ...headers } }),
      check: (
        identifier: Identifier,
        purpose: Purpose = "GENERAL_PUBLIC_VERIFICATION",
        headers: Headers = {},
      ) => post("/eligibility-check", { identifier, purpose }, headers),
    };
  }

  return {
    ...{ dataDir, begin, service, tvs, tvsJson, file, importRows, partner },
    /** Everything the services of this world have written on stderr and stdout. */
    logs: () => [...past, service()].map((one) => one.stdout() + one.stderr()).join(""),
    /** Stops the service, or kills it, and starts it again. */
    async restart({ kill = false, args: given = args }: { kill?: boolean; args?: readonly string[] } = {}) {
      await stop(kill ? "SIGKILL" : "SIGTERM");
      current = await start(given);
    },
    /** Starts the service, runs a function, and stops the service, which must exit with 0. */
    async serving<T>(run: (service: Service) => Promise<T>, given = args): Promise<T> {
      current = await start(given);
      try {
        return await run(current);
      } finally {
        await stop();
      }
    },
    /** Adds a certificate to a partner. @returns its fingerprint */
    async addCertificate({ id }: { id: string }, { certPem }: TestCertificate): Promise<string> {
      const path = await file(`${crypto.randomUUID()}.pem`, certPem);
      return (await tvsJson<{ fingerprint: string }>("partners", "cert", "add", id, path)).fingerprint;
    },
    get: (path: string, headers: Headers = {}) => fetch(`${service().url}${path}`, { headers }),
    /** Stops the service, which must exit with 0, and removes the folder. */
    end: () => stop().finally(folder.remove),
  };
}

/** Asks over TLS and a new connection, because an open one has the client certificate of an earlier call. */
export function fetchOverTls(
  url: string,
  certificate: TestCertificate | undefined,
  init: Pick<RequestInit, "method" | "body"> & { headers?: Headers } = {},
): Promise<Response> {
  const client = certificate === undefined ? {} : { cert: certificate.certPem, key: certificate.keyPem };
  return fetch(url, {
    ...init,
    headers: { ...init.headers, Connection: "close" },
    tls: { ...client, rejectUnauthorized: false },
    keepalive: false,
  });
}

export async function readJson<T>(response: Response): Promise<T> {
  return (await response.json()) as T;
}

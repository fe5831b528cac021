/** A data folder with a registry, partners and a running service: what most of the test files start with. */
import { afterAll, beforeAll, setDefaultTimeout } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate, type TestCertificate } from "../harness/certificates.ts";
import { withinOneSecond } from "../harness/eventually.ts";
import { type Folder, makeFolder } from "../harness/folder.ts";
import { csv } from "../harness/imports.ts";
import {
  runJson,
  runTvs,
  type Service,
  type Signal,
  startService,
  testTimeoutMs,
} from "../harness/program.ts";
import type { Identifier, Purpose } from "./contract.ts";
import { type Row, teachers } from "./registry.ts";

export const issuer = "https://verify.example.gov";
export const api = "/v1/inter-agency";

type WorldOptions = {
  rows?: readonly Row[];
  /** Arguments of `serve` in addition to data folder, port and issuer. */
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Whether the service also has a TLS port. */
  isTls?: boolean;
  /** Whether the service runs only in {@link World.serving}. */
  isStopped?: boolean;
  /** Whether `tvs init` makes the register, which then has no teacher at all. */
  isEmpty?: boolean;
};

export type PartnerOptions = {
  scopes?: string;
  purposes?: string;
  perMinute?: number;
  perDay?: number;
};

export type Partner = {
  readonly id: string;
  readonly apiKey: string;
  readonly keyId: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Posts a JSON value, or text as it is. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  check(identifier: Identifier, purpose?: Purpose, headers?: Record<string, string>): Promise<Response>;
};

export type World = {
  readonly dataDir: string;
  /** Everything the services of this world have written on stderr and stdout. */
  logs(): string;
  service(): Service;
  /** Stops the service, or kills it, and starts it again. */
  restart(options?: { kill?: boolean; args?: readonly string[] }): Promise<void>;
  /** Starts the service, runs a function, and stops the service, which must exit with 0. */
  serving<T>(run: (service: Service) => Promise<T>, args?: readonly string[]): Promise<T>;
  tvs(...words: string[]): ReturnType<typeof runTvs>;
  tvsJson<T>(...words: string[]): Promise<T>;
  /** Writes a file beside the data. @returns its path */
  file(name: string, text: string): Promise<string>;
  importRows(rows: readonly Row[]): Promise<void>;
  partner(options?: PartnerOptions): Promise<Partner>;
  /** Adds a certificate to a partner. @returns its fingerprint */
  addCertificate(partner: Partner, certificate: TestCertificate): Promise<string>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Stops the service, which must exit with 0, and removes the folder. */
  end(): Promise<void>;
};

/** A world for all tests of a file, made before the first of them and ended after the last. */
export function sharedWorld(options: WorldOptions = {}): World {
  setDefaultTimeout(testTimeoutMs);
  const { world, begin } = newWorld(options);
  beforeAll(begin);
  afterAll(() => world.end());
  return world;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { world, begin } = newWorld(options);
  await begin();
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
  const { rows = Object.values(teachers), args = [], env = {}, isTls = false, isStopped, isEmpty } = options;
  let folder: Folder | undefined;
  let current: Service | undefined;
  const past: Service[] = [];
  let partners = 0;
  const pathOf = (name: string) => join(folder?.path ?? "", name);
  const common = () => ["--data", pathOf("data")];

  async function file(name: string, text: string): Promise<string> {
    await writeFile(pathOf(name), text);
    return pathOf(name);
  }

  async function importRows(imported: readonly Row[]): Promise<void> {
    const path = await file(`import-${crypto.randomUUID()}.csv`, csv(imported));
    await runJson(["teachers", "import", path, "--allow-change", ...common()], { env });
  }

  function start(more: readonly string[]): Promise<Service> {
    const tls = ["--tls-port", "0", "--tls-cert", pathOf("server.pem"), "--tls-key", pathOf("server.key")];
    const words = ["--issuer", issuer, ...(isTls ? tls : []), ...more];
    return startService({ dataDir: pathOf("data"), args: words, env });
  }

  async function begin(): Promise<void> {
    folder = await makeFolder();
    try {
      if (isTls) {
        const { certPem, keyPem } = await makeCertificate({ commonName: "verify.example.gov" });
        await file("server.pem", certPem);
        await file("server.key", keyPem);
      }
      if (isEmpty) await runJson(["init", "--issuer", issuer, "--name", "Registry", ...common()]);
      if (rows.length > 0) await importRows(rows);
      if (!isStopped) current = await start(args);
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }

  function service(): Service {
    if (current === undefined) throw new Error("the world has not begun");
    return current;
  }

  async function partner(limits: PartnerOptions = {}): Promise<Partner> {
    const id = `partner-${++partners}`;
    const words = ["partners", "add", id, "--name", `Partner ${partners}`];
    const { scopes = "all", purposes = "all", perMinute = 100_000, perDay = 1_000_000 } = limits;
    words.push("--scopes", scopes, "--purposes", purposes);
    words.push("--per-minute", String(perMinute), "--per-day", String(perDay));
    const made = await runJson<{ apiKey: string; keyId: string }>([...words, ...common()], { env });
    const authorization = { Authorization: `Bearer ${made.apiKey}` };
    const call = (path: string, init: RequestInit) => fetch(`${service().url}${api}${path}`, init);
    const post: Partner["post"] = (path, body, headers = {}) =>
      call(path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers: { ...authorization, "Content-Type": "application/json", ...headers },
      });
    const known: Partner = {
      id,
      ...made,
      get: (path, headers = {}) => call(path, { headers: { ...authorization, ...headers } }),
      post,
      check: (identifier, purpose = "GENERAL_PUBLIC_VERIFICATION", headers = {}) =>
        post("/eligibility-check", { identifier, purpose }, headers),
    };
    if (current !== undefined) await honoured(known);
    return known;
  }

  /**
   * Waits until the running service knows the partner. The question has an empty body: it is refused for that,
   * which costs a token of the minute, or costs nothing for a partner without the scope `lookup_by_nin`.
   */
  async function honoured(known: Partner): Promise<void> {
    const isKnown = async () => (await known.post("/lookup/by-nin", "")).status !== 401;
    if (!(await withinOneSecond(isKnown))) throw new Error("the service does not know the new partner");
  }

  /** Stops the running service, if there is one. @throws Error unless it exits with 0 */
  async function stop(signal?: Signal): Promise<void> {
    const code = await current?.stop(signal);
    if (signal !== "SIGKILL" && (code ?? 0) !== 0) throw new Error(`serve ended badly: ${current?.stderr()}`);
    if (current !== undefined) past.push(current);
    current = undefined;
  }

  const world: World = {
    get dataDir() {
      return pathOf("data");
    },
    logs: () => [...past, service()].map((one) => one.stdout() + one.stderr()).join(""),
    service,
    async restart({ kill = false, args: given = args } = {}) {
      await stop(kill ? "SIGKILL" : "SIGTERM");
      current = await start(given);
    },
    async serving(run, given = args) {
      current = await start(given);
      try {
        return await run(current);
      } finally {
        await stop();
      }
    },
    tvs: (...words) => runTvs([...words, ...common()], { env }),
    tvsJson: (...words) => runJson([...words, ...common()], { env }),
    file,
    importRows,
    partner,
    async addCertificate({ id }, { certPem }) {
      const path = await file(`${crypto.randomUUID()}.pem`, certPem);
      const words = ["partners", "cert", "add", id, path];
      return (await world.tvsJson<{ fingerprint: string }>(...words)).fingerprint;
    },
    get: (path, headers = {}) => fetch(`${service().url}${path}`, { headers }),
    end: () => stop().finally(() => folder?.remove()),
  };
  return { world, begin };
}

/** Asks over TLS and a new connection, because an open one has the client certificate of an earlier call. */
export function fetchOverTls(
  url: string,
  certificate: TestCertificate | undefined,
  init: Pick<RequestInit, "method" | "body"> & { headers?: Record<string, string> } = {},
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

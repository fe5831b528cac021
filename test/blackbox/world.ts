/** A data folder with a registry, partners and a running service: what most of the test files start with. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withinOneSecond } from "../harness/eventually.ts";
import { makeFolder } from "../harness/folder.ts";
import { runJson, runTvs, type Service, startService } from "../harness/program.ts";
import type { Identifier, Purpose } from "./contract.ts";
import { csv, type Row, teachers } from "./registry.ts";

export const issuer = "https://verify.example.gov";
export const api = "/v1/inter-agency";

export type WorldOptions = {
  rows?: readonly Row[];
  /** Arguments of `serve` besides data folder, port and issuer. */
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
};

export type PartnerOptions = {
  scopes?: string;
  purposes?: string;
  perMinute?: number;
  perDay?: number;
};

/** A partner with its key, and how it calls the service. */
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
  /** Runs a command on this data folder. */
  tvs(...words: string[]): ReturnType<typeof runTvs>;
  tvsJson<T>(...words: string[]): Promise<T>;
  /** Writes a file beside the data. @returns its path */
  file(name: string, text: string): Promise<string>;
  importRows(rows: readonly Row[]): Promise<void>;
  partner(options?: PartnerOptions): Promise<Partner>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Ends the service, which has to end well, and removes the folder. */
  end(): Promise<void>;
};

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const folder = await makeFolder();
  const dataDir = join(folder.path, "data");
  const past: Service[] = [];
  let partners = 0;
  const start = (args: readonly string[]) =>
    startService({ dataDir, args: ["--issuer", issuer, ...args], env: options.env ?? {} });
  const common = ["--data", dataDir];
  const env = options.env ?? {};

  async function file(name: string, text: string): Promise<string> {
    const path = join(folder.path, name);
    await writeFile(path, text);
    return path;
  }

  async function importRows(rows: readonly Row[]): Promise<void> {
    const path = await file(`import-${crypto.randomUUID()}.csv`, csv(rows));
    await runJson(["teachers", "import", path, "--allow-change", ...common], { env });
  }

  async function setUp(): Promise<Service> {
    const rows = options.rows ?? Object.values(teachers);
    if (rows.length > 0) await importRows(rows);
    return start(options.args ?? []);
  }

  let current: Service;
  try {
    current = await setUp();
  } catch (error) {
    await folder.remove();
    throw error;
  }

  async function partner(limits: PartnerOptions = {}): Promise<Partner> {
    const id = `partner-${++partners}`;
    const words = ["partners", "add", id, "--name", `Partner ${partners}`];
    const { scopes = "all", purposes = "all", perMinute = 100_000, perDay = 1_000_000 } = limits;
    words.push("--scopes", scopes, "--purposes", purposes);
    words.push("--per-minute", String(perMinute), "--per-day", String(perDay));
    const made = await runJson<{ apiKey: string; keyId: string }>([...words, ...common], { env });
    const authorization = { Authorization: `Bearer ${made.apiKey}` };
    const call = (path: string, init: RequestInit) => fetch(`${current.url}${api}${path}`, init);
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
    await honoured(known);
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

  return {
    dataDir,
    logs: () => [...past, current].map((service) => service.stdout() + service.stderr()).join(""),
    service: () => current,
    async restart({ kill = false, args = options.args ?? [] } = {}) {
      past.push(current);
      if (kill) {
        await current.stop("SIGKILL");
      } else if ((await current.stop()) !== 0) {
        throw new Error(`serve ended badly: ${current.stderr()}`);
      }
      current = await start(args);
    },
    tvs: (...words) => runTvs([...words, ...common], { env }),
    tvsJson: (...words) => runJson([...words, ...common], { env }),
    file,
    importRows,
    partner,
    get: (path, headers = {}) => fetch(`${current.url}${path}`, { headers }),
    async end() {
      const code = await current.stop();
      await folder.remove();
      if (code !== 0) throw new Error(`serve ended with ${code}: ${current.stderr()}`);
    },
  };
}

export async function readJson<T>(response: Response): Promise<T> {
  return (await response.json()) as T;
}

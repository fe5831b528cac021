import { afterAll, beforeAll } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hasRegister, type OpenedRegister, type OpenRegisterOptions, openRegister } from "../../cli/open.ts";
import { openService } from "../../cli/serve/open-service.ts";
import { createApp } from "../../src/app.ts";
import { type CommandLineOptions, readCommandConfig } from "../../src/config.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { mintApiKey } from "../../src/domain/credentials.ts";
import { type Partner, scopes } from "../../src/domain/partners.ts";
import { type ClientOptions, createClient } from "../../src/partner/client.ts";
import { type Purpose, purposes } from "../../src/partner/contract.ts";
import type { AppOptions } from "../../src/service.ts";
import { sendToApp } from "./answer.ts";
import { makeFolder, withTempDir } from "./folder.ts";
import { aPartner, aTeacherWrite } from "./samples.ts";

/** Shared by the files of one run, each of which loads this module again. */
const shared = globalThis as { newRegisters?: Map<string, Promise<ReadonlyMap<string, Uint8Array>>> };

type MadeRegister = {
  /** The time of the making (default: now). */
  readonly at?: number | undefined;
  /** Whether it has one teacher: an empty register answers no lookup, and its health is 503. */
  readonly hasTeacher?: boolean;
};

/** Makes a register and returns its files by name, to be copied: making its two keys takes a quarter of a second. */
function newRegister({ at, hasTeacher = false }: MadeRegister): Promise<ReadonlyMap<string, Uint8Array>> {
  return withTempDir(async (folder) => {
    const clock = { now: () => at ?? Date.now() };
    const operator = await openRegister(readCommandConfig({ data: folder }, {}), {
      whenMade: () => {},
      clock,
    });
    if (hasTeacher) await addTeacher(operator);
    await operator.driver.close();
    const names = readdirSync(folder).filter((name) => !name.endsWith("-shm"));
    return new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
  });
}

const addTeacher = ({ stores }: OpenedRegister) =>
  stores.teachers.apply([{ ...aTeacherWrite("ZZ/0000/ZZ/000000"), events: [] }]);

/**
 * Makes a register from the files of another, so those of one run have the same keys. This process does not open it.
 * The native driver keeps a closed database open until it is collected, and a restore over it would be refused or
 * damaged.
 */
export async function makeRegister(dataDir: string, made: MadeRegister = {}): Promise<void> {
  shared.newRegisters ??= new Map();
  const name = `${made.at ?? "now"} ${made.hasTeacher ?? false}`;
  const files = shared.newRegisters.get(name) ?? newRegister(made);
  shared.newRegisters.set(name, files);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  for (const [file, content] of await files) writeFileSync(join(dataDir, file), content, { mode: 0o600 });
}

/** Makes a register if a command line names a folder or a database without one. Not for a sandbox. */
export async function makeMissingRegister(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const options = { data: { type: "string" }, database: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true });
  const isNamed = ["data", "database"].some(
    (name) => name in values || `TVS_${name.toUpperCase()}` in environment,
  );
  if (!isNamed || "sandbox" in values || "TVS_SANDBOX" in environment) return;
  const flags = Object.fromEntries(
    Object.entries(values).filter(([name]) => name in options),
  ) as CommandLineOptions;
  const hasTeacher = words[0] === "serve" || words[0] === "partners";
  // If no register can be made there, the command itself reports the reason.
  try {
    const config = readCommandConfig(flags, environment);
    if (existsSync(config.masterKeyFile) || (await hasRegister(config))) return;
    const places = [config.masterKeyFile, config.database.kind === "file" ? config.database.file : ""];
    const usual = ["master.key", "tvs.db"].map((name) => join(config.dataDir, name));
    if (config.masterKey === undefined && places.join() === usual.join())
      return await makeRegister(config.dataDir, { hasTeacher });
    const operator = await openRegister(config, { whenMade: () => {} });
    if (hasTeacher) await addTeacher(operator);
    await operator.driver.close();
    Bun.gc(true);
  } catch {}
}

/** Opens the register of a data directory, runs a function with it and closes it. A missing register is made first. */
export async function withTestContext<T>(
  dataDir: string,
  act: (operator: OpenedRegister) => Promise<T>,
  options: OpenRegisterOptions = {},
): Promise<T> {
  if (options.clock === undefined && !existsSync(join(dataDir, "tvs.db"))) await makeRegister(dataDir);
  const operator = await openRegister(readCommandConfig({ data: dataDir }, {}), {
    whenMade: () => {},
    ...options,
  });
  try {
    return await act(operator);
  } finally {
    await operator.driver.close();
  }
}

/** The teachers in the register of the test service. */
export const knownTeacher = { regNo: "LA/2019/PRI/04417", tId: 204417, nin: "12345678901" };
export const legacyTeacher = { regNo: "KN/2001/SEC/00007", tId: 7 };

/** A purpose that the partner `full` lacks. */
export const refusedPurpose: Purpose = "EMPLOYER_BACKGROUND_CHECK";

const partners: Record<string, Partial<Partner>> = {
  full: {
    scopes,
    purposes: purposes.filter((purpose) => purpose !== refusedPurpose),
    perMinute: 5_000,
    perDay: 5_000,
  },
  unscoped: { scopes: [], purposes },
  spent: { scopes, purposes, perMinute: 0 },
};

export type PartnerName = "full" | "unscoped" | "spent";
export type TestService = Awaited<ReturnType<typeof openTestService>>;

/** Adds a partner with an API key to a register. @returns the key and its id */
export async function addPartner(
  { keyKind: kind, secrets, clock, stores }: OpenedRegister,
  partnerId: string,
  terms: Partial<Partner> = {},
  expiresAt: number | null = null,
): Promise<{ text: string; keyId: string }> {
  const { text, record } = mintApiKey(partnerId, { kind, secrets, now: clock.now() });
  await stores.partners.add({ ...aPartner(partnerId), ...terms }, { ...record, expiresAt });
  return { text, keyId: record.keyId };
}

/**
 * Opens the real service in a new folder, with the app of `serve`. Its clock does not move, unless a test passes one.
 */
export async function openTestService(options: Partial<AppOptions> & { clock?: Clock } = {}) {
  const folder = makeFolder();
  const { clock = { now: () => Date.parse("2026-03-01T09:30:00.250Z") } } = options;
  await makeRegister(folder.path, { at: clock.now() });
  const opened = await openService(readCommandConfig({ data: folder.path }, {}), {
    clock,
    defaultIssuer: testIssuer,
  });
  const { operator, service } = opened;
  await operator.stores.teachers.apply([
    aTeacherWrite(knownTeacher.regNo, {
      tId: knownTeacher.tId,
      ninIndex: operator.blindIndex.nin(knownTeacher.nin),
      ninVerified: true,
    }),
    aTeacherWrite(legacyTeacher.regNo, {
      tId: legacyTeacher.tId,
      source: "legacy",
      licenseExpiryDate: "2020-12-31",
    }),
  ]);
  const keys = new Map<string, string>();
  for (const [name, changes] of Object.entries(partners)) {
    keys.set(name, (await addPartner(operator, name, changes)).text);
  }
  await service.configuration.refresh();
  const app = createApp(service, {
    publicPerMinute: 1_000_000,
    trustedProxies: [],
    ...options,
  });

  async function call(
    path: string,
    init: { as?: PartnerName; from?: string; method?: string; headers?: HeadersInit; body?: unknown } = {},
  ) {
    const headers = new Headers(init.headers);
    if (init.as !== undefined) headers.set("Authorization", `Bearer ${keys.get(init.as)}`);
    const body =
      init.body === undefined || typeof init.body === "string" ? init.body : JSON.stringify(init.body);
    const method = init.method ?? (body === undefined ? "GET" : "POST");
    return sendToApp(app, path, { method, headers, ...(body === undefined ? {} : { body }) }, init.from);
  }

  async function close() {
    await opened.close();
    await folder.remove();
  }

  const { metrics, isDiskRefusing } = opened;
  return {
    metrics,
    isDiskRefusing,
    app,
    keyOf: (name: PartnerName) => keys.get(name),
    call,
    close,
    operator,
    service,
  };
}

/** Opens a service for all tests of a file, and closes it after the last. */
export function sharedTestService(options: Parameters<typeof openTestService>[0] = {}): TestService {
  const world = {} as TestService;
  beforeAll(async () => {
    Object.assign(world, await openTestService(options));
  });
  afterAll(() => world.close());
  return world;
}

const testIssuer = "https://teachers.example";

type Sent = {
  readonly path: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
};

/** A client of a test service; `answer` may answer in the service's place. */
export function createTestClient(
  world: TestService,
  options: Omit<Partial<ClientOptions>, "verify"> & {
    as?: PartnerName;
    /** Null for a client that does not verify. */
    verify?: ClientOptions["verify"] | null;
    answer?: (sent: Sent, attempt: number) => Response | undefined | Promise<Response | undefined>;
  } = {},
) {
  const { as = "full", answer, verify = { issuer: testIssuer, audience: as }, ...more } = options;
  const sent: Sent[] = [];
  const waits: number[] = [];
  const client = createClient({
    baseUrl: testIssuer,
    apiKey: world.keyOf(as) ?? "",
    ...(verify === null ? {} : { verify }),
    wait: async (milliseconds) => void waits.push(milliseconds),
    fetch: async (url, init) => {
      const path = url.slice(testIssuer.length);
      const [headers, body] = [new Headers(init.headers), String(init.body ?? "")];
      const one = { path, method: init.method ?? "GET", headers, body };
      sent.push(one);
      const given = await answer?.(one, sent.filter((other) => other.path === path).length);
      if (given !== undefined) return given;
      return world.call(path, { method: one.method, headers, ...(body === "" ? {} : { body }) });
    },
    ...more,
  });
  return { client, sent, waits, of: (part: string) => sent.filter(({ path }) => path.includes(part)) };
}

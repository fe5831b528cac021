/** What only several nodes can show: one register, three services, and commands beside them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newMasterKey } from "../../src/domain/secrets.ts";
import { type Cluster, type ClusterNode, startCluster } from "../harness/cluster.ts";
import { until, untilAnswer } from "../harness/eventually.ts";
import { type Folder, makeFolder, withTempDir } from "../harness/folder.ts";
import {
  patienceMs,
  programWords,
  type RunOptions,
  roomInMinute,
  runJson,
  runTvs,
  runWell,
  startService,
} from "../harness/program.ts";
import { noServer, startServer, type TestServer } from "../harness/sqld.ts";
import { csv, teacher } from "./registry.ts";
import { addPartner as addFirstPartner, expectOneLine } from "./used-folder.ts";
import { api } from "./world.ts";

setDefaultTimeout(3 * patienceMs);

const perMinute = 30;
const rows = Array.from({ length: 3 }, (_, at) => teacher(`NO/DE/2024/0000${at}`, { t_id: `777000${at}` }));

let cluster: Cluster;
let nodes: readonly ClusterNode[];
let partners = 0;

type ListedNode = { nodeId: string; url: string; startedAt: string; seenAt: string; state: string };

const tvs = (...words: string[]) => runTvs(words, cluster.register);
const tvsJson = <T>(...words: string[]) => runJson<T>(words, cluster.register);
const listed = () => tvsJson<ListedNode[]>("nodes", "list");
const stateOf = async (node: ClusterNode) => (await listed()).find(({ url }) => url === node.url)?.state;

/** Each question by a connection of its own, so that the same node is asked anew. */
function ask(node: ClusterNode, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), Connection: "close" };
  return fetch(node.url + path, { ...init, headers, keepalive: false });
}

/** A partner whom all nodes know, and its checks. */
async function addPartner() {
  const id = `agency-${++partners}`;
  const words = ["partners", "add", id, "--name", "Agency", "--scopes", "eligibility", "--purposes", "all"];
  const most = ["--per-minute", "100000", "--per-day", "100000"];
  const key = await tvsJson<{ apiKey: string; keyId: string }>(...words, ...most);
  const check = (node: ClusterNode, regNo = rows[0]?.reg_no) =>
    ask(node, `${api}/eligibility-check`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key.apiKey}` },
      body: JSON.stringify({ identifier: { regNo }, purpose: "GENERAL_PUBLIC_VERIFICATION" }),
    });
  // Without the scope, which costs nothing: 403 when the key is known.
  const isKnown = async (node: ClusterNode) =>
    (await ask(node, `${api}/lookup/by-tid/1`, { headers: { Authorization: `Bearer ${key.apiKey}` } }))
      .status === 403;
  await until(async () => (await Promise.all(nodes.map(isKnown))).every(Boolean));
  return { id, ...key, check };
}

/** Writes a file for a command, and removes it. */
const withFile = <T>(name: string, text: string, act: (file: string) => Promise<T>) =>
  withTempDir(async (folder) => {
    const file = join(folder, name);
    await writeFile(file, text);
    return act(file);
  });

/** The node that does what one does for all, as people read it. */
async function housekeeper(): Promise<ClusterNode | undefined> {
  const line = (await tvs("nodes", "list")).stdout.split("\n").find((one) => one.includes("keeps house"));
  return nodes.find(({ url }) => line?.startsWith(url));
}

describe.skipIf(noServer !== undefined)("three nodes over one libSQL server", () => {
  beforeAll(async () => {
    const limits = ["--public-per-minute", String(perMinute)];
    cluster = await startCluster({ nodes: 3, args: [...limits, "--allow-private-webhooks"] });
    nodes = cluster.nodes;
    await withFile("extract.csv", csv(rows), (file) =>
      runWell(["teachers", "import", file], cluster.register),
    );
  });
  afterAll(() => cluster?.close());

  test("share the public limit: each has its part of it", async () => {
    let callers = 0;
    async function spend(node: ClusterNode, address: string): Promise<number> {
      const headers = { "X-Forwarded-For": address };
      const calls = Array.from({ length: perMinute }, () =>
        ask(node, "/teacher/verify-license?searchTerm=1", { headers }),
      );
      return (await Promise.all(calls)).filter(({ status }) => status === 200).length;
    }
    const answered = await untilAnswer(
      async () => {
        await roomInMinute();
        const address = `198.51.100.${++callers}`;
        return Promise.all(nodes.map((node) => spend(node, address)));
      },
      // A node knows of the others by its next beat.
      (counts) => counts.every((count) => count === perMinute / nodes.length),
    );
    expect(answered).toHaveLength(3);
  });

  test("take over what a killed one was sending, and its housekeeping, and list it as gone", async () => {
    const received: string[] = [];
    const never = Promise.withResolvers<Response>();
    const receiver = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        received.push(request.headers.get("X-AGENCY-Event-ID") ?? "");
        return received.length === 1 ? never.promise : new Response(null, { status: 204 });
      },
    });
    try {
      const partner = await addPartner();
      const killed = (await untilAnswer(housekeeper, (node) => node !== undefined)) as ClusterNode;
      const others = nodes.filter((node) => node !== killed);
      const url = `http://127.0.0.1:${receiver.port}/`;
      await tvsJson("partners", "webhook", "set", partner.id, url);
      // While the others stand still, this one sends.
      for (const node of others) node.signal("SIGSTOP");
      expect((await tvs("partners", "webhook", "test", partner.id)).code).toBe(0);
      await until(() => received.length === 1);
      await killed.stop("SIGKILL");
      for (const node of others) node.signal("SIGCONT");
      await until(async () => (await stateOf(killed)) === "gone");
      await until(() => received.length === 2, patienceMs);
      expect(received[1]).toBe(received[0] ?? "");
      const next = await untilAnswer(housekeeper, (node) => node !== undefined && node !== killed);
      expect(others).toContain(next as ClusterNode);
      for (const node of others) expect((await partner.check(node)).status).toBe(200);
      await killed.start();
      expect(
        await untilAnswer(
          () => stateOf(killed),
          (state) => state !== undefined,
        ),
      ).toBeDefined();
      await until(async () => (await listed()).filter(({ state }) => state === "live").length === 3);
    } finally {
      never.resolve(new Response(null, { status: 503 }));
      await receiver.stop(true);
    }
  });

  test("end one by one, and leave the list when they end well", async () => {
    const [first, ...others] = nodes as [ClusterNode, ...ClusterNode[]];
    expect(await Promise.all(others.map((node) => node.stop()))).toEqual([0, 0]);
    expect((await ask(first, `${api}/health`)).status).toBe(200);
    const configuration = (await listed()).filter(({ state }) => state === "live");
    expect(configuration.map(({ url }) => url)).toEqual([first.url]);
  });
});

async function exportOf(register: RunOptions, file: string): Promise<string> {
  await runWell(["teachers", "export", file], register);
  return readFile(file, "utf8");
}

describe.skipIf(noServer !== undefined || Bun.which("sqlite3") === null)("a register in a file", () => {
  test("goes into a server that begins with a copy of it, and back from the server's dump", () =>
    withTempDir(async (folder) => {
      const [file, copy, back] = [join(folder, "file"), join(folder, "tvs.db"), join(folder, "back")];
      await addFirstPartner("agency", ["--data", file]);
      await withFile("extract.csv", csv(rows), (extract) =>
        runWell(["teachers", "import", extract], { dataDir: file }),
      );
      await (await startService({ dataDir: file })).stop();
      await runWell(["backup", copy], { dataDir: file });
      const placed = join(folder, "sqld", "data", "dbs", "default");
      await mkdir(placed, { recursive: true });
      await copyFile(copy, join(placed, "data"));
      const server = await startServer({ folder: join(folder, "sqld") });
      try {
        const there = { dataDir: file, env: { TVS_DATABASE: server.url } };
        const service = await startService(there);
        expect((await fetch(`${service.url}${api}/health`)).status).toBe(200);
        const found = `${service.url}/teacher/verify-license?searchTerm=7770001`;
        expect(await (await fetch(found)).json()).toMatchObject({ found: true });
        await service.stop();
        await addFirstPartner("another", ["--database", server.url, "--data", file]);
        await runWell(["log", "audit"], there);
        const exported = await exportOf(there, join(folder, "there.csv"));
        expect(exported.split("\n").length).toBeGreaterThan(rows.length);
        const dump = join(folder, "dump.sql");
        await writeFile(dump, await (await fetch(`${server.url}/dump`)).text());
        await cp(file, back, { recursive: true });
        for (const name of ["tvs.db", "tvs.db-wal", "tvs.db-shm"])
          await rm(join(back, name), { force: true });
        const read = Bun.spawnSync(["sqlite3", "-bail", join(back, "tvs.db")], { stdin: Bun.file(dump) });
        expect(read.exitCode).toBe(0);
        expect(await exportOf({ dataDir: back }, join(folder, "back.csv"))).toBe(exported);
        const partnersThere = await runJson<{ partnerId: string }[]>(["partners", "list"], { dataDir: back });
        expect(partnersThere.map(({ partnerId }) => partnerId)).toEqual(["agency", "another"]);
        const again = await startService({ dataDir: back });
        expect((await fetch(`${again.url}${api}/health`)).status).toBe(200);
        await again.stop();
      } finally {
        await server.stop();
      }
    }));
});

describe.skipIf(noServer !== undefined)("a node that may not serve the register says so in one line", () => {
  const good = generateKeyPairSync("ed25519");
  let folder: Folder;
  let server: TestServer;
  /** Who has the register, and may use it. */
  let env: Record<string, string>;

  beforeAll(async () => {
    folder = await makeFolder();
    const keyFile = join(folder.path, "server.pem");
    await writeFile(keyFile, good.publicKey.export({ format: "pem", type: "spki" }));
    server = await startServer({ args: ["--auth-jwt-key-file", keyFile] });
    const TVS_DATABASE_TOKEN = tokenOf(good.privateKey);
    env = { TVS_DATABASE: server.url, TVS_DATABASE_TOKEN, TVS_MASTER_KEY: newMasterKey() };
    expect((await addFirstPartner("agency", ["--data", join(folder.path, "data")], { env })).code).toBe(0);
  });
  afterAll(async () => {
    await server?.stop();
    await folder?.remove();
  });

  function tokenOf(key: KeyObject): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const text = `${part({ alg: "EdDSA", typ: "JWT" })}.${part({ a: "rw" })}`;
    return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
  }

  const authorization = () => ({ Authorization: `Bearer ${env.TVS_DATABASE_TOKEN}` });
  const written = async () => (await fetch(`${server.url}/dump`, { headers: authorization() })).text();

  /** @returns what a command and a service say, which have to say the same */
  async function refused(
    changes: Record<string, string>,
    { program, code = 1 }: { program?: readonly string[]; code?: number } = {},
  ): Promise<string> {
    const before = await written();
    const dataDir = join(folder.path, "node");
    const options = { dataDir, env: { ...env, ...changes }, ...(program === undefined ? {} : { program }) };
    const service = await runTvs(["serve", "--port", "0", "--issuer", "https://a.example"], options);
    const command = await runTvs(["partners", "list"], options);
    for (const finished of [service, command]) expectOneLine(finished, code);
    expect(service.stderr).toBe(command.stderr);
    expect(await written()).toBe(before);
    expect(existsSync(dataDir)).toBe(false);
    return service.stderr;
  }

  test("with a second master key, or none", async () => {
    expect(await refused({ TVS_MASTER_KEY: newMasterKey() })).toContain("master key");
    expect(await refused({ TVS_MASTER_KEY: "" })).toContain("master.key is missing");
  });

  test("with the master key of a register that its server has lost", () =>
    withTempDir(async (dataDir) => {
      const empty = await startServer();
      await writeFile(join(dataDir, "master.key"), `${newMasterKey()}\n`, { mode: 0o600 });
      const serve = ["serve", "--port", "0", "--issuer", "https://a.example"];
      const service = await runTvs(serve, { dataDir, env: { TVS_DATABASE: empty.url } });
      expectOneLine(service, 1);
      expect(service.stderr).toContain(`the database at ${empty.url} is empty`);
      await empty.stop();
    }));

  test.each(["+60s", "-60s"])("with a clock that is %s wrong", async (offset) => {
    expect(await refused({}, { program: ["faketime", "-f", offset, ...programWords] })).toContain(
      "this machine's clock is 60 s",
    );
  });
});

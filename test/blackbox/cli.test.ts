import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { Health, KeyInfo } from "./contract.ts";
import { type Finished, makeFolder, programWords, run, runJson, type Service, startService } from "./program.ts";

let folder: Awaited<ReturnType<typeof makeFolder>>;
/** A data folder that has been used once; tests copy it. */
let used: string;
/** The key of the one partner in it. */
let apiKey: string;
let copies = 0;

beforeAll(async () => {
  folder = await makeFolder();
  used = join(folder.path, "used");
  const partner = ["partners", "add", "agency", "--name", "Agency", "--scopes", "all", "--purposes", "all"];
  const limits = ["--per-minute", "1000", "--per-day", "1000", "--data", used];
  ({ apiKey } = await runJson<{ apiKey: string }>([...partner, ...limits]));
});

afterAll(() => folder?.remove());

const freshPath = (name = "data") => join(folder.path, `${name}-${++copies}`);

async function copyOfUsed(): Promise<string> {
  const path = freshPath();
  await cp(used, path, { recursive: true });
  return path;
}

/** One line on stderr that says what is wrong, and no stack trace anywhere. */
function expectOneLine(finished: Finished, code: number): void {
  expect({ code: finished.code, stderr: finished.stderr }).toEqual({ code, stderr: expect.stringMatching(/^[^\n]+\n$/) });
  expect(finished.stderr.length).toBeGreaterThan(10);
  expect(finished.stderr + finished.stdout).not.toMatch(/^\s+at /m);
  expect(finished.stderr).not.toContain("internal error");
}

const leaves = [
  "serve",
  "keys list",
  "keys rotate",
  "keys compromise",
  "keys jwks",
  "keys history",
  "keys import",
  "partners add",
  "partners list",
  "partners show",
  "partners set",
  "partners disable",
  "partners enable",
  "partners key issue",
  "partners key revoke",
  "partners key list",
  "partners cert add",
  "partners cert remove",
  "partners cert list",
  "partners webhook set",
  "partners webhook rotate-secret",
  "partners webhook show",
  "partners webhook disable",
  "partners webhook enable",
  "partners webhook remove",
  "partners webhook test",
  "teachers import",
  "teachers show",
  "teachers revoke",
  "teachers reinstate",
  "teachers deactivate",
  "teachers reactivate",
  "teachers history",
  "teachers sweep",
  "teachers export-subject",
  "webhooks list",
  "webhooks show",
  "webhooks retry",
  "attestations list",
  "attestations show",
  "attestations check",
  "verify",
  "verify-webhook",
  "roster",
  "backup",
  "backup verify",
  "restore",
  "status",
  "doctor",
  "policy show",
  "policy check",
  "openapi",
];

describe("help", () => {
  test.each(leaves)("tvs %s --help has an example of itself", async (words) => {
    const { code, stdout, stderr } = await run([...words.split(" "), "--help"], { cwd: folder.path });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const example = stdout.slice(stdout.search(/example/i));
    expect(example).toContain(`tvs ${words}`);
  });

  test("tvs --help names every command, and a group names its own", async () => {
    const { code, stdout } = await run(["--help"]);
    expect(code).toBe(0);
    for (const name of new Set(leaves.map((words) => words.split(" ")[0] ?? ""))) expect(stdout).toContain(name);
    const keys = await run(["keys", "--help"]);
    for (const name of ["list", "rotate", "compromise", "jwks", "history", "import"]) {
      expect(keys.stdout).toContain(name);
    }
  });

  test("help makes nothing on the disk", async () => {
    const data = freshPath();
    await run(["keys", "list", "--help", "--data", data]);
    expect(await stat(data).catch(() => null)).toBeNull();
  });

  test("tvs --version prints the version alone", async () => {
    const { code, stdout } = await run(["--version"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });
});

describe("usage errors", () => {
  test.each([
    ["a command that is none", "kyes list"],
    ["a sub-command that is none", "keys lits"],
    ["a group without command", "keys"],
    ["a flag that is none", "keys list --jsno"],
    ["a short flag that is none", "keys list -x"],
    ["one operand too many", "keys list more"],
    ["a missing operand", "partners show"],
    ["a missing flag", "partners add someone --scopes all"],
    ["a flag without its value", "keys compromise kid --since"],
    ["a scope that is none", "partners add p --name N --scopes none --purposes all --per-minute 1 --per-day 1"],
    ["a purpose that is none", "partners add p --name N --scopes all --purposes X --per-minute 1 --per-day 1"],
    ["a quota that is no number", "partners add p --name N --scopes all --purposes all --per-minute x --per-day 1"],
    ["a quota below zero", "partners add p --name N --scopes all --purposes all --per-minute=-1 --per-day 1"],
    ["an id with a slash", "partners add a/b --name N --scopes all --purposes all --per-minute 1 --per-day 1"],
    ["a duration that is none", "partners key issue p --overlap 5"],
    ["a port that is none", "serve --port http"],
    ["a port too high", "serve --port 70000"],
    ["an issuer that is no address", "serve --port 0 --issuer verify.example.gov"],
    ["an issuer with a query", "serve --port 0 --issuer https://a.example/?b=1"],
    ["a time zone that is none", "serve --port 0 --time-zone Africa/Nowhere"],
    ["a proxy that is no network", "serve --port 0 --trusted-proxy proxy.example"],
    ["half of the TLS flags", "serve --port 0 --tls-port 0"],
    ["a policy that is not there", "serve --port 0 --policy /no/such/policy.json"],
    ["a certificate that is not there", "serve --port 0 --tls-port 0 --tls-cert /no/c.pem --tls-key /no/k.pem"],
    ["a database of another kind", "keys list --database mysql://127.0.0.1/x"],
    ["a file that is not there", "keys import /no/such/key.pem"],
  ])("%s: exit code 2 and one line", async (_name, words) => {
    const finished = await run([...words.split(" "), "--data", await copyOfUsed()]);
    expectOneLine(finished, 2);
    expect(finished.stdout).toBe("");
  });

  test("a usage error makes nothing on the disk", async () => {
    const data = freshPath();
    expect((await run(["keys", "list", "--nonsense", "--data", data])).code).toBe(2);
    expect((await run(["partners", "add", "p", "--name", "N", "--data", data])).code).toBe(2);
    expect(await stat(data).catch(() => null)).toBeNull();
  });
});

describe("what is not known is exit code 1", () => {
  test.each([
    "partners show nobody",
    "partners set nobody --per-minute 5",
    "partners disable nobody",
    "partners key issue nobody",
    "partners key revoke abcdefghijkl",
    "partners key list nobody",
    "partners cert list nobody",
    "teachers show 4242",
    "teachers show A/B/C/D",
    "teachers revoke 4242 --reason none",
    "teachers history 4242",
    "attestations show 00000000-0000-7000-8000-000000000000",
    "attestations list --partner nobody",
    "keys compromise nokid --since 2026-01-01T00:00:00Z",
  ])("tvs %s", async (words) => {
    expectOneLine(await run([...words.split(" "), "--data", used]), 1);
  });
});

describe("--json", () => {
  test.each([
    "keys list",
    "keys jwks",
    "keys history",
    "partners list",
    "attestations list",
    "policy show",
    "openapi",
    "status",
    "webhooks list",
    "teachers sweep",
  ])("tvs %s prints exactly one value", async (words) => {
    const finished = await run([...words.split(" "), "--json", "--data", used]);
    expect({ code: finished.code, stderr: finished.stderr }).toEqual({ code: 0, stderr: "" });
    expect(typeof finished.json<unknown>()).toBe("object");
    const people = await run([...words.split(" "), "--data", used]);
    expect(people.code).toBe(0);
  });

  test("a failure prints one value at most", async () => {
    const finished = await run(["partners", "show", "nobody", "--json", "--data", used]);
    expectOneLine(finished, 1);
    if (finished.stdout !== "") expect(typeof finished.json<unknown>()).toBe("object");
  });
});

describe("data folder", () => {
  test("the first command makes it for its owner alone, with database, master key and two signing keys", async () => {
    const data = join(freshPath(), "nested");
    const keys = (await run(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    expect(keys.map(({ state }) => state).sort()).toEqual(["active", "pending"]);
    const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
    expect(await modeOf(data)).toBe("700");
    expect(await modeOf(join(data, "master.key"))).toBe("600");
    expect((await stat(join(data, "tvs.db"))).isFile()).toBe(true);
    const again = (await run(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    expect(again).toEqual(keys);
  });

  test("two first commands at once agree on one", async () => {
    const data = freshPath();
    const both = await Promise.all([1, 2].map(() => run(["keys", "list", "--json", "--data", data])));
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both[0]?.json<KeyInfo[]>()).toEqual(both[1]?.json<KeyInfo[]>() as KeyInfo[]);
  });

  test("is ./data when nothing else is said", async () => {
    const cwd = freshPath("cwd");
    await mkdir(cwd);
    expect((await run(["keys", "list"], { cwd })).code).toBe(0);
    expect((await stat(join(cwd, "data", "tvs.db"))).isFile()).toBe(true);
  });

  test("may stand before the command, and in TVS_DATA; the flag counts more", async () => {
    const kids = (await run(["keys", "list", "--json", "--data", used])).json<KeyInfo[]>();
    expect((await run(["--data", used, "--json", "keys", "list"])).json<KeyInfo[]>()).toEqual(kids);
    expect((await run([`--data=${used}`, "keys", "list", "--json"])).json<KeyInfo[]>()).toEqual(kids);
    const env = { TVS_DATA: used };
    expect((await run(["keys", "list", "--json"], { env })).json<KeyInfo[]>()).toEqual(kids);
    const other = freshPath();
    const flagged = await run(["keys", "list", "--json", "--data", other], { env });
    expect(flagged.json<KeyInfo[]>()).not.toEqual(kids);
  });

  test("--database names the file, TVS_DATABASE too", async () => {
    const file = join(freshPath(), "registry.db");
    const [flag, env] = [["--database", `file:${file}`], { TVS_DATABASE: `file:${file}` }];
    const data = freshPath();
    const keys = (await run(["keys", "list", "--json", "--data", data, ...flag])).json<KeyInfo[]>();
    expect((await stat(file)).isFile()).toBe(true);
    expect((await run(["keys", "list", "--json", "--data", data], { env })).json<KeyInfo[]>()).toEqual(keys);
  });

  test("the sandbox keeps to a database of its own", async () => {
    const data = await copyOfUsed();
    const live = (await run(["keys", "list", "--json", "--data", data])).json<KeyInfo[]>();
    const sandbox = (await run(["keys", "list", "--json", "--data", data, "--sandbox"])).json<KeyInfo[]>();
    expect(sandbox.map(({ kid }) => kid)).not.toEqual(live.map(({ kid }) => kid));
    expect((await stat(join(data, "sandbox.db"))).isFile()).toBe(true);
    const mixed = await run(["keys", "list", "--sandbox", "--database", `file:${join(data, "tvs.db")}`]);
    expectOneLine(mixed, 1);
  });

  test("a file in its place, or in the place of a folder above it, is told in one line", async () => {
    const file = freshPath("file");
    await writeFile(file, "not a folder");
    expectOneLine(await run(["keys", "list", "--data", file]), 1);
    expectOneLine(await run(["keys", "list", "--data", join(file, "data")]), 1);
  });

  test("a database that is none, is cut off, or belongs to another program", async () => {
    const garbage = await copyOfUsed();
    for (const name of ["tvs.db-wal", "tvs.db-shm"]) await rm(join(garbage, name), { force: true });
    await writeFile(join(garbage, "tvs.db"), "x".repeat(10_000));
    expectOneLine(await run(["keys", "list", "--data", garbage]), 1);

    const foreign = freshPath();
    await mkdir(foreign);
    const database = new Database(join(foreign, "tvs.db"));
    database.run("CREATE TABLE songs (title TEXT)");
    database.close();
    expectOneLine(await run(["keys", "list", "--data", foreign]), 1);
  });

  test("a database that a newer program has used is refused", async () => {
    const data = await copyOfUsed();
    const database = new Database(join(data, "tvs.db"));
    database.run(
      "INSERT INTO schema_migrations SELECT MAX(version) + 1, sha256, applied_at FROM schema_migrations",
    );
    database.close();
    for (const words of [["keys", "list"], ["serve", "--port", "0"]]) {
      const refused = await run([...words, "--data", data]);
      expectOneLine(refused, 1);
      expect(refused.stderr).toContain("newer");
    }
  });
});

describe("master key", () => {
  test("missing beside a database is refused, and no other one is made", async () => {
    const data = await copyOfUsed();
    const key = (await readFile(join(data, "master.key"), "utf8")).trim();
    await rm(join(data, "master.key"));
    for (const words of [["partners", "list"], ["keys", "rotate", "--now"], ["serve", "--port", "0"]]) {
      const refused = await run([...words, "--data", data]);
      expectOneLine(refused, 1);
      expect(refused.stderr).toContain("master.key");
    }
    expect(await stat(join(data, "master.key")).catch(() => null)).toBeNull();
    const given = await run(["keys", "list", "--data", data], { env: { TVS_MASTER_KEY: key } });
    expect(given.code).toBe(0);
  });

  test("of another database is refused, in its file and in TVS_MASTER_KEY", async () => {
    const data = await copyOfUsed();
    const other = freshPath();
    await run(["keys", "list", "--data", other]);
    const wrong = (await readFile(join(other, "master.key"), "utf8")).trim();
    const inVariable = await run(["keys", "list", "--data", data], { env: { TVS_MASTER_KEY: wrong } });
    expectOneLine(inVariable, 1);
    expect(inVariable.stderr).not.toContain(wrong);
    await cp(join(other, "master.key"), join(data, "master.key"));
    expectOneLine(await run(["serve", "--port", "0", "--data", data]), 1);
  });

  test.each(["", "short", "%%%%"])("that is damaged is refused: %p", async (text) => {
    const data = await copyOfUsed();
    await writeFile(join(data, "master.key"), text);
    const refused = await run(["keys", "list", "--data", data]);
    expectOneLine(refused, 1);
  });
});

describe("serve", () => {
  /** Starts, acts and ends; the service has to end with 0. */
  async function serving(
    options: { data?: string; args?: string[]; env?: Record<string, string> },
    act: (service: Service, data: string) => Promise<void>,
  ): Promise<Service> {
    const data = options.data ?? (await copyOfUsed());
    const service = await startService({ dataDir: data, args: options.args ?? [], env: options.env ?? {} });
    try {
      await act(service, data);
    } finally {
      expect(await service.stop()).toBe(0);
    }
    return service;
  }

  const health = async (service: Service) =>
    (await (await fetch(`${service.url}/v1/inter-agency/health`)).json()) as Health;

  test("says where it listens on stdout and nothing else; its log is structured, on stderr", async () => {
    const service = await serving({}, async (one) => {
      expect((await health(one)).status).toBe("ok");
    });
    expect(service.stdout()).toBe(`listening on ${service.url}\n`);
    const lines = service.stderr().trim().split("\n");
    for (const line of lines) expect(typeof (JSON.parse(line) as object)).toBe("object");
  });

  test("a busy port is told in one line", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const refused = await run(["serve", "--port", String(port), "--data", await copyOfUsed()]);
    await new Promise((resolve) => server.close(resolve));
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim().split("\n").at(-1)).toContain(String(port));
    expect(refused.stderr).not.toMatch(/^\s+at /m);
  });

  test("an address that is not this machine's is told in one line", async () => {
    const refused = await run(["serve", "--port", "0", "--host", "192.0.2.1", "--data", await copyOfUsed()]);
    expectOneLine(refused, 1);
  });

  test("a second one on the same data is refused; after a kill -9 the next starts at once", async () => {
    const data = await copyOfUsed();
    await serving({ data }, async (first) => {
      const second = await run(["serve", "--port", "0", "--data", data]);
      expectOneLine(second, 1);
      expect((await health(first)).status).toBe("ok");
    });
    const killed = await startService({ dataDir: data });
    killed.signal("SIGKILL");
    await killed.exited;
    await serving({ data }, async (next) => {
      expect((await health(next)).status).toBe("ok");
    });
  });

  test("takes its settings from variables, flags counting more, and remembers what commands must know", async () => {
    const data = await copyOfUsed();
    const env = { TVS_ISSUER: "https://from-env.example", TVS_PUBLIC_PER_MINUTE: "1", TVS_HOST: "127.0.0.1" };
    await serving({ data, env }, async (service) => {
      expect((await health(service)).issuer).toBe("https://from-env.example");
      const lookUp = () => fetch(`${service.url}/teacher/verify-license?searchTerm=1`);
      const statuses = [(await lookUp()).status, (await lookUp()).status, (await lookUp()).status];
      // The minute may end between two of them, not between all.
      expect(statuses).toContain(429);
    });
    await serving({ data }, async (service) => {
      expect((await health(service)).issuer).toBe("https://from-env.example");
    });
    const historyOf = async (...words: string[]) => {
      const { keyHistory } = (await run(["keys", "history", "--json", "--data", data, ...words])).json<{ keyHistory: string }>();
      return JSON.parse(Buffer.from(keyHistory.split(".")[1] ?? "", "base64url").toString()) as { iss: string };
    };
    expect((await historyOf()).iss).toBe("https://from-env.example");
    await serving({ data, env, args: ["--issuer", "https://from-flag.example/"] }, async (service) => {
      expect((await health(service)).issuer).toBe("https://from-flag.example");
    });
    expect((await historyOf()).iss).toBe("https://from-flag.example");
  });

  test.each(["SIGTERM", "SIGINT"] as const)("%s with an idle connection open ends it at once, with 0", async (signal) => {
    const service = await startService({ dataDir: await copyOfUsed() });
    const { socket } = await openSocket(service);
    service.signal(signal);
    expect(await service.exited).toBe(0);
    socket.destroy();
  });

  test("a second SIGTERM changes nothing", async () => {
    const service = await startService({ dataDir: await copyOfUsed() });
    service.signal("SIGTERM");
    service.signal("SIGTERM");
    expect(await service.exited).toBe(0);
  });

  test.each([
    ["head", 20],
    ["body", -5],
  ])("SIGTERM while a request is within its %s: it is answered, new ones are refused, exit 0", async (_part, at) => {
    const service = await startService({ dataDir: used });
    const { socket, received } = await openSocket(service);
    const body = JSON.stringify({ identifier: { tId: 1 }, purpose: "GENERAL_PUBLIC_VERIFICATION" });
    const head = `POST /v1/inter-agency/eligibility-check HTTP/1.1\r\nHost: x\r\nx-agency-api-key: ${apiKey}\r\n`;
    const request = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    socket.write(request.slice(0, at));
    // Another connection's answer shows that the first bytes of this one have been read before the signal.
    await health(service);
    service.signal("SIGTERM");
    await refused(service);
    socket.write(request.slice(at));
    const answer = await received;
    expect(answer).toStartWith("HTTP/1.1 200 OK");
    expect(answer).toContain('"signature":"');
    expect(await service.exited).toBe(0);
  });
});

async function openSocket(service: Service): Promise<{ socket: Socket; received: Promise<string> }> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const received = new Promise<string>((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    socket.on("error", () => resolve(text));
    socket.on("close", () => resolve(text));
  });
  return { socket, received };
}

/** Waits until the service takes no new connection any more. */
async function refused(service: Service): Promise<void> {
  for (;;) {
    const opened = await openSocket(service).catch(() => null);
    if (opened === null) return;
    // Taken up just before the listener closed, or by the queue of the system: it is not answered.
    opened.socket.destroy();
    await Bun.sleep(10);
  }
}

describe("output", () => {
  const escape = String.fromCharCode(27);

  test("without a terminal there is no colour", async () => {
    const { stdout } = await run(["keys", "list", "--data", used], { env: { FORCE_COLOR: "1" } });
    expect(stdout).not.toContain(escape);
    const help = await run(["keys", "list", "--help"]);
    expect(help.stdout).not.toContain(escape);
  });

  test("on a terminal there is, unless NO_COLOR is set", async () => {
    async function onTerminal(env: Record<string, string>): Promise<string> {
      let text = "";
      const child = Bun.spawn([...programWords, "keys", "list", "--data", used], {
        env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", TERM: "xterm-256color", ...env },
        terminal: {
          cols: 200,
          rows: 50,
          data: (_terminal, bytes) => {
            text += new TextDecoder().decode(bytes);
          },
        },
      });
      await child.exited;
      child.terminal?.close();
      return text;
    }
    expect(await onTerminal({})).toContain(`${escape}[`);
    expect(await onTerminal({ NO_COLOR: "1" })).not.toContain(`${escape}[`);
  });

  test("tables are aligned", async () => {
    const { stdout } = await run(["keys", "list", "--data", used]);
    const [head = "", ...lines] = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    const column = head.indexOf("STATE");
    for (const line of lines) expect(line.slice(column)).toMatch(/^(active|pending)\b/);
  });
});

import { afterAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import * as tls from "node:tls";
import { fileURLToPath } from "node:url";
import { makeCertificate } from "../../harness/certificates.ts";
import { runTvs } from "../../harness/command.ts";
import { until } from "../../harness/eventually.ts";
import { sharedFolder, withTempDir } from "../../harness/folder.ts";
import { csv, row } from "../../harness/imports.ts";
import { runTvs as runProcess } from "../../harness/program.ts";
import { makeRegister } from "../../harness/service.ts";

const main = fileURLToPath(new URL("../../../cli/main.ts", import.meta.url));
const extract = csv([row(1), row(2)]);
/** So much would be lost by it that the brake holds. */
const emptied = csv([row(1, { license_expiry_date: "2020-01-01" }), row(2)]);

type Asked = { readonly head: string };
type Answer = { readonly head: readonly string[]; readonly body?: string; readonly hangs?: boolean };

const whole = (body: string, ...more: string[]): Answer => ({
  head: ["200 OK", `Content-Length: ${body.length}`, ...more],
  body,
});
const half = extract.slice(0, -20);
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** What a source may answer, by its path. It is written by hand, because no library sends the worse half of it. */
const answers: Readonly<Record<string, (asked: Asked) => Answer>> = {
  "/extract.csv": ({ head }) =>
    head.includes('If-None-Match: "one"') ? { head: ["304 Not Modified"] } : whole(extract, 'ETag: "one"'),
  "/untagged.csv": () => whole(extract),
  "/chunked.csv": () => ({
    head: ["200 OK", "Transfer-Encoding: chunked"],
    body: `${chunk(extract)}0\r\n\r\n`,
  }),
  "/guarded.csv": ({ head }) =>
    head.includes(`Authorization: Basic ${btoa("board:se:cret")}`)
      ? whole(extract)
      : { head: ["401 Unauthorized"] },
  "/short.csv": () => ({ head: ["200 OK", `Content-Length: ${extract.length}`], body: half }),
  "/cut.csv": () => ({ head: ["200 OK", "Transfer-Encoding: chunked"], body: chunk(half) }),
  "/endless.csv": () => ({ head: ["200 OK"], body: half }),
  "/elsewhere.csv": () => ({ head: ["302 Found", "Location: /extract.csv", "Content-Length: 0"] }),
  "/packed.csv": () => whole(extract, "Content-Encoding: gzip"),
  "/broken.csv": () => ({ head: ["503 Service Unavailable", "Content-Length: 0"] }),
  "/slow.csv": () => ({ head: ["200 OK", `Content-Length: ${extract.length}`], body: half, hangs: true }),
};

/** An https server of this test alone. */
async function startSource() {
  const folder = sharedFolder();
  const { certPem, keyPem } = await makeCertificate({ commonName: "localhost" });
  const authority = join(folder, "authority.pem");
  await writeFile(authority, certPem);
  let current = extract;
  const server = tls.createServer({ cert: certPem, key: keyPem }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      const head = bytes.toString();
      const path = head.split(" ")[1]?.split("?")[0] ?? "";
      const answer = path === "/nightly.csv" ? whole(current) : answers[path]?.({ head });
      const { head: lines, body = "", hangs = false } = answer ?? { head: ["404 Not Found"] };
      socket.write(`HTTP/1.1 ${lines.join("\r\n")}\r\nConnection: close\r\n\r\n${body}`);
      if (!hangs) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    server.close();
  });
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  return { url, authority, hands: (text: string) => (current = text) };
}

const source = await startSource();
const env = { NODE_EXTRA_CA_CERTS: source.authority };
const [privately, byTimer] = ["--allow-private-source", ["--if-changed", "--every", "24h"]] as const;
const leftIn = (dataDir: string) => readdirSync(dataDir).filter((name) => name.startsWith(".extract-"));

type World = {
  readonly folder: string;
  readonly dataDir: string;
  run(...words: string[]): ReturnType<typeof runTvs>;
  /** What doctor says of the source of the timer. */
  judged(): Promise<string[]>;
};

function withRegister(act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    await makeRegister(dataDir);
    await act({
      folder,
      dataDir,
      // Authorities are read once, when a process starts.
      run: (...words) => runProcess(["teachers", "import", ...words], { dataDir, env }),
      async judged() {
        const { checks } = (await runTvs(["doctor", "--json"], { dataDir })).json<{
          checks: { name: string; result: string; found: string }[];
        }>();
        return checks
          .filter(({ name }) => name === "import-source")
          .map(({ result, found }) => `${result}: ${found}`);
      },
    });
  });
}

describe.concurrent("an extract over https", () => {
  test("is imported, once, and counts as seen when the server says that it is the same", () =>
    withRegister(async ({ run, dataDir, judged }) => {
      const from = `${source.url}/extract.csv?token=se-cret`;
      const first = await run(from, privately, ...byTimer, "--json");
      expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: "" });
      expect(first.json<object>()).toMatchObject({ file: "extract.csv", rows: 2, inserted: 2 });
      const again = await run(from, privately, ...byTimer, "--json");
      const sha256 = createHash("sha256").update(extract).digest("hex");
      expect([again.code, again.json<object>()]).toEqual([
        0,
        { unchanged: true, file: "extract.csv", sha256 },
      ]);
      expect((await run(from, privately, ...byTimer)).stdout).toBe(
        `nothing has changed since the last import of ${source.url}/extract.csv\n`,
      );
      expect(await judged()).toEqual([
        expect.stringContaining(`ok: ${source.url}/extract.csv, every 24 h, last seen at `),
      ]);
      expect(leftIn(dataDir)).toEqual([]);
      const kept = readdirSync(dataDir).map((name) => readFileSync(join(dataDir, name), "latin1"));
      expect(kept.filter((bytes) => bytes.includes("se-cret"))).toEqual([]);
    }));

  test("is known by its bytes where there is no tag, unless another one was applied since, or it is read anew", () =>
    withRegister(async ({ run, folder }) => {
      const from = `${source.url}/untagged.csv`;
      const isUnchanged = async (...words: string[]) =>
        (await run(from, privately, "--if-changed", "--json", ...words)).json<{ unchanged: unknown }>()
          .unchanged;
      expect(await isUnchanged()).toBe(0);
      expect(await isUnchanged()).toBe(true);
      expect(await isUnchanged("--encoding", "windows-1252")).toBe(2);
      await writeFile(join(folder, "other.csv"), csv([row(1, { name: "Bisi Ade" }), row(2)]));
      expect((await run(join(folder, "other.csv"))).code).toBe(0);
      expect(await isUnchanged()).toBe(1);
      expect(await isUnchanged()).toBe(true);
    }));

  test("is applied, and a dry run leaves nothing", () =>
    withTempDir(async (folder) => {
      const dataDir = join(folder, "data");
      const words = ["teachers", "import", `${source.url}/chunked.csv`, privately, "--json"];
      const dry = await runProcess([...words, "--dry-run"], { dataDir, env });
      expect([dry.code, dry.json<object>()]).toMatchObject([0, { inserted: 2, dryRun: true }]);
      expect(leftIn(dataDir)).toEqual([]);
      expect((await runProcess(words, { dataDir, env })).json<object>()).toMatchObject({ inserted: 2 });
      expect(leftIn(dataDir)).toEqual([]);
    }));

  test("that is no whole extract changes nothing, and the register remembers that it failed", () =>
    withRegister(async ({ run, dataDir, judged }) => {
      const refused = [
        ["/guarded.csv", "answers 401; see to --source-auth"],
        ["/endless.csv", "does not say how long its answer is"],
        ["/elsewhere.csv", "sends elsewhere, which is not followed"],
        ["/packed.csv", "packed its answer unasked"],
        ["/broken.csv", "answers 503"],
        ["/short.csv", "could not be fetched whole (ECONNRESET); nothing was changed"],
        ["/cut.csv", "could not be fetched whole (ECONNRESET); nothing was changed"],
      ];
      for (const [path, message] of refused) {
        const { code, stderr } = await run(`${source.url}${path}`, privately, ...byTimer);
        expect({ path, code, lines: stderr.trimEnd().split("\n").length }).toEqual({
          path,
          code: 2,
          lines: 1,
        });
        expect(stderr).toContain(`${source.url}${path} ${message}`);
        expect(leftIn(dataDir)).toEqual([]);
      }
      const [found = "", ...more] = await judged();
      expect(more).toEqual([]);
      expect(found).toStartWith(`warn: the import of ${source.url}/cut.csv failed at `);
      expect(found).toEndWith("Z: it could not be fetched whole (ECONNRESET); nothing was changed");
    }));

  test("that the brake holds up is told of until one was applied", () =>
    withRegister(async ({ run, judged }) => {
      const from = `${source.url}/nightly.csv`;
      expect((await run(from, privately, ...byTimer)).code).toBe(0);
      source.hands(emptied);
      for (const _ of [1, 2]) expect((await run(from, privately, ...byTimer)).code).toBe(1);
      expect(await judged()).toEqual([
        expect.stringContaining("nothing was changed: 1 of 2 valid licences would be lost, more than 2 %"),
      ]);
      source.hands(extract);
      expect((await run(from, privately, ...byTimer)).stdout).toContain("nothing has changed");
      expect(await judged()).toEqual([expect.stringMatching(/^ok: /)]);
    }));

  test("is taken from no private address unless told, nor from a server whose authority is not known", () =>
    withRegister(async ({ run, dataDir }) => {
      const from = `${source.url}/extract.csv`;
      const refused = await run(from);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        "tvs: source address localhost (127.0.0.1) is not public (loopback); use a public one, or --allow-private-source\n",
      ]);
      const unknown = await runTvs(["teachers", "import", from, privately], { dataDir });
      expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("CERT")]);
    }));

  test("asks with what stands in a file that nobody else can read", () =>
    withRegister(async ({ run, folder }) => {
      const auth = join(folder, "auth");
      await writeFile(auth, "board:se:cret\n", { mode: 0o644 });
      const words = [`${source.url}/guarded.csv`, privately, "--source-auth", auth];
      const open = await run(...words);
      expect([open.code, open.stderr]).toEqual([2, expect.stringContaining(`(mode 644); chmod 600 ${auth}`)]);
      await chmod(auth, 0o600);
      expect((await run(...words)).code).toBe(0);
      await writeFile(auth, "board:se:cret\nand more\n");
      expect((await run(...words)).stderr).toContain("it must have one line");
    }));

  test("leaves nothing behind when it is stopped, and what a kill left is removed by the next run", () =>
    withRegister(async ({ run, dataDir }) => {
      const words = ["teachers", "import", `${source.url}/slow.csv`, privately];
      const begun = () => leftIn(dataDir).some((name) => statSync(join(dataDir, name)).size > 0);
      const endedBy = async (signal: "SIGTERM" | "SIGKILL") => {
        const child = spawn(process.execPath, [main, ...words], {
          env: { ...process.env, ...env, TVS_DATA: dataDir },
          stdio: ["ignore", "ignore", "pipe"],
        });
        const told = text(child.stderr);
        const ended = new Promise((done) => child.once("exit", done));
        await until(async () => child.exitCode !== null || begun());
        child.kill(signal);
        await ended;
        return [child.exitCode, await told];
      };
      expect(await endedBy("SIGTERM")).toEqual([1, "tvs: stopped before anything was changed\n"]);
      expect(leftIn(dataDir)).toEqual([]);
      await endedBy("SIGKILL");
      expect(leftIn(dataDir).map((name) => statSync(join(dataDir, name)).mode & 0o777)).toEqual([0o600]);
      expect((await run(`${source.url}/extract.csv`, privately)).code).toBe(0);
      expect(leftIn(dataDir)).toEqual([]);
    }));
});

/** A stand-in for the system's client: it writes down what it was told, and hands a file out or fails. */
const client = `#!/bin/sh
printf '%s\\n' "$@" > "$SAID"
cat >> "$SAID"
if [ "$FAILS" = yes ]; then
  printf 'Host key verification failed.\\r\\nConnection closed\\r\\n' >&2
  exit 255
fi
cat "$EXTRACT" > "$(sed -n 's/.* "\\(\\.extract[^"]*\\)"$/\\1/p' "$SAID")"
`;

describe("an extract over sftp", () => {
  test("is fetched by the system's client, from the address that was checked and by the name of the host", () =>
    withRegister(async ({ dataDir, folder }) => {
      const [said, programs] = [join(folder, "said"), join(folder, "programs")];
      await mkdir(programs);
      await writeFile(join(programs, "sftp"), client, { mode: 0o755 });
      await writeFile(join(folder, "board.csv"), extract);
      const sftp = {
        SAID: said,
        EXTRACT: join(folder, "board.csv"),
        PATH: `${programs}:${process.env.PATH}`,
      };
      const fetch = (from: string, more = {}) =>
        runTvs(["teachers", "import", from, privately, "--if-changed", "--json"], {
          ...{ dataDir, env: { ...sftp, ...more } },
        });
      const first = await fetch("sftp://board@localhost:2222/out/-the%20list.csv");
      expect([first.code, first.stderr]).toEqual([0, ""]);
      expect(first.json<object>()).toMatchObject({ file: "-the list.csv", inserted: 2 });
      const lines = (await readFile(said, "utf8")).trimEnd().split("\n");
      expect(lines.at(-1)).toMatch(/^get "\/out\/-the list\.csv" "\.extract-[0-9a-f-]+"$/);
      expect(lines.slice(0, -1)).toEqual([
        ...["-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oLogLevel=ERROR", "-oHostName=127.0.0.1"],
        ...["-oPort=2222", "-oHostKeyAlias=[localhost]:2222", "-oUser=board", "-b", "-", "--", "localhost"],
      ]);
      const again = await fetch("sftp://board@localhost:2222/out/-the%20list.csv");
      expect(again.json<object>()).toMatchObject({ unchanged: true });
      const failed = await fetch("sftp://localhost/out/list.csv", { FAILS: "yes" });
      expect([failed.code, failed.stderr]).toEqual([
        2,
        "tvs: sftp://localhost/out/list.csv could not be fetched by sftp: Host key verification failed.\n",
      ]);
      const none = await fetch("sftp://localhost/out/list.csv", { PATH: folder });
      expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("install the OpenSSH client")]);
      expect(leftIn(dataDir)).toEqual([]);
    }));
});

describe("a source", () => {
  test.each([
    ["http://registry.example/a.csv", "not fetched by http;"],
    ["ftp://registry.example/a.csv", "not fetched by ftp;"],
    ["file:///srv/a.csv", "without file://"],
    ["https://board:se-cret@registry.example/a.csv", "a password in it is refused"],
    ["https://se-cret@registry.example/a.csv", "a user in it is refused"],
    ["sftp://board:se-cret@registry.example/a.csv", "a password in it is refused"],
    ["sftp://-oProxyCommand=se-cret@registry.example/a.csv", "the user of an sftp address"],
    ["sftp://-oProxyCommand=x/a.csv", "the host of an sftp address"],
    ["sftp://registry.example/%22%0Aget%20b", "a pattern or a quote"],
    ["sftp://registry.example/*.csv", "a pattern or a quote"],
    ["sftp://registry.example/", "names no file"],
    ["https://registry.example:0/a.csv", "cannot be read"],
  ])("like %s is refused before anything is asked", async (text, message) => {
    const { code, stderr } = await runTvs(["teachers", "import", text], { dataDir: "/nowhere" });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain("se-cret");
  });

  test.each([
    [["a.csv", "--source-auth", "f"], "--source-auth goes with an https address"],
    [["sftp://registry.example/a.csv", "--source-auth", "f"], "--source-auth goes with an https address"],
    [["a.csv", "--allow-private-source"], "goes with an https or sftp address"],
    [["a.csv", "--every", "4m"], "--every must be at least 5m"],
  ])("is refused with %p", async (words, message) => {
    const { code, stderr } = await runTvs(["teachers", "import", ...words], { dataDir: "/nowhere" });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

/** Every command line of the manual, page by page in one folder, as an operator would paste it. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeXlsx } from "hucre/xlsx";
import { manualTopics } from "../../src/manual.ts";
import { makeCertificate } from "../harness/certificates.ts";
import { eventually, until } from "../harness/eventually.ts";
import { testTimeoutMs } from "../harness/program.ts";
import { noServer, startServer, type TestServer } from "../harness/sqld.ts";
import type { CommandExit, Shell } from "./printed-commands.ts";
import { openShell, readPrintedLines, repositoryPath } from "./printed-commands.ts";

setDefaultTimeout(6 * testTimeoutMs);

const notRun: Readonly<Record<string, string>> = {
  "sudo ": "changes the machine, as root; ci/install.test.ts and blackbox/move-in.test.ts run it elsewhere",
  "podman ": "needs podman and an image",
  "mv data data.old": "the other pages need the register; blackbox/move-in.test.ts moves it",
  TVS_WEBHOOK_SECRET: "goes on until it is stopped; pages/getting-started.test.ts runs each receiver",
};

/** Shells that a machine may lack, each with the commands that its user has run before. */
const shellOf: Readonly<Record<string, readonly [shell: string, first: string]>> = {
  "source <(tvs completion zsh)": ["zsh", "autoload -Uz compinit; compinit -u -D; "],
  "tvs completion fish": ["fish", ""],
};

/** Whether pages that start servers are run. They take long, so they run only if TVS_COMMAND names an executable. */
const mayStartServers = noServer === undefined && process.env.TVS_COMMAND !== undefined;
const leftOut: Readonly<Record<string, boolean>> = {
  // Most lines of this page exit with 1. cli/register/key-theft.test.ts runs them and compares their output.
  "key-theft": true,
  // blackbox/first-day.test.ts runs it.
  "first-day": true,
  nodes: !mayStartServers,
  libsql: !mayStartServers || Bun.which("sqlite3") === null,
};

/** Command lines that need a program that a machine may lack. */
const needsJq = /\bjq -|\bLEAF\b/;
const hasJq = Bun.which("jq") !== null && Bun.which("openssl") !== null;

let shell: Shell;
let apiKey = "";
let server: TestServer | undefined;

let servers = 0;

/** Starts another libSQL server, over a copy of the register. */
async function newServer(...args: readonly string[]): Promise<void> {
  await server?.stop();
  const folder = join(shell.home, `server-${++servers}`);
  await ended(`tvs backup ${folder}.db && install -D ${folder}.db ${folder}/data/dbs/default/data`);
  server = await startServer({ args, folder });
}

beforeAll(async () => {
  shell = await openShell(() => ({
    "https://partner.example": "http://127.0.0.1:9",
    "http://127.0.0.1:8080/v1": `${shell.services.at(-1)?.url}/v1`,
    "seen.json https://verify.example.org": `seen.json ${shell.services.at(-1)?.url}`,
    "https://verify.example.org/v1": `${shell.services.at(-1)?.url}/v1`,
    "http://10.0.0.4:8080": server?.url ?? "",
  }));
  const here = (name: string) => join(shell.home, name);
  await copyFile(repositoryPath("data/sample-registry.csv"), here("extract.csv"));
  const rows = [
    ["Registration No", "Full Name", "Source", "Certificate Status", "Licence Expiry"],
    ["TR/2019/LA/000001", "Ada Okafor", "New System", "Verified", new Date("2031-12-31T00:00:00Z")],
  ];
  await writeFile(here("board.xlsx"), await writeXlsx({ sheets: [{ name: "Teachers", rows }] }));
  await writeFile(here("nin.txt"), "99900000001\n");
  await writeFile(here("school.csv"), "reg_no\nTR/2019/LA/000001\n");
  const { certPem, keyPem } = await makeCertificate({ commonName: "localhost" });
  for (const [name, text] of [
    ["client.pem", certPem],
    ["chain.pem", certPem],
    ["key.pem", keyPem],
  ] as const)
    await writeFile(here(name), text);
  const [vector] = JSON.parse(await readFile(repositoryPath("test/fixtures/webhooks/vectors.json"), "utf8"));
  await writeFile(here("body.json"), vector.body);
  await writeFile(here("secret.txt"), vector.secret);
  await shell.set("SIGNATURE", vector.signature);
  await shell.set("SENT_AT", vector.now);
  // Receivers here have no public address.
  await shell.run("export TVS_ALLOW_PRIVATE_WEBHOOKS=true");
});

afterAll(async () => {
  await shell?.close();
  await server?.stop();
});

/** Sends a partner's check to the running service, and saves the answer as `envelope.json`. */
async function ask(): Promise<void> {
  const response = await shell.check(apiKey);
  const text = await response.text();
  expect({ status: response.status, text: response.ok ? "" : text }).toEqual({ status: 200, text: "" });
  await writeFile(join(shell.home, "envelope.json"), text);
  await shell.set("VERIFICATION_ID", JSON.parse(text).verificationId);
  await shell.set("REQUEST_ID", response.headers.get("X-Request-Id") ?? "");
}

/** Sends a partner's list to the running service, and saves the statement as `statement.json`. */
async function askForList(): Promise<void> {
  const response = await fetch(`${shell.services.at(-1)?.url}/v1/inter-agency/rosters`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({
      purpose: "BODYA_INVIGILATOR_ELIGIBILITY",
      list: { name: "Government College, Ikorodu" },
      teachers: [{ regNo: "TR/2019/LA/000001" }, { tId: 999_999 }],
    }),
  });
  expect(response.status).toBe(200);
  await writeFile(join(shell.home, "statement.json"), await response.text());
}

/** Writes the text of an attestation's QR code to `code.txt`, as a QR reader would. */
async function keepCode(): Promise<void> {
  const { signature } = JSON.parse(await shell.fileText("envelope.json"));
  await writeFile(join(shell.home, "code.txt"), `https://verify.example.org/verify-envelope#${signature}\n`);
}

const jsonOf = async (command: string) => JSON.parse((await shell.run(`${command} --json`)).stdout);

/** Starts a service, and sets the variable ACTIVE_KID, by which the commands name the service's signing key. */
async function serveWithKnownKey(): Promise<void> {
  await shell.serve("tvs serve --issuer https://verify.example.org --status-list on");
  await ask();
  const keys: { kid: string; state: string }[] = await jsonOf("tvs keys list");
  await shell.set("ACTIVE_KID", keys.find(({ state }) => state === "active")?.kid ?? "");
}

/** Prepares the folder for the pages of the manual that need a service, files or variables. */
const before: Readonly<Record<string, () => Promise<void>>> = {
  register: async () => {
    // The first lines of this page import a file into a sandbox.
    await shell.serve("tvs serve --sandbox");
    await shell.run("tvs init --issuer https://verify.example.org --name R");
  },
  nodes: () => newServer(),
  evidence: async () => {
    await shell.serve("tvs serve --issuer https://verify.example.org");
    await ask();
  },
  boards: serveWithKnownKey,
  verify: async () => {
    await serveWithKnownKey();
    await askForList();
    await keepCode();
  },
};

/** Keeps the output of a line for later lines, by the beginning of the line. */
const after: Readonly<Record<string, (ended: CommandExit) => Promise<unknown>>> = {
  "tvs partners add ": async ({ stdout }) => {
    apiKey = /^apiKey +(\S+)$/m.exec(stdout)?.[1] ?? "";
    await shell.set("OLD_KEY_ID", /^keyId +(\S+)$/m.exec(stdout)?.[1] ?? "");
  },
  "tvs partners key issue ": async ({ stdout }) => {
    apiKey = /^apiKey +(\S+)$/m.exec(stdout)?.[1] ?? "";
  },
  "tvs partners cert list ": async () =>
    shell.set("FINGERPRINT", (await jsonOf("tvs partners cert list exam-board"))[0].fingerprint),
  "tvs keys rotate ": async () => {
    const keys: { kid: string; state: string }[] = await jsonOf("tvs keys list");
    await shell.set("KID", keys.find(({ state }) => state === "retired")?.kid ?? "");
  },
  "tvs partners webhook test ": async () =>
    shell.set("DELIVERY", (await jsonOf("tvs webhooks list"))[0].deliveryId),
  "openssl pkey -in jwt-key.pem": () => newServer("--auth-jwt-key-file", join(shell.home, "jwt-public.pem")),
  "jq -j '\"c2sp.org/tlog-proof": async () => {
    const { stdout } = await shell.run("tvs attestations prove $VERIFICATION_ID");
    expect(await shell.fileText("envelope.proof")).toBe(stdout);
  },
  "curl -sS -o answer.json": async ({ stdout }) => expect(stdout).toBe("401\n"),
  "tvs serve --access-log": async () => {
    // Lines are written after the answer, and each node writes its own.
    await until(async () => {
      await ask();
      return eventually(
        async () => (await shell.run("grep -q $REQUEST_ID data/access.log")).code === 0,
        2_000,
      );
    });
  },
};

/** Runs one line to its end. @returns its output */
async function ended(line: string): Promise<CommandExit> {
  const [other, first] = Object.entries(shellOf).find(([words]) => line.startsWith(words))?.[1] ?? [
    "bash",
    "",
  ];
  if (Bun.which(other) === null || (needsJq.test(line) && !hasJq)) return { code: 0, stdout: "", stderr: "" };
  const asPasted = other === "bash" ? line : `${other} -c '${first}${line.replace(/ +#.*$/, "")}'`;
  return shell.runWell(asPasted);
}

async function started(line: string): Promise<CommandExit> {
  // Only one service can open a database file, so the others stop first.
  await shell.stopServices();
  await shell.serve(line);
  return { code: 0, stdout: "", stderr: "" };
}

test("every command line of the manual does what the manual says, or is listed with the reason why it is not run", async () => {
  const left = new Set(Object.keys(notRun));
  const reasonOf = (line: string) => Object.keys(notRun).find((words) => line.startsWith(words));
  // All pages are searched, also those that are not run here, so that `notRun` names no line that no page has.
  for (const { name } of manualTopics)
    for (const line of readPrintedLines(`data/help/${name}.md`)) left.delete(reasonOf(line) ?? "");
  expect([...left]).toEqual([]);
  for (const { name } of manualTopics.filter((topic) => leftOut[topic.name] !== true)) {
    await before[name]?.();
    for (const line of readPrintedLines(`data/help/${name}.md`)) {
      if (reasonOf(line) !== undefined) continue;
      const result = await (line.startsWith("tvs serve") ? started(line) : ended(line));
      await Object.entries(after).find(([words]) => line.startsWith(words))?.[1](result);
    }
    await shell.stopServices();
  }
});

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePackage } from "../../.ci/package.ts";
import { audience, type FixtureCase, folder, issuer, now } from "../fixtures/envelope-tokens.ts";
import vectors from "../fixtures/webhooks/vectors.json" with { type: "json" };
import { runJson, runTvs } from "../harness/command.ts";
import { sharedFolder } from "../harness/folder.ts";
import type { CommandResult, Service } from "../harness/program.ts";
import { childEnvironment, runToEnd, startService, testTimeoutMs } from "../harness/program.ts";

setDefaultTimeout(testTimeoutMs);

const cases: FixtureCase[] = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
const vectorsFile = join(import.meta.dir, "../fixtures/webhooks/vectors.json");

const [data, home] = [sharedFolder(), sharedFolder()];
/** The folder of a partner's project, into which npm has installed the package from its file. */
const project = join(home, "project");
const root = join(project, "node_modules");
let file: string;
let sandbox: Service;

beforeAll(async () => {
  const service = startService({ dataDir: data, args: ["--sandbox"] });
  file = await makePackage(join(home, "out"));
  mkdirSync(project);
  place("package.json", '{ "name": "partner", "private": true, "type": "module" }');
  const words = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", file];
  execFileSync("npm", words, { cwd: project });
  sandbox = await service;
});
afterAll(() => sandbox?.stop());

/** Writes a file into the project. @returns its path */
function place(name: string, content: string | Uint8Array): string {
  writeFileSync(join(project, name), content);
  return join(project, name);
}

/** Runs a command in the project. The package's command must not read a profile of the user who runs the tests. */
function run(command: readonly string[]): Promise<CommandResult> {
  return runToEnd(command, { env: { ...childEnvironment({}), XDG_CONFIG_HOME: home }, cwd: project });
}

/** The command line that starts each runtime. */
const runtimes: Readonly<Record<string, readonly string[]>> = {
  Node: ["node"],
  Bun: [process.execPath],
  Deno: ["node", join(import.meta.dir, "../../node_modules/deno/bin.cjs"), "run", "--allow-all"],
};

/** Runs a script in the project. @returns the script's output as JSON @throws Error with the script's standard error */
async function runScript(
  runtime: readonly string[],
  text: string,
  args: readonly string[],
): Promise<unknown> {
  const result = await run([...runtime, place(`script-${Bun.hash(text)}.js`, text), ...args]);
  if (result.code !== 0) throw new Error(result.stderr);
  return result.json();
}

const judgeFixtures = `
import { readFileSync } from "node:fs";
import { createKeySet, readEnvelopes, verifyEnvelope, verifyWebhook } from "tvs-partner";
const [folder, vectorsFile, issuer, audience, time] = process.argv.slice(2);
const now = new Date(time);
const read = (...path) => readFileSync([folder, ...path].join("/"));
const reasons = [];
for (const { input, jwks, keyHistory } of JSON.parse(read("cases.json").toString())) {
  const sources = { issuer };
  if (jwks !== null) sources.jwks = read("keys", jwks);
  if (keyHistory !== null) sources.keyHistory = read("keys", keyHistory);
  const options = { keys: await createKeySet(sources), issuer, audience, now };
  const found = [];
  for (const item of readEnvelopes(read("inputs", input)))
    found.push("refusal" in item ? item.refusal.reason : (await verifyEnvelope(item.value, options)).reason);
  reasons.push(found);
}
const deliveries = [];
for (const { body, signature, secret, now: at } of JSON.parse(readFileSync(vectorsFile, "utf8")))
  deliveries.push((await verifyWebhook({ rawBody: body, signature, secret, now: new Date(at) })).reason);
console.log(JSON.stringify({ reasons, deliveries }));
`;

const askService = `
import { ClientError, createClient } from "tvs-partner";
const [baseUrl, apiKey, audience] = process.argv.slice(2);
const client = createClient({ baseUrl, apiKey, verify: { issuer: baseUrl, audience } });
const purpose = "GENERAL_PUBLIC_VERIFICATION";
const one = await client.checkEligibility({ identifier: { tId: 1001 }, purpose });
const two = await client.checkBatch([{ identifier: { tId: 1001 }, purpose }, { identifier: { tId: 1002 }, purpose }]);
const [{ partnerId }, { done }] = [await client.me(), await client.events()];
const stranger = createClient({ baseUrl, apiKey: "tvs_test_nobody" });
const error = await stranger.lookUpByTId(1).catch((reason) => reason);
console.log(JSON.stringify({
  found: one.result.found,
  own: [partnerId, done],
  verdicts: [one, ...two.answers].map(({ verification }) => verification.verdict),
  refused: error instanceof ClientError && error.code,
}));
`;

/** Returns the sandbox's demo key, and the id of the partner that has the key. */
async function demo(): Promise<{ apiKey: string; partnerId: string }> {
  const partners = ["partners", "list", "--sandbox", "--data", data];
  const [partner] = await runJson<{ partnerId: string }[]>(partners);
  const apiKey = /tvs_test_[0-9A-Za-z]{61}/.exec(sandbox.stdout())?.[0] ?? "";
  return { apiKey, partnerId: partner?.partnerId ?? "" };
}

describe.each(Object.entries(runtimes))("the partners' package on %s, as it is installed", (_, runtime) => {
  test("the partners' package gives the right verdict on every fixture envelope and delivery", async () => {
    const args = [folder, vectorsFile, issuer, audience, now];
    expect(await runScript(runtime, judgeFixtures, args)).toEqual({
      reasons: cases.map(({ reasons }) => reasons),
      deliveries: vectors.map(({ reason }) => reason),
    });
  });

  test("the partners' package calls a service and returns verified answers", async () => {
    const { apiKey, partnerId } = await demo();
    const args = [sandbox.url, apiKey, partnerId];
    expect(await runScript(runtime, askService, args)).toEqual({
      found: true,
      own: [partnerId, true],
      verdicts: ["valid", "valid", "valid"],
      refused: "CREDENTIAL_MISTYPED",
    });
  });

  test("the package's command tvs-verify has the same output and exit codes as `tvs verify`", async () => {
    const program = join(root, "tvs-partner/bin/tvs-verify.cjs");
    for (const { words, own } of await ownAnswers()) {
      const { code, stdout, stderr } = await run([...runtime, program, ...words]);
      const called = own.stderr.replace(/^tvs( verify)?:/, "tvs-verify:");
      expect([words, code, stdout, stderr]).toEqual([words, own.code, own.stdout, called]);
    }
  });
});

type Own = { readonly words: string[]; readonly own: CommandResult };
let owned: Promise<Own[]> | undefined;

/** Runs each command line with `tvs verify`, once for all runtimes. @returns the command lines with their results */
function ownAnswers(): Promise<Own[]> {
  owned ??= commandLines().then((lines) =>
    Promise.all(lines.map(async (words) => ({ words, own: await runTvs(["verify", ...words]) }))),
  );
  return owned;
}

async function commandLines(): Promise<string[][]> {
  const history = ["--key-history", join(folder, "keys/history.jose")];
  const expected = ["--issuer", issuer, "--audience", audience, "--now", now];
  const settings = ["--jwks", join(folder, "keys/jwks.json"), ...history, ...expected];
  const input = (name: string) => join(folder, "inputs", name);
  const line = `${JSON.stringify(JSON.parse(readFileSync(input("valid.json"), "utf8")))}\n`;
  const large = place("large.ndjson", `{}\n${line.repeat(Math.ceil(9e6 / line.length))}`);
  return [
    [join(folder, "inputs"), "--json", ...settings],
    [input("valid.json"), ...settings],
    [input("valid.json"), input("missing"), ...history, ...expected],
    [large, "--json", ...settings],
    ["--qr", input("valid.json"), ...settings],
    [input("valid.json"), "--anchor", `-${"A".repeat(42)}`, ...settings],
    [],
    ["--jwsk", "x"],
    ["--json", "--bad"],
  ];
}

test("the package's command tvs-verify prints its own name, its options and its version", async () => {
  const bin = join(root, ".bin/tvs-verify");
  const { stdout, code } = await run([bin, "--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("tvs-verify [FILE...] [OPTIONS]");
  expect(stdout).not.toMatch(/tvs verify|--data|OF EVERY COMMAND/);
  expect((await run([bin, "--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("the package's command and module print the Node version that they need if the Node is too old", async () => {
  const version = 'Object.defineProperty(process.versions, "node", { value: "16.20.2" });';
  const old = place("old.cjs", `${version}\ndelete globalThis.crypto;\n`);
  const complaining = 'import("tvs-partner").catch((error) => console.log(error.message));\n';
  const importing = place("import.js", complaining);
  const bin = join(root, "tvs-partner/bin/tvs-verify.cjs");
  const found = "this is Node 16.20.2";
  const stderr = `tvs-verify: ${found}, and Node 20 or later is needed: install it, or use Bun or Deno\n`;
  expect(await run(["node", "--require", old, bin])).toMatchObject({ code: 2, stdout: "", stderr });
  const stdout = `tvs-partner needs Node 20 or later, Bun, Deno or a browser; ${found}\n`;
  expect(await run(["node", "--require", old, importing])).toMatchObject({ stdout });
});

/** Returns the scripts of the package's README, in which each key of `puts` is replaced by its value. */
function printedScripts(puts: Readonly<Record<string, string>>): string[] {
  const readme = readFileSync(join(root, "tvs-partner/README.md"), "utf8");
  const scripts = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, script = ""]) => script);
  return scripts.map((script) =>
    Object.entries(puts).reduce((text, [from, to]) => text.replaceAll(from, to), script),
  );
}

test("the example scripts of the package's README run with the output that the README describes", async () => {
  const { apiKey, partnerId } = await demo();
  const [genuine] = vectors;
  const wellKnown = `${sandbox.url}/v1/inter-agency/.well-known`;
  const fetchText = async (url: string) => (await fetch(url)).text();
  place("jwks.json", await fetchText(`${wellKnown}/jwks.json`));
  place("key-history.jose", await fetchText(`${wellKnown}/key-history`));
  const [ask = "", verify = "", hold = "", events = "", receive = ""] = printedScripts({
    "https://verify.example.org": sandbox.url,
    "exam-board": partnerId,
    "process.env.TVS_API_KEY": JSON.stringify(apiKey),
    "process.env.TVS_WEBHOOK_SECRET": JSON.stringify(genuine?.secret),
  });
  const saving = '\nimport { writeFileSync } from "node:fs";\nwriteFileSync("answers.ndjson", text);\n';
  for (const [name, script] of Object.entries({ ask: ask + saving, verify, hold, events }))
    place(`${name}.js`, script);
  const request = `new Request("http://a.example", { method: "POST", body: ${JSON.stringify(genuine?.body)}, headers: { "X-AGENCY-Signature": ${JSON.stringify(genuine?.signature)} } })`;
  const arrived = `globalThis.handleOnce = () => {};\nconst RealDate = Date;\nglobalThis.Date = class extends RealDate { constructor(...words) { super(...(words.length === 0 ? [${JSON.stringify(genuine?.now)}] : words)); } };\n`;
  place("receive.js", `${receive}\n${arrived}console.log((await receive(${request})).status);\n`);
  const expectOutput = async (script: string, stdout: RegExp) =>
    expect(await run(["node", script])).toMatchObject({ code: 0, stdout: expect.stringMatching(stdout) });
  await expectOutput("ask.js", /may invigilate/);
  await expectOutput("verify.js", /^valid null Answer on \d+ \w+ \d{4}: VALID, eligible null\n$/);
  place("offline-pack.json", await fetchText(`${sandbox.url}/v1/inter-agency/offline-pack`));
  await expectOutput("hold.js", /^valid null \d{4}-\d\d-\d\dT.*Z\n$/);
  await expectOutput("receive.js", /^204\n$/);
  expect((await runTvs(["trigger", "license.expired"], { dataDir: data })).code).toBe(0);
  await expectOutput("events.js", /^license\.expired [\w/]+\n$/);
  await expectOutput("events.js", /^$/);
});

test("the partners' package has no dependency, contains every licence, and is the file that the service serves", async () => {
  expect(readdirSync(root).filter((name) => !name.startsWith("."))).toEqual(["tvs-partner"]);
  const manifest = JSON.parse(readFileSync(join(root, "tvs-partner/package.json"), "utf8"));
  expect(Object.keys(manifest).filter((name) => /dependencies|scripts/i.test(name))).toEqual([]);
  const licences = readFileSync(join(root, "tvs-partner/LICENSES-OF-PARTS.txt"), "utf8");
  for (const name of ["citty"]) expect(licences).toContain(`\n${name} `);
  const url = `${sandbox.url}/v1/inter-agency/tvs-partner.tgz`;
  const packed = readFileSync(file);
  expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(packed)).toBe(true);
  const head = await fetch(url, { method: "HEAD" });
  expect(head.headers.get("Content-Length")).toBe(String(packed.length));
});

const compiler = join(import.meta.dir, "../../node_modules/typescript/bin/tsc");

function complaints(name: string, text: string): string {
  const file = place(name, text);
  const words = ["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--types", ""];
  const kind = ["--lib", "ES2022,DOM", "--target", "ES2022", "--module", "nodenext"];
  try {
    return execFileSync("node", [compiler, ...words, ...kind, file], { encoding: "utf8" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

test("a partner's TypeScript compiler accepts the types of the package", () => {
  const use = `import { createClient, createKeySet, verifyEnvelope, verifyWebhook, type Verification } from "tvs-partner";
const client = createClient({ baseUrl: "https://a.example", verify: { issuer: "https://a.example", audience: "a" } });
const { result } = await client.checkEligibility({ identifier: { tId: 1 }, purpose: "EMPLOYER_BACKGROUND_CHECK" });
const status: "VALID" | "EXPIRED" | "NOT_FOUND" | "REVOKED" = result.status;
const keys = await createKeySet({ jwks: "{}" });
const found: Verification = await verifyEnvelope("", { keys, issuer: "a", audience: "b" });
const event: string | undefined = (await verifyWebhook({ rawBody: "", signature: "", secret: "s" })).event?.eventType;
console.log(status, found.reason, event);
`;
  expect(complaints("use.ts", use)).toBe("");
  const wrong = `import { createClient } from "tvs-partner";
await createClient({ baseUrl: "" }).checkEligibility({ identifier: { tId: 1, nin: "" }, purpose: "OTHER" });
`;
  expect(complaints("wrong.ts", wrong)).toContain("error TS2322");
  // TypeScript before 5.7 does not accept this type argument.
  const types = readFileSync(join(root, "tvs-partner/index.d.ts"), "utf8");
  expect(types).not.toContain("Uint8Array<");
});

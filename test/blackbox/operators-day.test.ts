/** The README's operator's day, run line by line as it is printed there, on one data folder. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually, makeFolder, patienceMs, programWords, type Service, startService } from "./program.ts";

setDefaultTimeout(4 * patienceMs);

const nin = "99900000001";
const printedUrl = "https://partner.example/teacher-events";
const repository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let folder: Awaited<ReturnType<typeof makeFolder>>;
const services: Service[] = [];
/** What an operator would copy from one command's output into the next. */
const copied: Record<string, string> = {};

/** The partner's receiver, which a test can take down. */
const receiver = { isUp: true, received: [] as { type: string; signature: string; data: string }[] };
let server: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  folder = await makeFolder();
  await copyFile(repository("data/sample-registry.csv"), join(folder.path, "extract.csv"));
  await writeFile(join(folder.path, "nin.txt"), `${nin}\n`);
  // The commands run in a folder of their own, where a relative path would lead elsewhere.
  const absolute = programWords.map((word) => (word.includes("/") ? resolve(word) : word));
  const words = absolute.map((word) => `'${word}'`).join(" ");
  await writeFile(join(folder.path, "tvs"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: receive });
});

afterAll(async () => {
  const codes = await Promise.all(services.map((service) => service.stop()));
  await server?.stop(true);
  await folder?.remove();
  expect(codes).toEqual(services.map(() => 0));
});

async function receive(request: Request): Promise<Response> {
  if (!receiver.isUp) return new Response("down", { status: 503 });
  const signature = request.headers.get("X-AGENCY-Signature") ?? "";
  receiver.received.push({
    type: request.headers.get("X-AGENCY-Event-Type") ?? "",
    signature,
    data: await request.text(),
  });
  return new Response(null, { status: 204 });
}

/** The commands of the README's section, in order. */
async function printedLines(): Promise<string[]> {
  const readme = await readFile(repository("README.md"), "utf8");
  const [, section = ""] = readme.split("### The operator's day\n");
  const [own = ""] = section.split(/^##/m);
  const blocks = [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.split("\n")).filter((line) => line.trim() !== "");
}

type Ended = { code: number; stdout: string; stderr: string };

/** Where no curl is installed its one line is read and sent as it says. */
async function runCurl(line: string): Promise<Ended> {
  const [, url = "", header = "", body = ""] =
    /^curl --fail-with-body -sS (\S+) -H "([^"]+)" -d '([^']+)'/.exec(line) ?? [];
  const [name = "", value = ""] = header.replace("$KEY", copied.KEY ?? "").split(": ");
  const address = url.replace("http://127.0.0.1:8080", services.at(0)?.url ?? "");
  const response = await fetch(address, { method: "POST", headers: { [name]: value }, body });
  await writeFile(join(folder.path, "envelope.json"), await response.text());
  return { code: response.ok ? 0 : 22, stdout: "", stderr: "" };
}

async function runLine(line: string): Promise<Ended> {
  if (line.startsWith("curl ") && Bun.which("curl") === null) return runCurl(line);
  const service = services.at(0)?.url ?? "";
  const asRun = line
    .replace(printedUrl, `http://127.0.0.1:${server.port}/teacher-events`)
    .replace("http://127.0.0.1:8080", service);
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(TVS_|NO_COLOR$|FORCE_COLOR$|BUN_)/.test(name),
  );
  const child = Bun.spawn(["sh", "-c", asRun], {
    cwd: folder.path,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: {
      ...Object.fromEntries(kept),
      PATH: `${folder.path}:${process.env.PATH}`,
      TVS_ALLOW_PRIVATE_WEBHOOKS: "true",
      ...copied,
    },
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** `tvs serve … &`: in the background, on a free port, so that days can run side by side. */
async function serve(line: string): Promise<void> {
  const words = line
    .replace(/^tvs serve/, "")
    .replace(/&$/, "")
    .replace(/--port \d+/, "")
    .trim()
    .split(/\s+/);
  const at = words.indexOf("--data");
  const name = at === -1 ? "data" : (words[at + 1] ?? "");
  const args = at === -1 ? words : words.toSpliced(at, 2);
  const env = { TVS_ALLOW_PRIVATE_WEBHOOKS: "true" };
  services.push(await startService({ dataDir: join(folder.path, name), args: args.filter(Boolean), env }));
}

function copy(name: string, pattern: RegExp, text: string): void {
  const value = pattern.exec(text)?.[1];
  expect({ name, found: value !== undefined }).toEqual({ name, found: true });
  copied[name] = value ?? "";
}

async function fileText(name: string): Promise<string> {
  return readFile(join(folder.path, name), "utf8");
}

/** What each line must have done, by its beginning; every one of them has to be printed in the README. */
const expectations: Record<string, (ended: Ended) => void | Promise<void>> = {
  "tvs partners add ": ({ stdout }) => copy("KEY", /^apiKey +(tvs_live_\w+)$/m, stdout),
  "tvs partners webhook set ": ({ stdout }) => copy("SECRET", /^secret +(whsec_\S+)$/m, stdout),
  "tvs partners webhook test ": async () => {
    expect(await eventually(async () => receiver.received.length === 1, 20_000)).toBe(true);
    expect(receiver.received[0]?.signature).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    receiver.isUp = false;
  },
  "tvs teachers import extract.csv --dry-run": ({ stdout }) =>
    expect(stdout).toMatch(/^import +dry run, nothing changed$/m),
  "tvs teachers import extract.csv --report": async ({ stdout }) => {
    expect(stdout).toMatch(/^inserted +3011$/m);
    expect(await fileText("report.json")).not.toContain(nin);
  },
  "tvs status": ({ stdout }) => {
    expect(stdout).toMatch(/^service +running$/m);
    expect(stdout).toMatch(/^teachers +3011$/m);
  },
  "curl ": async () => {
    const envelope = JSON.parse(await fileText("envelope.json"));
    expect(envelope.result).toMatchObject({ found: true, status: "VALID", eligible: true });
    copied.VERIFICATION_ID = envelope.verificationId;
  },
  "tvs teachers revoke ": async ({ stdout }) => {
    expect(stdout).toMatch(/^licence +VALID -> REVOKED$/m);
    expect(stdout).toMatch(/^exam-board +1 /m);
    const failed = async () => /BAD_STATUS 503/.test((await runLine("tvs webhooks list")).stdout);
    expect(await eventually(failed, 30_000)).toBe(true);
  },
  "tvs webhooks list --state pending": ({ stdout }) =>
    copy("DELIVERY", /^(\S+) +pending +exam-board/m, stdout),
  "tvs webhooks show ": ({ stdout }) => {
    expect(stdout).toContain("license.revoked");
    expect(stdout).toContain("The endpoint answered with 503, which is not 2xx.");
    receiver.isUp = true;
  },
  "tvs webhooks retry ": async ({ stdout }) => {
    expect(stdout).toBe("1 delivery is due now\n");
    const delivered = async () => receiver.received.some(({ type }) => type === "license.revoked");
    expect(await eventually(delivered, 30_000)).toBe(true);
    expect(receiver.received.map(({ data }) => data).join()).not.toContain(nin);
  },
  "tvs attestations check envelope.json": ({ stdout }) =>
    expect(stdout).toEndWith("1 of 1 attested and unaltered\n"),
  "tvs attestations show ": ({ stdout }) => expect(stdout).toMatch(/^partnerId +exam-board$/m),
  "tvs teachers export-subject ": async () => {
    const subject = JSON.parse(await fileText("subject.json"));
    expect(subject.record).toMatchObject({ regNo: "TR/2019/LA/000001" });
    expect(subject.lookups).toHaveLength(1);
    expect(JSON.stringify(subject)).not.toContain(nin);
  },
  "tvs keys rotate ": ({ stdout, stderr }) => {
    expect(stdout).toMatch(/^active +\S+\nretired +\S+\npending +\S+$/m);
    expect(stderr).toContain("less than 24 h");
  },
  "tvs keys history ": async () =>
    expect(await fileText("key-history.jose")).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\s*$/),
  "tvs verify ": ({ stdout }) => expect(stdout).toContain(copied.VERIFICATION_ID ?? "no id"),
  "tvs backup evening.db": ({ stdout }) => expect(stdout).toContain("The master key is NOT in this backup"),
  "tvs backup verify ": ({ stdout }) => expect(stdout).toMatch(/^backup +good$/m),
  "mkdir ": () => {},
  "tvs restore ": ({ stdout }) => expect(stdout).toMatch(/^teachers +3011$/m),
  "tvs doctor ": ({ stdout }) => expect(stdout).toMatch(/^ok +master-key /m),
  "tvs webhooks release ": ({ stdout }) => expect(stdout).toBe("webhooks are sent again\n"),
};

test("the operator's day goes as the README prints it", async () => {
  const met = new Set<string>();
  for (const line of await printedLines()) {
    if (/^tvs serve .*&$/.test(line)) {
      await serve(line);
      continue;
    }
    const ended = await runLine(line);
    expect({ line, code: ended.code, stderr: ended.code === 0 ? "" : ended.stderr }).toEqual({
      line,
      code: 0,
      stderr: "",
    });
    const [beginning, check] = Object.entries(expectations).find(([words]) => line.startsWith(words)) ?? [];
    if (beginning === undefined || check === undefined) throw new Error(`nothing is expected of: ${line}`);
    await check(ended);
    met.add(beginning);
  }
  expect([...met].sort()).toEqual(Object.keys(expectations).sort());
  expect(services).toHaveLength(2);
  await askRestored();
});

/** The restored service knows the partner by its key, and what was revoked before the back-up. */
async function askRestored(): Promise<void> {
  const restored = services[1];
  const response = await fetch(`${restored?.url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${copied.KEY}` },
    body: JSON.stringify({
      identifier: { regNo: "TR/2019/LA/000001" },
      purpose: "BODYA_INVIGILATOR_ELIGIBILITY",
    }),
  });
  expect(response.status).toBe(200);
  const envelope = (await response.json()) as { issuer: string; result: { status: string } };
  expect(envelope).toMatchObject({ issuer: "https://verify.example.org", result: { status: "REVOKED" } });
}

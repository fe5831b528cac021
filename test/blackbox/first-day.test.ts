/** The README's quick start and the manual's first day, run line by line as they are printed there. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { testTimeoutMs } from "../harness/program.ts";
import type { CommandExit, Shell } from "./printed-commands.ts";
import { openShell, readPrintedLines, repositoryPath } from "./printed-commands.ts";

setDefaultTimeout(4 * testTimeoutMs);

const nin = "99900000001";

/** Lines that are not run, each with the reason. */
const notRun: Readonly<Record<string, string>> = {
  "npm start": "installs and runs until it is ended; ci/launch.test.ts and blackbox/sandbox.test.ts do both",
  "npm run build ": "builds; the shell has the program under test in that very folder",
  "kill $SERVICE $!": "the services are the test's own",
};

let shell: Shell;
/** The partner's webhook receiver, which a test can switch off. */
const receiver = { isUp: true, received: [] as { type: string; signature: string; data: string }[] };
let server: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: receive });
  shell = await openShell(() => ({
    "127.0.0.1:9100": `127.0.0.1:${server.port}`,
    "http://127.0.0.1:8090": shell.services[0]?.url ?? "",
    "http://127.0.0.1:8100": shell.services[0]?.url ?? "",
  }));
  await copyFile(repositoryPath("data/sample-registry.csv"), join(shell.home, "sample-registry.csv"));
});

afterAll(async () => {
  await shell?.close();
  await server?.stop(true);
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

/** The check after a command line, by the beginning of the line. */
type Expectations = Readonly<Record<string, (ended: CommandExit) => void | Promise<void>>>;

/** Runs the command lines of a document, which must all exit with 0. Each expectation must match a line. */
async function runDocument(path: string, expectations: Expectations): Promise<void> {
  const left = new Set(Object.keys(expectations));
  for (const line of readPrintedLines(path)) {
    if (Object.keys(notRun).some((words) => line.startsWith(words))) continue;
    if (/tvs serve .*&(?: \w+=\$!)?$/.test(line)) {
      await shell.serve(line);
      continue;
    }
    const ended = await shell.runWell(line);
    const [beginning = "", check] =
      Object.entries(expectations).find(([words]) => line.startsWith(words)) ?? [];
    await check?.(ended);
    left.delete(beginning);
  }
  expect([...left]).toEqual([]);
}

const variable = async (name: string) => (await shell.run(`printf %s "$${name}"`)).stdout;

const quickStart: Expectations = {
  "./tvs init ": ({ stdout }) => expect(stdout).toContain("teachers import extract.csv --baseline"),
  "./tvs teachers import ": ({ stdout }) => expect(stdout).toMatch(/^inserted +3011$/m),
  "for i in ": ({ stdout }) => expect(stdout).toMatch(/^listening on http:\S+\n$/),
  "curl ": async () => expect(JSON.parse(await shell.fileText("envelope.json")).result.status).toBe("VALID"),
  "./tvs verify ": ({ stdout }) => expect(stdout).toMatch(/^valid {2}envelope.json\n/),
};

const day: Expectations = {
  "tvs partners webhook set ": ({ stdout }) => expect(stdout).toMatch(/^secret +whsec_\S+$/m),
  "tvs partners webhook test ": async () => {
    expect(await eventually(async () => receiver.received.length === 1, 20_000)).toBe(true);
    expect(receiver.received[0]?.signature).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    receiver.isUp = false;
  },
  "tvs teachers import extract.csv --dry-run": ({ stdout }) =>
    expect(stdout).toMatch(/^import +dry run, nothing changed$/m),
  "tvs teachers import extract.csv --report": async ({ stdout }) => {
    expect(stdout).toMatch(/^inserted +3011$/m);
    expect(await shell.fileText("report.json")).not.toContain(nin);
  },
  "tvs status": ({ stdout }) => expect(stdout).toMatch(/^service +running$/m),
  "curl ": async () => {
    const envelope = JSON.parse(await shell.fileText("envelope.json"));
    expect(envelope.result).toMatchObject({ found: true, status: "VALID", eligible: true });
  },
  "tvs teachers revoke ": async ({ stdout }) => {
    expect(stdout).toMatch(/^licence +VALID -> REVOKED$/m);
    expect(stdout).toMatch(/^exam-board +1 /m);
    const failed = async () => /BAD_STATUS 503/.test((await shell.run("tvs webhooks list")).stdout);
    expect(await eventually(failed, 30_000)).toBe(true);
  },
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
  "tvs attestations check envelope.json": ({ stdout }) => expect(stdout).toMatch(/^1 of 1 attested .*\n$/m),
  "VERIFICATION_ID=": async () =>
    expect(JSON.parse(await shell.fileText("envelope.json")).verificationId).toBe(
      await variable("VERIFICATION_ID"),
    ),
  "tvs attestations list --teacher ": async ({ stdout }) =>
    expect(stdout).toContain(await variable("VERIFICATION_ID")),
  "tvs teachers history ": ({ stdout }) => expect(stdout).toMatch(/ revoke .* cli:ada .*Decision 2026\/14/),
  "tvs changes --by ada": ({ stdout }) => {
    expect(stdout).toMatch(/ cli:ada +teacher:TR\/2019\/LA\/000001 +revoke /);
    expect(stdout).toMatch(/ cli:ada +partner:exam-board +webhook set /);
  },
  "tvs teachers export-subject ": async () => {
    const subject = JSON.parse(await shell.fileText("subject.json"));
    expect(subject.record).toMatchObject({ regNo: "TR/2019/LA/000001" });
    expect(subject.lookups).toHaveLength(1);
    expect(JSON.stringify(subject)).not.toContain(nin);
  },
  "tvs keys rotate ": ({ stderr }) => expect(stderr).toContain("less than 24 h"),
  "tvs verify ": async ({ stdout }) => expect(stdout).toContain(await variable("VERIFICATION_ID")),
  "tvs backup evening.db": ({ stdout }) => expect(stdout).toContain("The master key is NOT in this backup"),
  "tvs restore ": ({ stdout }) => expect(stdout).toMatch(/^teachers +3011$/m),
  "tvs webhooks release ": ({ stdout }) => expect(stdout).toMatch(/^webhooks .* again\n$/),
};

test("the commands of the README's quick start work as printed and end with a valid envelope", async () => {
  await runDocument("README.md", quickStart);
  expect(await shell.stopServices()).toEqual([0]);
});

test("the commands of the manual's first day work as printed, and the restored service answers", async () => {
  await runDocument("data/help/first-day.md", day);
  expect(shell.services).toHaveLength(2);
  // The restored service answers about the teacher who was revoked before the backup.
  const response = await shell.check(await variable("KEY"));
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { issuer: "https://verify.example.org", result: { status: "REVOKED" } },
  ]);
  expect(await shell.stopServices()).toEqual([0, 0]);
});

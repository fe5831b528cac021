/** Runs the manual's commands that move a register from ./data into the installed service, without root and systemd. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { testTimeoutMs } from "../harness/program.ts";
import { openShell, readPrintedLines, repositoryPath, type Shell } from "./printed-commands.ts";

setDefaultTimeout(2 * testTimeoutMs);

let shell: Shell;
let installed = "";

beforeAll(async () => {
  shell = await openShell(() => ({
    "chown -R tvs:tvs": "true",
    "sudo -u tvs ": "",
    "sudo ": "",
    "/var/lib/tvs": installed,
  }));
  installed = join(shell.home, "installed");
  await mkdir(installed, { mode: 0o700 });
  await copyFile(repositoryPath("data/sample-registry.csv"), join(shell.home, "extract.csv"));
});
afterAll(() => shell?.close());

const add =
  "tvs partners add exam-board --name E --scopes eligibility --purposes BODYA_INVIGILATOR_ELIGIBILITY --per-minute 60 --per-day 1000";

async function ask(apiKey: string): Promise<string> {
  const response = await shell.check(apiKey);
  return `${response.status} ${((await response.json()) as { result?: { status: string } }).result?.status}`;
}

test("the manual's commands move a register from ./data into the service's folder, partners and evidence log included", async () => {
  await shell.runWell("tvs init --issuer https://verify.example.org --name R");
  await shell.runWell("tvs teachers import extract.csv --baseline");
  const apiKey = /^apiKey +(\S+)$/m.exec((await shell.runWell(add)).stdout)?.[1] ?? "";
  const first = await shell.serve("tvs serve");
  expect(await ask(apiKey)).toBe("200 VALID");
  expect(await first.stop()).toBe(0);
  for (const line of readPrintedLines("data/help/install.md", "From ./data to /var/lib/tvs"))
    if (!line.includes("systemctl")) await shell.runWell(line);
  await shell.serve("tvs serve --data installed");
  expect(await ask(apiKey)).toBe("200 VALID");
  await shell.runWell("tvs log audit --data installed");
  expect((await shell.runWell("tvs status --data installed")).stdout).toMatch(/^teachers +3011$/m);
});

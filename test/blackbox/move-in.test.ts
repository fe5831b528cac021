/** Runs the manual's commands that move a register from ./data into the installed service, without root and systemd. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { testTimeoutMs } from "../harness/program.ts";
import { openShell, printedLines, repository, type Shell } from "./printed-commands.ts";

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
  await copyFile(repository("data/sample-registry.csv"), join(shell.home, "extract.csv"));
});
afterAll(() => shell?.close());

async function expectDone(line: string): Promise<string> {
  const { code, stdout, stderr } = await shell.run(line);
  expect({ line, code, stderr: code === 0 ? "" : stderr }).toEqual({ line, code: 0, stderr: "" });
  return stdout;
}

const add =
  "tvs partners add exam-board --name E --scopes eligibility --purposes BODYA_INVIGILATOR_ELIGIBILITY --per-minute 60 --per-day 1000";
const check = { identifier: { regNo: "TR/2019/LA/000001" }, purpose: "BODYA_INVIGILATOR_ELIGIBILITY" };

async function ask(partner: string): Promise<string> {
  const response = await fetch(`${shell.services.at(-1)?.url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${/^apiKey +(\S+)$/m.exec(partner)?.[1]}` },
    body: JSON.stringify(check),
  });
  return `${response.status} ${((await response.json()) as { result?: { status: string } }).result?.status}`;
}

test("the manual's commands move a register from ./data into the service's folder, partners and evidence log included", async () => {
  await expectDone("tvs init --issuer https://verify.example.org --name R");
  await expectDone("tvs teachers import extract.csv --baseline");
  const partner = await expectDone(add);
  const first = await shell.serve("tvs serve");
  expect(await ask(partner)).toBe("200 VALID");
  expect(await first.stop()).toBe(0);
  for (const line of printedLines("data/help/install.md", "From ./data to /var/lib/tvs"))
    if (!line.includes("systemctl")) await expectDone(line);
  await shell.serve("tvs serve --data installed");
  expect(await ask(partner)).toBe("200 VALID");
  await expectDone("tvs log audit --data installed");
  expect(await expectDone("tvs status --data installed")).toMatch(/^teachers +3011$/m);
});

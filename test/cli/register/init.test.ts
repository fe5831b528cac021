import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { runJson, runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { startService } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { withTestContext } from "../../harness/service.ts";
import { runOnTerminal } from "../terminal/terminal.ts";

setDefaultTimeout(60_000);

const required = ["--issuer", "https://verify.example.gov", "--name", "Teacher Registry"];

const remembered = (dataDir: string) =>
  withTestContext(dataDir, async ({ stores: { settings } }) => Object.fromEntries(await settings.read()));

test.concurrent("tvs init creates a register with settings for serve, and prints the next three commands", () =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    const more = "--contact-email help@example.gov --host 127.0.0.2 --time-zone Africa/Accra".split(" ");
    const words = ["init", ...required, ...more, "--keep-attestations", "7y"];
    const made = await runJson<{ next: string[] }>(words, { dataDir });
    expect(made).toMatchObject({ location: dataDir, masterKey: join(dataDir, "master.key"), port: 8080 });
    const next = made.next.map((line) => /teachers import|partners add|serve/.exec(line)?.[0]);
    expect(next).toEqual(["teachers import", "partners add", "serve"]);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(await remembered(dataDir)).toMatchObject({
      issuer: "https://verify.example.gov",
      issuer_set: "true",
      time_zone: "Africa/Accra",
      keep_attestations: "7y",
      status_list: "on",
      port: "8080",
    });
    const service = await startService({ dataDir });
    try {
      expect(service.url).toStartWith("http://127.0.0.2:");
      const health = await fetch(`${service.url}/v1/inter-agency/health`);
      expect(await health.json()).toMatchObject({ issuer: "https://verify.example.gov" });
      expect(await (await fetch(service.url)).text()).toContain("Teacher Registry");
      // Access log and status lists are on by default.
      expect((await fetch(`${service.url}/v1/inter-agency/status`)).status).toBe(200);
      expect(existsSync(join(dataDir, "access.log"))).toBe(true);
    } finally {
      await service.stop();
    }
  }));

test.concurrent("tvs init refuses a data folder that has a register, and leaves that register unchanged", () =>
  withTempDir(async (dataDir) => {
    await withTestContext(dataDir, async () => {});
    const before = await remembered(dataDir);
    const again = runTvs(["init", ...required], { dataDir });
    await expectRefusal(again, 1, `there is a register at ${dataDir} already`);
    expect(await remembered(dataDir)).toEqual(before);
  }));

test.concurrent.each([
  [[], "nobody can be asked here; give --issuer and --name too"],
  [["--issuer", "verify.example.gov", "--name", "R"], "--issuer (TVS_ISSUER) must be an http or https URL"],
  [[...required, "--contact-email", "nobody"], "--contact-email must be an e-mail address"],
  [[...required, "--keep-attestations", "1d"], "must be forever, or at least 90d"],
  [["--sandbox"], "a sandbox needs no init"],
])("tvs init with %j is refused with the reason, and creates no register", (args, why) =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    await expectRefusal(runTvs(["init", ...args], { dataDir }), 2, why);
    expect(existsSync(dataDir)).toBe(false);
  }),
);

test.concurrent.each([
  ["http://127.0.0.1:8080", "an address that partners cannot reach"],
  ["http://verify.example.gov", "whoever is on the way can change what partners read"],
])("tvs init warns of the issuer %s", (issuer, warning) =>
  withTempDir(async (folder) => {
    const args = ["init", "--issuer", issuer, "--name", "Teacher Registry"];
    const { code, stderr } = await runTvs(args, { dataDir: join(folder, "data") });
    expect(code).toBe(0);
    expect(stderr).toContain(warning);
  }),
);

test.concurrent("tvs init on a terminal asks its questions, repeats a question after an invalid answer, and uses the default on Enter", () =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    const typed = [
      ["Public URL", "verify.example.gov\r"],
      ["must be an http or https URL", "https://verify.example.gov\r"],
      ["Name of the registry", "Teacher Registry\r"],
      ["E-mail address", "\r"],
      ["Time zone", "\r"],
      ["IP address", "\r"],
      ["Port [8080]", "8443\r"],
      ["How long", "\r"],
      ["on or off", "maybe\r"],
      ["must be true or false", "\r"],
      ["signed status lists", "off\r"],
    ] as const;
    const { code, text } = await runOnTerminal(["init"], { dataDir, typed });
    expect(code).toBe(0);
    expect(text).toContain("Next:");
    expect(await remembered(dataDir)).toMatchObject({
      issuer: "https://verify.example.gov",
      host: "127.0.0.1",
      port: "8443",
      access_log: "on",
      status_list: "off",
      keep_attestations: "forever",
    });
  }));

test.concurrent("tvs init creates no register if its input ends before the last answer", () =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "data");
    const { code, text } = await runOnTerminal(["init"], { dataDir, typed: [["Public URL", "\u0004"]] });
    expect([code, text]).toEqual([1, expect.stringContaining("cancelled; nothing was made")]);
    expect(existsSync(dataDir)).toBe(false);
  }));

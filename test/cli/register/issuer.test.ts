import { expect, test } from "bun:test";
import { join } from "node:path";
import { checkSettings } from "../../../cli/doctor/service.ts";
import { openService } from "../../../cli/serve/open-service.ts";
import { readConfig } from "../../../src/config.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { startService } from "../../harness/program.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";

type Check = { name: string; result: string; found: string };

const open = ["serve", "--port", "0", "--host", "0.0.0.0"];

async function issuerOf(dataDir: string, ...args: string[]) {
  const service = await startService({ dataDir, args });
  try {
    const health = await fetch(`${service.url}/v1/inter-agency/health`);
    return {
      url: service.url,
      issuer: ((await health.json()) as { issuer: string }).issuer,
      log: service.stderr(),
    };
  } finally {
    await service.stop();
  }
}

const remember = (dataDir: string, values: Record<string, string>) =>
  withTestContext(dataDir, ({ stores: { settings } }) => settings.write(values));

async function doctor(dataDir: string): Promise<(name: string) => Check | undefined> {
  const { stdout } = await runTvs(["doctor", "--json"], { dataDir });
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return (name) => checks.find((check) => check.name === name);
}

test.concurrent("tvs serve without an issuer warns and uses its own URL on loopback, and is refused on other addresses", () =>
  withTempDir(async (dataDir) => {
    const first = await issuerOf(dataDir);
    expect(first.issuer).toBe(first.url);
    expect(first.log).toMatch(/"WARN".*no issuer was ever set|no issuer was ever set.*"WARN"/);
    const second = await issuerOf(dataDir);
    expect(second.issuer).toBe(second.url);
    expect(second.url).not.toBe(first.url);
    expect(await runJson<object>(["status"], { dataDir })).toMatchObject({ issuer: second.url });
    // An address that nobody configured is not used by a service that others reach.
    const { code, stdout, stderr } = await runTvs(open, { dataDir });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toStartWith("tvs: a service that others reach needs its public URL");
  }));

test.concurrent("tvs serve warns if the stored settings allow webhooks to private addresses", () =>
  withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    const { close } = await openService(
      readConfig({ data: dataDir, issuer: "https://a.example", "allow-private-webhooks": true }, {}),
    );
    await close();
    expect((await issuerOf(dataDir)).log).toContain("webhooks may go to private addresses");
  }));

test.concurrent.each([
  ["http://0.0.0.0:8090", "is not a URL that anybody can reach"],
  ["https://localhost", "is a URL of this machine only"],
  ["http://verify.example.gov", "is http"],
])("tvs doctor warns of the issuer %s", (issuer, found) => {
  const stored = new Map([
    ["issuer", issuer],
    ["issuer_set", "true"],
  ]);
  expect(checkSettings(stored, readConfig({}, {}), { oldest: null, now: 0 })).toContainEqual(
    expect.objectContaining({ name: "issuer", result: "warn", found: expect.stringContaining(found) }),
  );
});

test.concurrent("tvs doctor warns of an empty register, held webhooks and private addresses, until they are corrected", () =>
  withTempDir(async (dataDir) => {
    await remember(dataDir, { hold_webhooks: "true", allow_private_webhooks: "on" });
    const before = await doctor(dataDir);
    for (const name of ["register", "issuer", "webhooks-held", "private-webhooks"])
      expect(before(name)).toMatchObject({ name, result: "warn" });
    await runTvs(
      ["teachers", "import", join(import.meta.dir, "../../../data/sample-registry.csv"), "--baseline"],
      {
        dataDir,
      },
    );
    await runTvs(["webhooks", "release"], { dataDir });
    const issuer = { issuer: "https://verify.example.gov", issuer_set: "true" };
    await remember(dataDir, { ...issuer, allow_private_webhooks: "off" });
    const after = await doctor(dataDir);
    for (const name of ["register", "issuer", "webhooks-held", "private-webhooks"])
      expect(after(name)).toMatchObject({ name, result: "ok" });
  }));

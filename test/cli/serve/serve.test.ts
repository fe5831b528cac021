import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { runJson, runTvs } from "../../harness/command.ts";
import { until } from "../../harness/eventually.ts";
import { sharedFolder, withTempDir } from "../../harness/folder.ts";
import { startService, testTimeoutMs } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";

setDefaultTimeout(testTimeoutMs);

const linkPattern =
  /^console (http:\/\/127\.0\.0\.1:\d+\/open\?token=[\w.-]+) \(opens once, within five minutes\)$/m;
const open = (link: string) => fetch(link, { redirect: "manual" });

const folder = sharedFolder();
beforeAll(() => makeRegister(folder));

const tvsConsole = (...flags: string[]) => runTvs(["console", "--data", folder, ...flags]);

test("tvs console says how to start a service, or how to restart one that has no console", async () => {
  const start = "tvs: no service is running on this data; start `tvs serve --admin-port 9464`\n";
  await expectRefusal(tvsConsole(), 1, start);
  const service = await startService({ dataDir: folder });
  try {
    const closed = await tvsConsole("--json");
    expect([closed.code, closed.json()]).toMatchObject([1, { error: { code: "REFUSED" } }]);
    expect(closed.stderr).toContain("restart it with `tvs serve --admin-port 9464`");
  } finally {
    await service.stop();
  }
});

test("tvs console prints a link to the running service's console, and a restart of the service ends all links", async () => {
  const service = await startService({ dataDir: folder, args: ["--admin-port", "0"] });
  const unused = (await runJson<{ url: string }>(["console", "--data", folder])).url;
  try {
    await until(() => linkPattern.test(service.stdout()));
    const printed = linkPattern.exec(service.stdout())?.[1] ?? "";
    expect((await open(printed)).status).toBe(303);
    expect((await open(printed)).status).toBe(410);
    const made = await runJson<{ url: string; expiresAt: string }>(["console", "--data", folder]);
    expect(Date.parse(made.expiresAt) - Date.now()).toBeGreaterThan(4 * 60_000);
    const { headers } = await open(made.url);
    const Cookie = (headers.get("set-cookie") ?? "").replace(/;.*$/, "");
    const entered = fetch(new URL(headers.get("location") ?? "", made.url), { headers: { Cookie } });
    const page = await (await entered).text();
    expect(page).toContain("The register is empty: lookups and checks are answered with 503");
    await expectCommands(page);
  } finally {
    expect(await service.stop()).toBe(0);
  }
  const { port } = new URL(unused);
  const next = await startService({ dataDir: folder, args: ["--admin-port", port] });
  try {
    const stale = await open(unused);
    expect(stale.status).toBe(410);
    expect(await stale.text()).toContain("This link is not valid");
    const { code, stdout, stderr } = await tvsConsole();
    expect([code, (await open(stdout.trim())).status]).toEqual([0, 303]);
    expect(stderr).toBe("the link works once, within five minutes, on this machine\n");
  } finally {
    await next.stop();
  }
});

test("tvs serve warns if other users may read the master key, and names the chmod command", async () => {
  const file = join(folder, "master.key");
  for (const mode of [0o600, 0o644]) {
    await chmod(file, mode);
    const service = await startService({ dataDir: folder });
    expect(await service.stop()).toBe(0);
    const isOpen = mode === 0o644;
    expect(service.stderr().includes("open to other users (mode 0644)")).toBe(isOpen);
    expect(service.stderr().includes(`chmod 600 ${file}`)).toBe(isOpen);
  }
});

/** Starts and stops a service. @returns its URL, issuer and log */
async function serveOnce(dataDir: string) {
  const service = await startService({ dataDir });
  try {
    const health = await fetch(`${service.url}/v1/inter-agency/health`);
    const { issuer } = (await health.json()) as { issuer: string };
    return { url: service.url, issuer, log: service.stderr() };
  } finally {
    await service.stop();
  }
}

test("tvs serve without an issuer warns and uses its own URL on loopback, and is refused on other addresses", () =>
  withTempDir(async (dataDir) => {
    const first = await serveOnce(dataDir);
    expect(first.issuer).toBe(first.url);
    expect(first.log).toMatch(/"WARN".*no issuer was ever set|no issuer was ever set.*"WARN"/);
    const second = await serveOnce(dataDir);
    expect(second.issuer).toBe(second.url);
    expect(second.url).not.toBe(first.url);
    expect(await runJson<object>(["status"], { dataDir })).toMatchObject({ issuer: second.url });
    // A service that other machines reach needs a configured issuer.
    const { code, stdout, stderr } = await runTvs(["serve", "--port", "0", "--host", "0.0.0.0"], { dataDir });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toStartWith("tvs: a service that others reach needs its public URL");
  }));

test("tvs serve warns if the stored settings allow webhooks to private addresses", () =>
  withTempDir(async (dataDir) => {
    const settings = { issuer: "https://a.example", allow_private_webhooks: "on" };
    await withTestContext(dataDir, ({ stores }) => stores.settings.write(settings));
    expect((await serveOnce(dataDir)).log).toContain("webhooks may go to private addresses");
  }));

/** Expects each command on the page to run without a usage error, except those with a placeholder. */
async function expectCommands(page: string): Promise<void> {
  const found = page.matchAll(/<code class="command">tvs ([^<]+)<\/code>/g);
  const shown = [...found].map(([, words = ""]) => words);
  expect(shown.length).toBeGreaterThan(3);
  for (const words of shown.filter((one) => !one.includes("FILE"))) {
    expect(words).toEndWith(`--data ${folder}`);
    const { code, stderr } = await runTvs(words.split(" "));
    expect([words, code === 2, stderr.includes("internal error")]).toEqual([words, false, false]);
  }
}

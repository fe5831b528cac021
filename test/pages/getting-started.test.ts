import { expect, test } from "bun:test";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defaultTeacher, sandboxTeachers } from "../../src/domain/sandbox/teachers.ts";
import { codeLanguages } from "../../src/site/getting-started-steps.ts";
import { withTempDir } from "../harness/folder.ts";
import { freePort } from "../harness/free-port.ts";
import { programWords, runToEnd } from "../harness/program.ts";
import { expectAccessiblePage, useSharedSite } from "./browser.ts";
import { openSite } from "./site.ts";

const path = "/v1/inter-agency/getting-started";
/** The time limit of a language's test. Java compiles three programs. */
const compilingMs = 300_000;
const languages = codeLanguages.map(({ id }) => id);

const { site, browser } = useSharedSite();

/** Returns the ids and texts of the page's listings. A text is what the browser would copy. */
async function printedCommands(language: string): Promise<[id: string, text: string][]> {
  const { page } = await browser.open();
  await page.goto(`${site.url}${path}?code=${language}`);
  const blocks = await page.locator('pre[id^="run-"]').all();
  const printed = await Promise.all(
    blocks.map(
      async (block): Promise<[string, string]> => [
        (await block.getAttribute("id")) ?? "",
        (await block.textContent()) ?? "",
      ],
    ),
  );
  await page.close();
  return printed;
}

/** Makes an empty folder, with `tvs` on the PATH and the packages that the page installs from a registry. */
function withFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  return withTempDir(async (folder) => {
    const words = programWords.map((word) => `'${word}'`).join(" ");
    await writeFile(join(folder, "tvs"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
    await symlink(join(import.meta.dir, "../../node_modules"), join(folder, "node_modules"));
    // Only the system's Python has the system's packages.
    await symlink("/usr/bin/python3", join(folder, "python3"));
    return run(folder);
  });
}

async function runInShell(script: string, { folder, port }: { folder: string; port: string }) {
  // Python's output is unbuffered, as in many containers, so that its lines are in order with those of other programs.
  const env = {
    ...process.env,
    PORT: port,
    TVS_DATA: site.dataDir,
    PATH: `${folder}:${process.env.PATH}`,
    PYTHONUNBUFFERED: "1",
  };
  return runToEnd(["bash", "-c", script], { cwd: folder, env });
}

/** The line that is printed before a listing, to separate the outputs of the listings. */
const mark = (id: string) => `@@ ${id} @@`;

function saidBy(stdout: string, id: string): string {
  return stdout.split(mark(id))[1]?.split(/^@@ /m)[0] ?? "";
}

test.each(languages)(
  "the getting-started page's commands for %s work as printed, one after the other, in an empty folder",
  async (language) => {
    // The commands that install packages are left out, because this machine has the packages.
    const printed = (await printedCommands(language)).filter(([id]) => id !== "run-prepare");
    // The receiver's own port may be in use on this machine.
    const port = String(await freePort());
    const own = printed.map(([id, text]) => [id, text.replaceAll("9876", port)] as const);
    await fetch(`${site.url}${path}/events`, { method: "POST", headers: { Origin: site.url } });
    const script = own.map(([id, text]) => `echo; echo '${mark(id)}'\n${text}\n`).join("");
    const { stdout, stderr, code } = await withFolder((folder) =>
      runInShell(`set -euo pipefail\ntrap 'kill $(jobs -p) 2> gone.txt || true' EXIT\n${script}`, {
        folder,
        port,
      }),
    );
    // The servers of PHP and Python log to standard error, and tvs says there that a secret is shown once.
    const complaints = stderr.replace(
      /^(?:\[.* 20\d\d\]|127\.0\.0\.1|no other command shows the secret).*\n/gm,
      "",
    );
    expect({ code, complaints }).toEqual({ code: 0, complaints: "" });
    expect(saidBy(stdout, "run-key")).toContain('"partnerId":"demo"');
    expect(saidBy(stdout, "run-ask")).toContain('"found":true');
    const asked = saidBy(stdout, "run-retry").match(/"verificationId":"[^"]+"/g) ?? [];
    expect([asked.length, new Set(asked).size]).toEqual([2, 1]);
    expect(saidBy(stdout, "run-other-calls").match(/Adaeze Okafor/g)?.length).toBe(4);
    expect(saidBy(stdout, "run-verify").trim()).toBe("valid");
    expect(saidBy(stdout, "run-verify-tvs")).toContain("valid");
    expect(saidBy(stdout, "run-verify-library")).toContain("found: true");
    expect(saidBy(stdout, "run-events")).toContain(`license.revoked ${defaultTeacher.regNo}`);
    const delivered = saidBy(stdout, "run-sandbox-delivery");
    if (language !== "curl") {
      expect(delivered).toMatch(/ delivered +demo +license\.revoked +1 +204 /);
    }
    const verdicts = saidBy(stdout, "run-delivery").match(/^(\d{3}|valid|SIGNATURE_MISMATCH)$/gm);
    expect(verdicts).toEqual(language === "curl" ? ["valid", "SIGNATURE_MISMATCH"] : ["204", "400"]);
  },
  compilingMs,
);

test("the getting-started page explains each sandbox teacher and does not scroll sideways, and axe finds no fault", async () => {
  const { page, complaints } = await browser.open();
  await page.goto(`${site.url}${path}?code=php`);
  const shown = await page.locator('td[data-label="Shows"]').allTextContents();
  expect(shown).toEqual(sandboxTeachers.map(({ shows }) => shows));
  for (const summary of await page.locator("summary").all()) await summary.click();
  await expectAccessiblePage(page, [390, 1280]);
  await page.setViewportSize({ width: 320, height: 800 });
  const wide =
    "[...document.querySelectorAll('pre')].filter((one) => one.scrollWidth > one.clientWidth).length";
  expect(await page.evaluate(wide)).toBe(0);
  expect(complaints).toEqual([]);
  await page.close();
});

test("the getting-started page does not shift while it loads, and prints no button", async () => {
  const { page } = await browser.open();
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
    }).observe({ type: "layout-shift", buffered: true });
  });
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    await page.goto(site.url + path);
    await page.locator("#try-me:enabled").waitFor();
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    const shifted = await page.evaluate("shifts.reduce((sum, shift) => sum + shift, 0)");
    expect(shifted).toBeLessThan(0.01);
  }
  await page.emulateMedia({ media: "print" });
  expect(await page.locator("button").filter({ visible: true }).count()).toBe(0);
  await page.close();
});

test("the buttons of the getting-started page show the partner's terms, watch a teacher, cause an event and fetch the event", async () => {
  const own = await openSite();
  const { page, complaints } = await browser.open();
  await page.goto(own.url + path);
  const press = async (step: string, said: RegExp) => {
    await page.locator(`#try-${step}`).click();
    await page.locator("#try [role=status]", { hasText: said }).waitFor();
    return page.locator("#try pre").textContent();
  };
  expect(await press("me", /200/)).toContain(own.demo.apiKey.slice(9, 21));
  await press("watch", /204/);
  expect(await press("events", /200/)).toContain('"data": []');
  expect(await press("cause", /200/)).toContain("license.revoked");
  expect(await press("events", /200/)).toContain(defaultTeacher.regNo);
  expect(await press("events", /events\?after=.*200/)).toContain('"data": []');
  await page.reload();
  // The tab remembers the event that it fetched last.
  expect(await press("events", /events\?after=.*200/)).toContain('"data": []');
  await press("me", /200/);
  await expectAccessiblePage(page);
  expect(complaints).toEqual([]);
  await Promise.all([page.close(), own.close()]);
});

test("the getting-started page's event button does nothing for another site's page or another machine", async () => {
  const ask = (headers: Record<string, string>) =>
    fetch(`${site.url}${path}/events`, { method: "POST", headers }).then(({ status }) => status);
  const own = { Origin: site.url };
  expect(await ask({ Origin: "http://127.0.0.1:1" })).toBe(404);
  expect(await ask({})).toBe(404);
  expect(await ask({ ...own, "X-Forwarded-For": "203.0.113.1" })).toBe(404);
  expect(await ask(own)).toBe(200);
});

test("the getting-started page copies a listing exactly, by keyboard too", async () => {
  const { page } = await browser.open();
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(site.url + path);
  await page.getByRole("button", { name: "Copy: Commands: key" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Copied: Commands: key").waitFor();
  const copied = await page.evaluate("navigator.clipboard.readText()");
  expect(copied).toBe(await page.locator("#run-key").textContent());
  await page.close();
});

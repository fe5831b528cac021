import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withTempDir } from "../harness/folder.ts";
import { programWords } from "../harness/program.ts";
import { axeFindings, type Browser, overflowPx, patienceMs, startBrowser } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

const path = "/v1/inter-agency/getting-started";

let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), startBrowser()]);
});
afterAll(() => Promise.all([browser.close(), site.close()]));

/** What stands on the page to be pasted, by its id, exactly as the browser would copy it. */
async function printedCommands(): Promise<[id: string, text: string][]> {
  const { page } = await browser.open();
  await page.goto(site.url + path);
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

/** A clean folder, with `tvs` on the path and the package that the page installs from the registry. */
function withFolder<T>(act: (folder: string) => Promise<T>): Promise<T> {
  return withTempDir(async (folder) => {
    const words = programWords.map((word) => `'${word}'`).join(" ");
    await writeFile(join(folder, "tvs"), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
    await symlink(join(import.meta.dir, "../../node_modules"), join(folder, "node_modules"));
    return act(folder);
  });
}

async function runInShell(script: string, folder: string) {
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const shell = Bun.spawn(["bash", "-c", script], { cwd: folder, env, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
    shell.exited,
  ]);
  return { stdout, stderr, code };
}

/** Printed between the blocks, to part what each of them says. */
const mark = (id: string) => `@@ ${id} @@`;

function saidBy(stdout: string, id: string): string {
  return stdout.split(mark(id))[1]?.split(/^@@ /m)[0] ?? "";
}

describe("the commands of the getting-started page", () => {
  test("run as printed, one after the other, in a clean folder", async () => {
    const printed = await printedCommands();
    // The only one that is left out fetches a package; the folder has the project's own.
    const script = printed
      .filter(([id]) => id !== "run-install-jose")
      .map(([id, text]) => `echo; echo '${mark(id)}'\n${text}\n`)
      .join("");
    const { stdout, stderr, code } = await withFolder((folder) =>
      runInShell(`set -euo pipefail\n${script}`, folder),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(saidBy(stdout, "run-key")).toContain('"status":"ok"');
    expect(saidBy(stdout, "run-first-call")).toContain('"found":true');
    expect(saidBy(stdout, "run-other-calls").match(/Adaeze Okafor/g)?.length).toBe(4);
    expect(saidBy(stdout, "run-verify-tvs")).toContain("valid");
    expect(saidBy(stdout, "run-verify-jose").trim()).toBe("{ status: 'VALID', eligible: true, reasons: [] }");
    expect(saidBy(stdout, "run-delivery").trim()).toBe("license.revoked TR/2019/LA/000003\n204\n400");
  });

  test("are printed for this server, with a key that works", async () => {
    const text = (await printedCommands()).map(([, block]) => block).join("\n");
    expect(text).toContain(`export API_KEY='${site.demo.apiKey}'`);
    const addresses = new Set(text.match(/https?:\/\/[^/\s"';]+/g));
    expect([...addresses].sort()).toEqual([site.url, "http://127.0.0.1:9876"].sort());
  });
});

describe("the page", () => {
  test.each(["light", "dark"] as const)(
    "in %s has nothing that axe finds, and fits a phone",
    async (colorScheme) => {
      const { page, complaints } = await browser.open();
      await page.emulateMedia({ colorScheme });
      for (const width of [375, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(site.url + path);
        for (const summary of await page.locator("summary").all()) await summary.click();
        expect(await axeFindings(page)).toEqual([]);
        expect(await overflowPx(page)).toBe(0);
      }
      expect(complaints).toEqual([]);
      await page.close();
    },
  );
});

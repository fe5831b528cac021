import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openApiDocument } from "../../src/api/openapi.ts";
import { codeLanguages } from "../../src/site/getting-started-languages.ts";
import { makeFolder } from "../harness/folder.ts";
import { type Browser, expectSound, inBrowser, patienceMs, startBrowser, type Tab } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

const docs = "/v1/inter-agency/docs";
const run = promisify(execFile);

let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), startBrowser({ viewport: { width: 1280, height: 900 } })]);
});
afterAll(() => Promise.all([browser.close(), site.close()]));

async function openReference(place = "", origin = site.url): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(`${origin}${docs}${place}`);
  await tab.page.locator("#term").waitFor();
  return tab;
}

/** Opens the form of an operation, sends it as it stands, and reads the answer as it is shown. */
async function tryOut({ page }: Tab, operation: string): Promise<{ status: string; answer: string }> {
  const part = page.locator(".part", { has: page.locator(`#${operation}`) }).last();
  await part.locator(".try summary").click();
  await part.getByRole("button", { name: "Send", exact: true }).click();
  await part.locator(".try pre").waitFor();
  const status = (await part.locator(".try [role=status]").textContent()) ?? "";
  return { status, answer: (await part.locator(".try code").last().textContent()) ?? "" };
}

describe("trying a call in a sandbox", () => {
  test.each([
    "verifyLicense",
    "checkEligibility",
    "lookUpByRegNo",
    "lookUpByTId",
    "lookUpByNin",
    "checkBatch",
  ])("%s finds a teacher as it stands, with its headers", async (operation) => {
    const tab = await openReference();
    const { status, answer } = await tryOut(tab, operation);
    expect(status).toStartWith("200");
    expect(answer).toContain("Adaeze Okafor");
    expect(answer).toContain("x-request-id: ");
    expect(tab.complaints).toEqual([]);
    for (const address of tab.requested) expect(address).toStartWith(site.url);
    await tab.page.close();
  });

  test("calls where it came from, whatever address the document names", async () => {
    const tab = await openReference("", site.url.replace("127.0.0.1", "localhost"));
    expect((await tryOut(tab, "lookUpByTId")).status).toStartWith("200");
    expect(tab.complaints).toEqual([]);
    await tab.page.close();
  });

  test("shows a refusal, and what stands in one key field stands in all", async () => {
    const tab = await openReference();
    const first = tab.page.locator("[name=key]").first();
    await first.evaluate((field) => field.closest("details")?.setAttribute("open", ""));
    await first.fill("tvs_test_mistyped");
    const { status, answer } = await tryOut(tab, "lookUpByTId");
    expect(status).toStartWith("401");
    expect(answer).toContain("mistyped");
    await tab.page.close();
  });
});

describe("the examples", () => {
  const { paths } = openApiDocument("https://teachers.example");
  const operations = Object.values(paths).flatMap((path) => Object.keys(path)).length;

  /** The code of every operation in a language, as the copy button takes it. */
  async function samples(language: string): Promise<string[]> {
    const tab = await openReference();
    const texts = await tab.page.locator(`[data-in="${language}"] code`).allTextContents();
    await tab.page.close();
    expect(texts.length).toBe(operations);
    return texts.filter((text) => !/\/log\//.test(text));
  }
  const answered =
    /Adaeze Okafor|RS256|eyJ|"status":"ok"|openapi|export|status_lists|"(partnerId|teachers|iterator|watched)":/;
  /** What names a key, an address or a delivery that the demo partner lacks is understood, and refused by its name. */
  const ofOwn = /\/me\/(keys|webhook|deliveries)/;
  const understood = /"(keyId|url|iterator)":|"statusCode":40[49]|lead to public|HTTP Error 40[049]/;
  function works(code: string, { stdout, stderr }: { stdout: string; stderr: string }): void {
    if (/\/watch\/\w/.test(code)) expect(stdout).not.toContain("statusCode");
    else if (ofOwn.test(code)) expect(stdout + stderr).toMatch(understood);
    else expect(stdout).toMatch(answered);
  }

  /** Whether this machine has what starts a program of the language; what it starts with may be an option. */
  const isHere = (run: string) =>
    run.split("\n").every((line) => Bun.which(line.split(" ")[0] ?? "") !== null);
  const isCompiled = (id: string) => id === "java";

  for (const { id, name, call, run: start } of codeLanguages) {
    test.skipIf(!isHere(start(call.file)))(`run as printed in ${name}`, async () => {
      const all = await samples(id);
      const folder = await makeFolder();
      // To compile takes long: a call without a credential, one with a body and one without are enough for it.
      for (const code of isCompiled(id) ? all.slice(0, 3) : all) {
        await writeFile(join(folder.path, call.file), code);
        const ran = run("sh", ["-ec", start(call.file)], { cwd: folder.path });
        works(code, await (ofOwn.test(code) ? ran.catch((error) => error) : ran));
      }
      await folder.remove();
    });
  }

  test("are all in the language that one of them was switched to, at the next visit too", async () => {
    const tab = await openReference("#checkBatch");
    await tab.page.locator("label", { hasText: "PHP" }).last().click();
    const shownIn = () =>
      tab.page
        .locator("[data-in]:visible")
        .evaluateAll((all) => [...new Set(all.map((one) => (one as HTMLElement).dataset.in))]);
    expect(await shownIn()).toEqual(["php"]);
    await tab.page.reload();
    expect(await shownIn()).toEqual(["php"]);
    await tab.page.evaluate(() => localStorage.clear());
    await tab.page.close();
  });
});

describe("finding one's way", () => {
  test("a search by keyboard alone leads to a word, and the contents say where it is", async () => {
    const tab = await openReference();
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("expires too");
    await tab.page.locator("#results a").first().waitFor();
    expect(await tab.page.locator("#count").textContent()).toMatch(/^\d+ results?$/);
    await tab.page.keyboard.press("ArrowDown");
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForURL("**#Reason-LICENSE_EXPIRES_TOO_SOON");
    await tab.page.locator('.contents a[aria-current][href="#Reason"]').waitFor();
    await tab.page.close();
  });

  test("a search for nothing says so", async () => {
    const tab = await openReference();
    await tab.page.locator("#term").fill("no such word anywhere");
    expect(await tab.page.locator("#count").textContent()).toBe("Nothing found");
    await tab.page.close();
  });

  test("a link to an example that is folded away opens it", async () => {
    const tab = await openReference("#example-teacher.deactivated");
    await tab.page.getByText('"teacher.deactivated"').first().waitFor();
    expect(await tab.page.locator("details[name=event][open]").count()).toBe(1);
    await tab.page.close();
  });

  test("without script everything but search and trying is there", () =>
    inBrowser({ javaScriptEnabled: false }, async ({ page }) => {
      await page.goto(`${site.url}${docs}#lookUpByNin`);
      await page.getByText("Judged by the purpose").last().waitFor();
      expect(await page.locator("#search").isVisible()).toBe(false);
      expect(await page.locator(".try").first().isVisible()).toBe(false);
      await page.locator("label", { hasText: "Python" }).first().click();
      await page.locator('[data-in="python"]').first().waitFor();
    }));
});

test("it fits every screen, and axe finds nothing", async () => {
  const tab = await openReference();
  await tab.page.locator("#term").fill("license");
  for (const form of await tab.page.locator(".try").all())
    await form.evaluate((one) => one.setAttribute("open", ""));
  await expectSound(tab.page, [390, 1280]);
  expect(tab.complaints).toEqual([]);
  await tab.page.close();
});

import { expect, test } from "bun:test";
import { englishTexts } from "../../src/site/language.ts";
import { type Browser, expectAccessiblePage, runInBrowser, type Tab, useSharedSite } from "./browser.ts";

const { lookup } = englishTexts;
/** Search terms, with the verdict that the sandbox's page shows for each. */
const asked = [
  ["TR/2019/LA/000001", lookup.licensed],
  ["1002", lookup.expired],
  ["99900000003", lookup.notLicensed],
  ["teacher05@example.org", lookup.notLicensed],
  ["XX/2O19/LA/999999", lookup.nobody],
] as const;

const { site, browser: noScript } = useSharedSite({ javaScriptEnabled: false });

async function ask(browser: Browser, term: string): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(site.url);
  await tab.page.getByLabel(lookup.field).fill(term);
  await tab.page.getByRole("button", { name: lookup.button }).click();
  await tab.page.waitForLoadState();
  return tab;
}

const headline = ({ page }: Tab) => page.getByRole("heading", { level: 1 }).textContent();

test.each(asked)("the public page without scripts answers %s with the verdict %s", async (term, verdict) => {
  const tab = await ask(noScript, term);
  expect(await headline(tab)).toBe(verdict);
  // No URL contains the search term, and no other site is called.
  expect(tab.page.url()).toBe(`${site.url}/`);
  for (const address of tab.requested) expect(address).toStartWith(site.url);
  expect(tab.complaints).toEqual([]);
  await tab.page.close();
});

test("the public page prints the answer without the form", async () => {
  const tab = await ask(noScript, "TR/2019/LA/000001");
  await tab.page.emulateMedia({ media: "print" });
  for (const shown of [
    lookup.licensed,
    englishTexts.shell.sandbox,
    "Adaeze Okafor",
    "Africa/Lagos",
    `Asked at ${site.url}.`,
  ]) {
    expect([shown, await tab.page.getByText(shown).first().isVisible()]).toEqual([shown, true]);
  }
  expect(await tab.page.locator("form").isVisible()).toBe(false);
  expect(await tab.page.locator("footer").isVisible()).toBe(false);
  expect((await tab.page.pdf()).subarray(0, 5).toString()).toBe("%PDF-");
  await tab.page.close();
});

test("the print button of the public page opens the browser's print dialogue", () =>
  runInBrowser({}, async (_, browser) => {
    await browser.context.addInitScript(() => {
      globalThis.print = () => Object.assign(globalThis, { isPrinted: true });
    });
    const { page } = await ask(browser, "1001");
    await page.getByRole("button", { name: lookup.print }).click();
    expect(await page.evaluate("isPrinted")).toBe(true);
  }));

test("axe finds no fault in any answer of the public page, on any screen size", () =>
  runInBrowser({}, async (_, browser) => {
    for (const term of [...asked.map(([term]) => term), "", "A/B/C"]) {
      const { page } = await ask(browser, term);
      await expectAccessiblePage(page);
      await page.close();
    }
  }));

test("the Tab key on the public page reaches the skip link, then the field, then the button", async () => {
  const { page } = await noScript.open();
  await page.goto(site.url);
  const focused = page.locator(":focus");
  await page.keyboard.press("Tab");
  expect(await focused.textContent()).toBe(englishTexts.shell.skip);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  expect(await focused.getAttribute("name")).toBe("searchTerm");
  await page.keyboard.type("1001");
  await page.keyboard.press("Tab");
  expect(await focused.textContent()).toBe(lookup.button);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: lookup.licensed }).waitFor();
  await page.close();
});

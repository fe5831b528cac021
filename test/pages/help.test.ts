import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { topics } from "../../src/manual.ts";
import { axeFindings, type Browser, overflowPx, patienceMs, startBrowser } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), startBrowser()]);
});
afterAll(() => Promise.all([browser.close(), site.close()]));

test.each(["light", "dark"] as const)(
  "in %s no page of the manual has anything that axe finds, and all fit a phone",
  async (colorScheme) => {
    const { page, complaints, requested } = await browser.open();
    await page.emulateMedia({ colorScheme });
    for (const name of ["", ...topics.map((topic) => topic.name)]) {
      for (const width of [375, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(`${site.url}/v1/inter-agency/help/${name}`);
        expect({ name, width, overflow: await overflowPx(page) }).toEqual({ name, width, overflow: 0 });
      }
      expect({ name, found: await axeFindings(page) }).toEqual({ name, found: [] });
    }
    expect(complaints).toEqual([]);
    expect(requested.filter((address) => !address.startsWith(site.url))).toEqual([]);
    await page.close();
  },
);

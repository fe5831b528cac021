import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { topics } from "../../src/manual.ts";
import { type Browser, expectSound, patienceMs, startBrowser } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), startBrowser()]);
});
afterAll(() => Promise.all([browser.close(), site.close()]));

test("no page of the manual has anything that axe finds, and all fit a phone", async () => {
  const { page, complaints, requested } = await browser.open();
  for (const name of ["", ...topics.map((topic) => topic.name)]) {
    await page.goto(`${site.url}/v1/inter-agency/help/${name}`);
    await expectSound(page);
  }
  expect(complaints).toEqual([]);
  expect(requested.filter((address) => !address.startsWith(site.url))).toEqual([]);
  await page.close();
});

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

const pages = ["", ...topics.map((topic) => topic.name)];

test.each(pages)("the manual's page %p has nothing that axe finds, and fits a phone", async (name) => {
  const { page, complaints, requested } = await browser.open();
  await page.goto(`${site.url}/v1/inter-agency/help/${name}`);
  await expectSound(page);
  expect(complaints).toEqual([]);
  expect(requested.filter((address) => !address.startsWith(site.url))).toEqual([]);
  await page.close();
});

import { expect, test } from "bun:test";
import { manualTopics } from "../../src/manual.ts";
import { expectSound, sharedSite } from "./browser.ts";

const { site, browser } = sharedSite();

const pages = ["", ...manualTopics.map((topic) => topic.name)];

test.each(pages)("the manual's page %p fits a phone, and axe finds no fault", async (name) => {
  const { page, complaints, requested } = await browser.open();
  await page.goto(`${site.url}/v1/inter-agency/help/${name}`);
  await expectSound(page);
  expect(complaints).toEqual([]);
  expect(requested.filter((address) => !address.startsWith(site.url))).toEqual([]);
  await page.close();
});

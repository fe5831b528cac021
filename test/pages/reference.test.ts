import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { axeFindings, type Browser, overflowPx, patienceMs, startBrowser, type Tab } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

const docs = "/v1/inter-agency/docs";

let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), startBrowser({ viewport: { width: 1280, height: 900 } })]);
});
afterAll(() => Promise.all([browser.close(), site.close()]));

/** Opens the reference, and waits for Scalar to have read the document. */
async function openReference(place = "", origin = site.url): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(`${origin}${docs}${place}`);
  await tab.page.getByRole("heading", { name: "Teacher Verification Service" }).waitFor();
  return tab;
}

function expectOwn({ complaints, requested }: Tab, origin = site.url): void {
  expect(complaints).toEqual([]);
  expect(requested.filter((address) => !address.startsWith(`${origin}/`))).toEqual([]);
}

/** Tests of the envelope page without a network, where its service worker answers from the cache. */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { changeTeacher } from "../../src/domain/teachers/changes.ts";
import { eventually } from "../harness/eventually.ts";
import { type Browser, browserTestTimeoutMs, findAxeViolations, startBrowser, type Tab } from "./browser.ts";
import { fetchEnvelope, validRegNo, verifyPagePath, verifyText } from "./envelope-page.ts";
import { openSite, type TestSite } from "./site.ts";

setDefaultTimeout(browserTestTimeoutMs);

let browser: Browser;
let site: TestSite;
let envelope = "";

beforeEach(async () => {
  browser = await startBrowser({ serviceWorkers: "allow", viewport: { width: 390, height: 844 } });
  site = await openSite();
  envelope = await fetchEnvelope(validRegNo, site);
});
let isCut = false;
afterEach(async () => {
  await browser.close();
  if (!isCut) await site.close();
  isCut = false;
});

/** Stops the service, so that no request of the browser gets an answer. */
async function cutNetwork(): Promise<void> {
  isCut = true;
  await site.close();
  await expect(fetch(site.url)).rejects.toThrow();
}

async function openPage(fragment = ""): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(`${site.url}${verifyPagePath}${fragment}`);
  await tab.page.waitForSelector("#tool:not([hidden])");
  return tab;
}

/** Opens the page with a network, waits until its files are stored and its worker is active, and closes the page. */
async function visit(): Promise<void> {
  const { page, complaints } = await openPage();
  await page.waitForSelector("#kept:not(:empty)");
  await page.evaluate("navigator.serviceWorker.ready.then(({ active }) => active.state)");
  expect(complaints).toEqual([]);
  await page.close();
}

function revoke() {
  const { stores, calendar, clock, actor } = site.operator;
  const deps = { teachers: stores.teachers, calendar, clock, actor };
  return changeTeacher(deps, { by: "regNo", value: validRegNo }, { action: "revoke", reason: "test" });
}

test("the envelope page that was opened once verifies offline, and shows the date of its status list", async () => {
  await visit();
  await cutNetwork();
  const tab = await openPage();
  const { page } = tab;
  const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" }).format(new Date());
  const kept = await page.locator("#kept:not(:empty)").innerText();
  expect(kept).toStartWith(`Keys and lists of ${day}, `);
  expect(kept).toEndWith("except for proofs of the log.");
  const { verdict, text } = await verifyText(page, envelope);
  expect(verdict).toBe("Signature: genuine");
  expect(text).toContain(`Not withdrawn since, by this service’s list of ${day}, `);
  expect(text).toContain("Licensed on ");
  expect(await findAxeViolations(page)).toEqual([]);
  await page.close();
});

test("the envelope page offline refuses an answer that its status list withdraws", async () => {
  await revoke();
  await visit();
  await cutNetwork();
  const tab = await openPage();
  const { verdict, text } = await verifyText(tab.page, envelope);
  expect(verdict).toBe("Withdrawn since: do not rely on it");
  expect(text).toContain("The signature is good: the answer was given on that day, and was withdrawn later.");
  expect(text).toContain("WITHDRAWN_SINCE");
  expect(await findAxeViolations(tab.page)).toEqual([]);
  await tab.page.close();
});

test("the envelope page offline decides nothing if its status list is eight days old, and names the remedy", async () => {
  await visit();
  await cutNetwork();
  const tab = await browser.open();
  await tab.page.clock.setFixedTime(new Date(Date.now() + 8 * 86_400_000));
  await tab.page.goto(`${site.url}${verifyPagePath}`);
  const { verdict, text } = await verifyText(tab.page, envelope);
  expect(verdict).toBe("Cannot be decided: whether it still holds is not known");
  expect(text).toContain("Open this page with a network, and try again.");
  expect(text).toContain("STATUS_LIST_STALE");
  await tab.page.close();
});

test("the envelope page online uses the service's newest status list, not the stored status list", async () => {
  await visit();
  const { page } = await openPage();
  const packOf = async () => (await fetch(`${site.url}/v1/inter-agency/offline-pack`)).text();
  const before = await packOf();
  await revoke();
  expect(await eventually(async () => (await packOf()) !== before)).toBe(true);
  await page.reload();
  const { verdict, text } = await verifyText(page, envelope);
  expect([verdict, text]).toEqual([
    "Withdrawn since: do not rely on it",
    expect.stringContaining("WITHDRAWN_SINCE"),
  ]);
  await page.close();
});

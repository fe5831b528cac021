/** Opens the envelope page of a running service in a real browser. */

import { afterAll, beforeAll, setDefaultTimeout } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { audience, folder, issuer, now } from "../fixtures/envelope-tokens.ts";
import { type Browser, browserTestTimeoutMs, startBrowser, type Tab } from "./browser.ts";
import { openSite, type TestSite } from "./site.ts";

export const validRegNo = "TR/2019/LA/000001";

export const verifyPagePath = "/verify-envelope";

export let site: TestSite;

export let browser: Browser;

/** A browser whose clock shows the time of the fixtures. Playwright can set the clock of a whole profile only. */
export let earlier: Browser;

export let envelope: string;

/** Opens the site and the browsers before the tests of a file, and closes them after. */
export function useEnvelopePage(options: Parameters<typeof openSite>[0] = {}): void {
  setDefaultTimeout(browserTestTimeoutMs);

  beforeAll(async () => {
    site = await openSite(options);
    browser = await startBrowser({ viewport: { width: 1100, height: 900 } });
    earlier = await startBrowser({ viewport: { width: 1100, height: 900 } });
    await earlier.context.clock.setFixedTime(new Date(now));
    envelope = await fetchEnvelope(validRegNo);
  }, browserTestTimeoutMs);

  afterAll(async () => {
    await browser.close();
    await earlier.close();
    await site.close();
  }, browserTestTimeoutMs);
}

export async function fetchEnvelope(regNo: string, { url, demo }: TestSite = site): Promise<string> {
  const address = `${url}/v1/inter-agency/lookup/by-reg-no/${encodeURIComponent(regNo)}`;
  const headers = { Authorization: `Bearer ${demo.apiKey}` };
  return (await fetch(address, { headers })).text();
}

/** Opens the page, and waits until its files are stored on the device. */
export async function openPage(): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(`${site.url}${verifyPagePath}`);
  await tab.page.waitForSelector("#tool:not([hidden])");
  await tab.page.waitForSelector("#kept:not(:empty)", { state: "attached" });
  return tab;
}

/** Opens the page of a service whose evidence log has a key. */
export async function openPageWithLogKey(log: { readonly key: string }): Promise<Tab> {
  const tab = await openPage();
  await tab.page.route("**/v1/inter-agency/log/key", (route) => route.fulfill({ body: log.key }));
  return tab;
}

export async function runInTab<T>(tab: Promise<Tab>, run: (tab: Tab) => Promise<T>): Promise<T> {
  const opened = await tab;
  try {
    return await run(opened);
  } finally {
    await opened.page.close();
  }
}

/** Returns the text of the elements as the browser shows it, line by line. */
export async function shownTextOf(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).allInnerTexts()).join("\n");
}

export async function outcomeOf(page: Page): Promise<{ verdict: string; text: string }> {
  await page.waitForSelector("#outcome .verdict");
  // The verdict on all envelopes comes first. The verdicts on each one follow in folded sections.
  const verdict = await shownTextOf(
    page,
    "#outcome > :first-child > .verdict:first-child h2, #outcome > .verdict h2",
  );
  return { verdict: verdict.replace(/^\S\s*/, ""), text: await shownTextOf(page, "#outcome") };
}

export function tonesIn(page: Page, selector: string): Promise<string[]> {
  return page
    .locator(`${selector} .verdict`)
    .evaluateAll((all) => all.map((one) => one.className.replace(/^verdict /, "")));
}

/** Waits until the outcome contains these words, because the page may still show the outcome of an earlier check. */
export function waitForOutcome(page: Page, words: string): Promise<void> {
  return page.locator("#outcome", { hasText: words }).waitFor();
}

/** Returns the requested URLs without the icon's, which a browser fetches at any time. */
export function withoutIconRequests(requested: readonly string[]): string[] {
  return requested.filter((address) => !address.endsWith("/icon.svg"));
}

/** Returns from a result to the form, unless the form is visible. */
export async function reopenForm(page: Page): Promise<void> {
  if (!(await page.isVisible("#entry"))) await page.click("#change");
}

/** Opens the folded part of the form, which has the issuer, partner, proof and keys. */
export async function openSettings(page: Page): Promise<void> {
  await page.evaluate("document.querySelector('#settings').open = true");
}

/** Presses the form's button. */
export async function submitForm(page: Page): Promise<void> {
  await reopenForm(page);
  await page.click("#envelope-form > button");
}

export async function verifyText(page: Page, text: string): Promise<{ verdict: string; text: string }> {
  await reopenForm(page);
  await page.fill("#envelope", text);
  await page.evaluate("document.querySelector('#outcome').replaceChildren()");
  await submitForm(page);
  return outcomeOf(page);
}

export async function listChecksMarked(page: Page, word: string): Promise<string[]> {
  // The lines may be folded. The `innerText` of a folded line is empty.
  const lines = await page.locator(".checks li").allTextContents();
  return lines.filter((line) => line.startsWith(word)).map((line) => line.slice(word.length).trim());
}

export async function makeAttestation(page: Page, text: string): Promise<void> {
  await verifyText(page, text);
  await page.click("text=Make an attestation to print");
  await page.waitForSelector("#certificate img");
}

export async function readFixture(name: string): Promise<string> {
  return readFile(join(folder, "inputs", name), "utf8");
}

/** Opens the page in the browser with the fixtures' time, and pastes the fixtures' keys. */
export async function openWithPastedKeys(): Promise<Tab> {
  const tab = await earlier.open();
  await tab.page.goto(`${site.url}${verifyPagePath}?keys=pasted`);
  await tab.page.waitForSelector("#tool:not([hidden])");
  await tab.page.fill("#jwks", await readFile(join(folder, "keys/jwks.json"), "utf8"));
  await tab.page.fill("#key-history", await readFile(join(folder, "keys/history.jose"), "utf8"));
  await openSettings(tab.page);
  await tab.page.fill("#issuer", issuer);
  await tab.page.fill("#audience", audience);
  return tab;
}

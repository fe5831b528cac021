/** The envelope page in a real browser, with the service behind it. */

import { afterAll, beforeAll, setDefaultTimeout } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { audience, folder, issuer, now } from "../fixtures/envelope-tokens.ts";
import { type Browser, patienceMs, startBrowser, type Tab } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

export const known = "TR/2019/LA/000001";

export const path = "/verify-envelope";

export let site: Site;

export let browser: Browser;

/** A browser whose clock shows the fixtures' time; Playwright sets the clock of a whole profile. */
export let earlier: Browser;

export let envelope: string;

/**
 * Opens the site and the browsers before the tests of a file, and closes them after.
 * @param options of the service, which needs no status lists for a browser in another year
 */
export function useEnvelopePage(options: Parameters<typeof openSite>[0] = {}): void {
  setDefaultTimeout(patienceMs);

  beforeAll(async () => {
    site = await openSite(options);
    browser = await startBrowser({ viewport: { width: 1100, height: 900 } });
    earlier = await startBrowser({ viewport: { width: 1100, height: 900 } });
    await earlier.context.clock.setFixedTime(new Date(now));
    envelope = await askAbout(known);
  }, patienceMs);

  afterAll(async () => {
    await browser.close();
    await earlier.close();
    await site.close();
  }, patienceMs);
}

export async function askAbout(regNo: string, { url, demo }: Site = site): Promise<string> {
  const address = `${url}/v1/inter-agency/lookup/by-reg-no/${encodeURIComponent(regNo)}`;
  const headers = { Authorization: `Bearer ${demo.apiKey}` };
  return (await fetch(address, { headers })).text();
}

/** Opens the page, and waits until its files are stored on the device. */
export async function openPage(query = ""): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(`${site.url}${path}${query}`);
  await tab.page.waitForSelector("#tool:not([hidden])");
  if (!query.includes("pasted")) await tab.page.waitForSelector("#kept:not(:empty)", { state: "attached" });
  return tab;
}

/** Opens the page of a service whose evidence log has a key. */
export async function openProving(log: { readonly key: string }): Promise<Tab> {
  const tab = await openPage();
  await tab.page.route("**/v1/inter-agency/log/key", (route) => route.fulfill({ body: log.key }));
  return tab;
}

export async function within<T>(tab: Promise<Tab>, run: (tab: Tab) => Promise<T>): Promise<T> {
  const opened = await tab;
  try {
    return await run(opened);
  } finally {
    await opened.page.close();
  }
}

/** The text as it is shown, line by line. */
export async function shownIn(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).allInnerTexts()).join("\n");
}

export async function outcomeOf(page: Page): Promise<{ verdict: string; text: string }> {
  await page.waitForSelector("#outcome .verdict");
  // The verdict on all envelopes comes first. The verdicts on each one follow in folded sections.
  const verdict = await shownIn(
    page,
    "#outcome > :first-child > .verdict:first-child h2, #outcome > .verdict h2",
  );
  return { verdict: verdict.replace(/^\S\s*/, ""), text: await shownIn(page, "#outcome") };
}

export function tonesIn(page: Page, selector: string): Promise<string[]> {
  return page
    .locator(`${selector} .verdict`)
    .evaluateAll((all) => all.map((one) => one.className.replace(/^verdict /, "")));
}

/** Waits until the outcome contains these words, because that of an earlier check may still be shown. */
export function untilOutcomeSays(page: Page, words: string): Promise<void> {
  return page.locator("#outcome", { hasText: words }).waitFor();
}

/** The requested addresses without the icon, which a browser fetches at any time. */
export function sent(requested: readonly string[]): string[] {
  return requested.filter((address) => !address.endsWith("/icon.svg"));
}

/** Returns from a result to the form, unless the form is visible. */
export async function reopen(page: Page): Promise<void> {
  if (!(await page.isVisible("#entry"))) await page.click("#change");
}

/** Opens the folded part of the form: issuer, partner, proof and keys. */
export async function openSettings(page: Page): Promise<void> {
  await page.evaluate("document.querySelector('#settings').open = true");
}

/** Presses the form's button. */
export async function submit(page: Page): Promise<void> {
  await reopen(page);
  await page.click("#envelope-form > button");
}

export async function verify(page: Page, text: string): Promise<{ verdict: string; text: string }> {
  await reopen(page);
  await page.fill("#envelope", text);
  await page.evaluate("document.querySelector('#outcome').replaceChildren()");
  await submit(page);
  return outcomeOf(page);
}

export async function checksOf(page: Page, word: string): Promise<string[]> {
  // The lines may be folded, and then `innerText` is empty.
  const lines = await page.locator(".checks li").allTextContents();
  return lines.filter((line) => line.startsWith(word)).map((line) => line.slice(word.length).trim());
}

export async function certificateFor(page: Page, text: string): Promise<void> {
  await verify(page, text);
  await page.click("text=Make an attestation to print");
  await page.waitForSelector("#certificate img");
}

export async function fixture(name: string): Promise<string> {
  return readFile(join(folder, "inputs", name), "utf8");
}

/** Opens the page at the fixtures' time, with the fixtures' keys pasted. */
export async function openPasted(sources: { jwks?: string; history?: string } = {}): Promise<Tab> {
  const { jwks = "jwks.json", history = "history.jose" } = sources;
  const tab = await earlier.open();
  await tab.page.goto(`${site.url}${path}?keys=pasted`);
  await tab.page.waitForSelector("#tool:not([hidden])");
  if (jwks !== "") await tab.page.fill("#jwks", await readFile(join(folder, "keys", jwks), "utf8"));
  if (history !== "") {
    await tab.page.fill("#key-history", await readFile(join(folder, "keys", history), "utf8"));
  }
  await openSettings(tab.page);
  await tab.page.fill("#issuer", issuer);
  await tab.page.fill("#audience", audience);
  return tab;
}

/** The age of an answer on the envelope page, tested with a browser clock that the tests set. */

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessiblePage } from "./browser.ts";
import {
  earlier,
  envelope,
  runInTab,
  shownTextOf,
  site,
  tonesIn,
  useEnvelopePage,
  verifyPagePath,
  verifyText,
} from "./envelope-page.ts";

useEnvelopePage({ statusList: false });

const dayMs = 86_400_000;

/** Opens the page in a browser whose clock shows `time`. */
async function openAt(time: Date) {
  await earlier.context.clock.setFixedTime(time);
  const tab = await earlier.open();
  await tab.page.goto(site.url + verifyPagePath);
  await tab.page.waitForSelector("#tool:not([hidden])");
  return tab;
}

const daysLater = (days: number) => new Date(Date.now() + days * dayMs);
const after = new Date("2092-03-02T12:00:00Z");

async function linkIn(page: Page): Promise<[string | null, string | null]> {
  const link = page.locator("#outcome .since a");
  return [await link.getAttribute("href"), await link.getAttribute("rel")];
}

test("the envelope page shows that a positive answer is 45 days old, and links to today's answer", () =>
  runInTab(openAt(daysLater(45)), async ({ page }) => {
    await verifyText(page, envelope);
    expect(await shownTextOf(page, ".since")).toContain(
      "This answer is 45 days old, and says nothing about today.",
    );
    expect(await linkIn(page)).toEqual([`${site.url}/?tId=1001`, "noreferrer noopener"]);
    // The link opens a new page. In the same page, the result would be lost.
    const [look] = await Promise.all([earlier.context.waitForEvent("page"), page.click("#outcome .since a")]);
    expect(await look.locator("h1").innerText()).toContain("Licensed");
    expect(await shownTextOf(page, "#outcome")).toContain("Signature: genuine");
    await look.close();
  }));

test("the envelope page does not show an answer green if the licence has ended since, and names the day of the end", () =>
  runInTab(openAt(after), async ({ page, complaints }) => {
    const { text } = await verifyText(page, envelope);
    expect(text).toMatch(/Licensed on \d+ \w+ 20\d\d/);
    expect(await shownTextOf(page, ".since")).toContain(
      "The licence it speaks of ended on 29 February 2092.",
    );
    expect(await tonesIn(page, "#outcome")).toEqual(["none", "none"]);
    expect(await page.locator("#outcome .verdict.good").count()).toBe(0);
    await expectAccessiblePage(page);
    expect(complaints).toEqual([]);
  }));

test("the envelope page does not accept an answer from the future, but does not call the answer a forgery", () =>
  runInTab(openAt(daysLater(-3)), async ({ page }) => {
    const { verdict, text } = await verifyText(page, envelope);
    expect(verdict).toBe("Not accepted: it is from the future");
    expect(text).toContain("is this machine's clock right?");
    expect(text).not.toContain("Not genuine");
  }));

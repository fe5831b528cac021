/** The envelope page: a statement over a whole list, and the sheet for the wall. */

import { beforeAll, expect, test } from "bun:test";
import { axeFindings, expectSound } from "./browser.ts";
import { known, openPage, shownIn, site, tonesIn, useEnvelopePage, verify, within } from "./envelope-page.ts";

useEnvelopePage();

let statement: string;

beforeAll(async () => {
  const response = await fetch(`${site.url}/v1/inter-agency/rosters`, {
    method: "POST",
    headers: { Authorization: `Bearer ${site.demo.apiKey}` },
    body: JSON.stringify({
      purpose: "SCHOOL_EMPLOYMENT_VERIFICATION",
      list: { name: "Government College, Ikorodu", reference: "CENTRE-4711" },
      teachers: [
        { regNo: known, name: "Okafor A." },
        { regNo: known, name: "Somebody Else" },
        { tId: 999_999 },
      ],
    }),
  });
  statement = await response.text();
});

test("the page shows how many people of a statement are eligible, and each row", () =>
  within(openPage(), async ({ page, complaints }) => {
    const { verdict, text } = await verify(page, statement);
    expect(verdict).toContain("Signature: genuine");
    expect(text).toMatch(/Statement on .*: 1 of 2 different people eligible \(50 %\)/);
    expect(text).toContain("Of the 3 named by the list, 2 different people.");
    expect(text).toContain("1 row has another name than the registered one.");
    // Neither is green where the answer is not a whole yes.
    expect(await tonesIn(page, "#outcome")).toEqual(["none", "none"]);
    expect(await page.locator("#outcome tbody tr").count()).toBe(3);
    await expectSound(page);
    expect(complaints).toEqual([]);
  }));

test("the sheet for the wall names the eligible teachers and nobody else", () =>
  within(openPage(), async ({ page }) => {
    await verify(page, statement);
    await page.click("text=Make a sheet for the wall");
    const sheet = await shownIn(page, "#certificate");
    expect(sheet).toContain("Licensed teachers: Government College, Ikorodu");
    expect(sheet).toContain("1 of 2 different people eligible (50 %)");
    expect(sheet.split(known)).toHaveLength(2);
    expect(sheet).not.toContain("999999");
    expect(sheet).toContain("Alone it proves nothing");
    expect(await axeFindings(page)).toEqual([]);
    await page.click("text=Back to the result");
    await page.waitForSelector("#outcome tbody tr");
  }));

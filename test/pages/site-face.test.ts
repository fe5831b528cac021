/** The pages of a site with a name and a logo, in a browser. */

import { beforeAll, expect, test } from "bun:test";
import { manualTopics } from "../../src/manual.ts";
import { expectAccessiblePage, useSharedSite } from "./browser.ts";

/** A grey PNG picture of three pixels, in base64. */
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAMAAAABCAAAAAA+i0toAAAADElEQVR4AWPcz8AAAAJFAME+N3wNAAAAAElFTkSuQmCC";
const paths = [
  "/",
  "/?regNo=TR/2019/LA/000007",
  "/?regNo=TR/2019/LA/000021",
  "/nowhere/at/all",
  "/verify-envelope",
  "/v1/inter-agency/help/",
  ...manualTopics.map(({ name }) => `/v1/inter-agency/help/${name}`),
];

const { site, browser } = useSharedSite();
beforeAll(async () => {
  const council = {
    name: "Teachers Registration Council of the Federal Republic and its Territories",
    logo: { type: "image/png" as const, data: picture },
    accent: "#7a1f3d",
    contact: {
      email: "records-corrections-and-questions-of-all-kinds@teachers-council.example",
      phone: "+234 9 000 0000",
      url: "https://teachers-council.example/",
      address: "Plot 12, Council Road, Abuja",
    },
    privacyUrl: "https://teachers-council.example/privacy",
    accessibilityUrl: "https://teachers-council.example/accessibility",
    reportUrl: "https://teachers-council.example/report",
  };
  await site.operator.stores.settings.write({ site: JSON.stringify(council) });
  await site.service.configuration.refresh();
});

test.each(paths)(
  "the page %s of a site with a name and a logo fits a phone, and axe finds no fault",
  async (path) => {
    const { page, complaints, requested } = await browser.open();
    await page.goto(`${site.url}${path}`);
    await expectAccessiblePage(page);
    const head = page.locator("header");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await head.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(
        "rgb(122, 31, 61)",
      );
    }
    const logo = page.locator("header img");
    expect(await logo.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
    expect(complaints).toHaveLength(path.startsWith("/nowhere") ? 1 : 0);
    expect(requested.filter((address) => !address.startsWith(site.url))).toEqual([]);
    await page.close();
  },
);

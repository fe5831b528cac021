/** The envelope page: codes of a certificate that are links, as a phone's camera opens them one at a time. */

import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { readCode, splitIntoCodes, splitProofIntoCodes } from "../../src/partner/envelope-codes.ts";
import { axeFindings, expectSound, inBrowser, type Tab } from "./browser.ts";
import {
  askAbout,
  browser,
  envelope,
  openPage,
  openProving,
  outcomeOf,
  path,
  shownIn,
  site,
  untilOutcomeSays,
  useEnvelopePage,
  within,
} from "./envelope-page.ts";
import { makeLog } from "./evidence-log.ts";

useEnvelopePage();

let links: string[];

beforeAll(async () => {
  links = await splitIntoCodes(JSON.parse(envelope).signature, `${site.url}${path}`);
});

/** A tab of its own, as every scan makes one. */
async function scan(link = ""): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(link);
  await tab.page.waitForSelector("#tool:not([hidden])");
  return tab;
}

function kept(page: Page): Promise<string | null> {
  return page.evaluate("localStorage.getItem('tvs.codes')");
}

/** What a service could see of a code: nothing. */
function expectNothingSent({ requested, complaints }: Tab): void {
  expect(requested.filter((address) => /TV[SP]1/.test(address))).toEqual([]);
  expect(complaints).toEqual([]);
}

describe("codes that are scanned", () => {
  test("are gathered over several tabs, judged when the last one is here, and then forgotten", async () => {
    expect(links).toHaveLength(2);
    await within(scan(links[1]), async (tab) => {
      const { page } = tab;
      await untilOutcomeSays(page, "1 of 2 codes read");
      expect(await shownIn(page, "#outcome")).toContain(
        "Scan the one that is missing with your camera: code 1.",
      );
      expect(await page.title()).toStartWith("1 of 2 codes read – ");
      expect(page.url()).toBe(`${site.url}${path}`);
      expect(await kept(page)).toContain(readCode(links[1] ?? "")?.line ?? "-");
      expect(await page.isVisible("#files")).toBe(true);
      expectNothingSent(tab);
    });
    await within(scan(links[0]), async (tab) => {
      const { page } = tab;
      const { verdict, text } = await outcomeOf(page);
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("Adaeze Okafor");
      expect(await kept(page)).toBeNull();
      expect(await page.evaluate("history.length")).toBeLessThanOrEqual(2);
      expectNothingSent(tab);
    });
  });

  test("may come to a page that is open already", () =>
    within(scan(links[0]), async ({ page }) => {
      await untilOutcomeSays(page, "1 of 2 codes read");
      await page.evaluate(`location.hash = ${JSON.stringify(links[1]?.split("#")[1])}`);
      expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
      expect(await page.title()).toMatch(/^Signature: genuine; Licensed on \d+ \w+ \d{4} – /);
    }));

  test("may be written in another way by the program that read them", () =>
    within(scan(links[0]?.replace("TVS1:1/2:", "TVS1%3A1%2F2%3A")), async ({ page }) => {
      await untilOutcomeSays(page, "1 of 2 codes read");
      await page.click("text=Forget these codes");
      await untilOutcomeSays(page, "Nothing of the codes is kept on this device any more.");
      expect(await kept(page)).toBeNull();
    }));

  test("are forgotten when the last one does not come", () =>
    // Playwright's clock is that of a whole profile.
    inBrowser({}, async ({ page }) => {
      await page.clock.install();
      await page.goto(links[0] ?? "");
      await untilOutcomeSays(page, "1 of 2 codes read");
      await page.clock.runFor(15 * 60_000 + 2000);
      await untilOutcomeSays(page, "The last code did not come within 15 minutes");
      expect(await kept(page)).toBeNull();
    }));

  test("of another attestation begin anew", async () => {
    const other = await splitIntoCodes(JSON.parse(await askAbout("TR/2019/LA/000003")).signature);
    await within(scan(links[0]), ({ page }) => untilOutcomeSays(page, "1 of 2 codes read"));
    await within(scan(`${site.url}${path}#${other[1]}`), async ({ page }) => {
      await untilOutcomeSays(page, "1 of 2 codes read");
      await page.evaluate(`location.hash = ${JSON.stringify(other[0])}`);
      await untilOutcomeSays(page, "Licence already revoked on");
    });
  });

  test("of a proof are waited for, unless the reader wants to go on without it", async () => {
    const log = await makeLog(`${new URL(site.url).host}/log`);
    const proof = await log.proveDeep(JSON.parse(envelope).signature, new Date(), 24);
    const proofs = await splitProofIntoCodes(proof, `${site.url}${path}`);
    const fragments = [...proofs, ...links].map((link) => link.split("#")[1] ?? "");
    const scanAll = async (page: Page, codes: readonly string[]) => {
      for (const code of codes) {
        await page.evaluate(`location.hash = ${JSON.stringify(code)}`);
        await page.waitForFunction("location.hash === ''");
        await page.locator("#outcome h2").first().waitFor();
      }
    };
    await within(openProving(log), async ({ page }) => {
      await scanAll(page, fragments.slice(1));
      await untilOutcomeSays(page, `Proof: ${proofs.length - 1} of ${proofs.length} codes read`);
      expect(await axeFindings(page)).toEqual([]);
      await page.click("text=Check without the proof");
      await untilOutcomeSays(page, "Signature: genuine");
      expect(await kept(page)).toBeNull();
      await page.click("#again");
      await scanAll(page, fragments);
      await untilOutcomeSays(page, "Evidence log: recorded by");
      expect(await kept(page)).toBeNull();
    });
  });

  test("fit every screen, and axe finds nothing", () =>
    within(scan(links[0]), async ({ page }) => {
      await untilOutcomeSays(page, "1 of 2 codes read");
      await expectSound(page);
      await page.click("text=Forget these codes");
    }));
});

describe("a link that anybody could have made", () => {
  test.each([
    ["markup", 'TVS1:1/1:abcdefgh:<img src=x onerror="document.title=1">'],
    ["encoded markup", "TVS1:1/1:abcdefgh:%3Cscript%3E"],
    ["half an escape", "TVS1:1/2:abcdefgh:%E0%A4%A"],
    ["a number above its total", "TVS1:3/2:abcdefgh:abc"],
    ["more than a code holds", `TVS1:1/2:abcdefgh:${"A".repeat(100_000)}`],
    ["a part that is not what its tag says", "TVS1:1/1:abcdefgh:eyJhbGciOiJub25lIn0.e30."],
  ])("with %s is told of in plain words, and leaves nothing behind", (_, fragment) =>
    within(scan(`${site.url}${path}#${fragment}`), async (tab) => {
      const { page } = tab;
      expect((await outcomeOf(page)).verdict).toBe("Cannot be decided");
      expect(await kept(page)).toBeNull();
      expect(await page.locator("#outcome img, #outcome script").count()).toBe(0);
      expectNothingSent(tab);
    }),
  );

  test("what lies on the device and is not what this page wrote, or too old, is left aside", () =>
    within(openPage(), async ({ page, complaints }) => {
      const line = "TVS1:2/2:abcdefgh:abc";
      for (const text of [
        "{",
        '{"__proto__":[1,2]}',
        JSON.stringify([Date.now() + 60_000, [null, "<b>", { a: 1 }, "TVS1:1/2"]]),
        JSON.stringify([Date.now() - 1, [line]]),
        JSON.stringify([Date.now() + 1e12, [line]]),
        JSON.stringify([Date.now() + 60_000, Array(500).fill(line)]),
      ]) {
        await page.evaluate(`localStorage.setItem('tvs.codes', ${JSON.stringify(text)})`);
        await page.reload();
        await page.waitForSelector("#tool:not([hidden])");
        expect(await kept(page)).toBeNull();
        await page.evaluate("location.hash = 'TVS1:1/2:abcdefgh:abc'");
        await untilOutcomeSays(page, "1 of 2 codes read");
        await page.click("text=Forget these codes");
      }
      expect(complaints).toEqual([]);
    }));

  test("is nobody's business but the browser's when it is of another kind", () =>
    within(scan(`${site.url}${path}#main`), async ({ page }) => {
      expect(page.url()).toEndWith("#main");
      expect(await page.locator("#outcome > *").count()).toBe(0);
    }));
});

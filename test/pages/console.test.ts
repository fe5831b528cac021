import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { openTestConsole, type TestConsole } from "../harness/console.ts";
import { attest } from "../harness/evidence.ts";
import { anAttestation } from "../harness/samples.ts";
import { addPartner } from "../harness/service.ts";
import type { Browser, Tab } from "./browser.ts";
import { browserTestTimeoutMs, expectAccessiblePage, runInBrowser, startBrowser } from "./browser.ts";

setDefaultTimeout(browserTestTimeoutMs);

let world: TestConsole;
let browser: Browser;
beforeAll(async () => {
  [world, browser] = await Promise.all([openTestConsole(), startBrowser()]);
  const { operator } = world;
  for (const partnerId of ["exam-body-a", "ministry-of-education", longPartner]) {
    await addPartner(operator, partnerId);
    await operator.stores.webhooks.set({
      partnerId,
      url: `https://${"hooks.".repeat(8)}example/`,
      secret: new Uint8Array(8),
      at: 1,
    });
  }
  const failing =
    "UPDATE webhook_endpoints SET failing_since = ?, last_error = 'TIMEOUT' WHERE partner_id = ?";
  await operator.driver.batch([{ sql: failing, args: [operator.clock.now() - 1, "ministry-of-education"] }]);
  await fillWithLongValues(world);
  await world.service.configuration.refresh();
});
afterAll(() => Promise.all([browser.close(), world.close()]));

const longPartner = "directorate-of-examinations-and-records.federal-ministry-2026-01";

/** Fills each list of the console with values that are about as long as the register allows. */
async function fillWithLongValues({ operator, load }: TestConsole): Promise<void> {
  const number = "TR/LAGOS-MAINLAND/2019/00001234567";
  const name = "Oluwatobiloba Chukwuemeka-Adebayo Nnamdi-Okonkwo Wuraola";
  await load(
    `register-of-teachers-${"of-all-states-".repeat(6)}.csv`,
    `reg_no,t_id,name,state,category,source,certificate_status,license_issue_date,license_expiry_date\n${number},1,${name},Federal Capital Territory,Senior Secondary Education,new_system,VERIFIED,2019-03-01,2030-12-31\n`,
    false,
  );
  const long = {
    partnerId: longPartner,
    reference: `regNo:${number}`,
    purpose: "BODYB_EXAMINER_CREDENTIAL_CHECK",
    operation: "eligibility-check",
    credential: "ab".repeat(32),
    requestId: "019cba7f-3c9a-7000-8000-000000000001",
  } as const;
  await attest(operator.driver, [anAttestation(1, long)]);
}

const inSession = /^http:\/\/127\.0\.0\.1:\d+\/s\/[\w-]{22}\/$/;
const isLive = (tab: Tab) => tab.page.waitForSelector("#freshness.is-live");
const phone = { viewport: { width: 390, height: 844 } };
const desktop = { viewport: { width: 1440, height: 900 } };

test("the console opens by its link and draws its charts, and axe finds no fault", () =>
  runInBrowser(desktop, async (tab) => {
    await tab.page.goto(await world.newLink());
    const origin = `http://127.0.0.1:${world.port}/`;
    expect(tab.page.url()).toMatch(inSession);
    await isLive(tab);
    expect(await tab.page.locator(".plot svg").count()).toBe(6);
    const figures = "getComputedStyle(document.querySelector('.figures dd')).fontVariantNumeric";
    expect(await tab.page.evaluate(figures)).toBe("tabular-nums");
    await expectAccessiblePage(tab.page, [390, 1280]);
    expect(tab.complaints).toEqual([]);
    expect(tab.requested.filter((address) => !address.startsWith(origin))).toEqual([]);
  }));

test("the console's lists cut off no long value, and axe finds no fault", () =>
  runInBrowser(desktop, async ({ page, complaints }) => {
    await page.goto(await world.newLink());
    const cut =
      "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length";
    const home = page.url();
    const lists = ["", "teachers", "attestations", "deliveries", "imports", "changes"];
    for (const place of [...lists, "teacher?ref=1", "import?id=1", `partner?id=${longPartner}`]) {
      expect((await page.goto(`${home}${place}`))?.status()).toBe(200);
      await expectAccessiblePage(page, [390, 1280]);
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        expect({ place, width, cut: await page.evaluate(cut) }).toEqual({ place, width, cut: 0 });
      }
    }
    await page.getByRole("link", { name: "Teachers" }).click();
    await page.getByRole("searchbox").fill("nobody");
    await page.keyboard.press("Enter");
    await page.getByText("No teacher matches.").waitFor();
    expect(page.url()).toMatch(/\/s\/[\w-]{22}\/teachers$/);
    expect(complaints).toEqual([]);
  }));

test("the console in a browser shows a change of the service within seconds, without a reload", () =>
  runInBrowser(desktop, async (tab) => {
    await tab.page.goto(await world.newLink());
    await isLive(tab);
    await addPartner(world.operator, "newcomer");
    await tab.page.locator('[data-section="quotas"]', { hasText: "newcomer" }).waitFor();
  }));

test("the console in a browser copies its commands, by keyboard too", async () => {
  await runInBrowser(desktop, async (tab, { context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await tab.page.goto(await world.newLink());
    const button = tab.page.locator('[data-section="webhooks"] .copy').first();
    await button.focus();
    await tab.page.keyboard.press("Enter");
    await tab.page.getByText("Copied").waitFor();
    const command = `tvs webhooks list --data ${world.folder}`;
    expect(await tab.page.evaluate("navigator.clipboard.readText()")).toBe(command);
  });
});

test("the console in a browser works without JavaScript", async () => {
  await runInBrowser({ ...phone, javaScriptEnabled: false }, async ({ page }) => {
    await page.goto(await world.newLink());
    for (const text of ["Webhooks", "Quotas", "Signing keys", "ministry-of-education", "failing for"]) {
      expect(await page.getByText(text).count()).toBeGreaterThan(0);
    }
    expect(await page.locator(".plot svg").count()).toBe(6);
    await page.getByRole("link", { name: "Refresh" }).click();
    expect(await page.locator("h1").textContent()).toBe("tvs console");
  });
});

test("the console in a browser says that the session has ended, and names the command that opens another session", async () => {
  const own = await openTestConsole();
  try {
    await runInBrowser(desktop, async (tab) => {
      await tab.page.goto(await own.newLink());
      await isLive(tab);
      own.forward(13 * 3_600_000);
      await tab.page.waitForSelector("#freshness.is-lost");
      const shown = await tab.page.locator("#freshness").textContent();
      expect(shown).toBe(`this session has ended; tvs console --data ${own.folder} prints a new link`);
    });
  } finally {
    await own.close();
  }
});

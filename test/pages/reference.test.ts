import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { axeFindings, type Browser, overflowPx, patienceMs, startBrowser } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

const docs = "/v1/inter-agency/docs";

let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), startBrowser({ viewport: { width: 1280, height: 900 } })]);
});
afterAll(() => Promise.all([browser.close(), site.close()]));

async function openReference(origin = site.url) {
  const tab = await browser.open();
  await tab.page.goto(origin + docs);
  await tab.page.locator(".opblock").first().waitFor();
  return tab;
}

type Reply = { status: string; body: string };

/** Presses "Execute" with what is filled in, and reads the answer as it is shown. */
async function tryOut(
  { page }: Awaited<ReturnType<typeof openReference>>,
  operation: string,
): Promise<Reply> {
  const block = page.locator(`[id$="-${operation}"].opblock`);
  await block.locator(".opblock-summary-control").click();
  await block.getByRole("button", { name: "Execute" }).click();
  const answer = block.locator(".live-responses-table");
  await answer.locator(".response-col_status").last().waitFor();
  const textOf = async (selector: string) => (await answer.locator(selector).first().textContent()) ?? "";
  return { status: (await textOf("tbody .response-col_status")).trim(), body: await textOf("tbody") };
}

describe("the API reference of a sandbox", () => {
  test("says what it is, offers its key on the same machine, and loads nothing from elsewhere", async () => {
    const tab = await openReference();
    const notice = await tab.page.locator("header.place").textContent();
    expect(notice).toContain("This is a sandbox");
    expect(notice).toContain(site.demo.apiKey);
    expect(tab.complaints).toEqual([]);
    for (const address of tab.requested) expect(address).toStartWith(site.url);
    await tab.page.close();
  });

  test.each([
    "verifyLicense",
    "checkEligibility",
    "lookUpByRegNo",
    "lookUpByTId",
    "lookUpByNin",
    "checkBatch",
  ])("%s can be tried as it stands, and finds a teacher", async (operation) => {
    const tab = await openReference();
    const { status, body } = await tryOut(tab, operation);
    expect(status).toStartWith("200");
    expect(body).toContain("Adaeze Okafor");
    expect(tab.complaints).toEqual([]);
    await tab.page.close();
  });

  test("calls where it came from, whatever address the document names", async () => {
    const tab = await openReference(site.url.replace("127.0.0.1", "localhost"));
    expect((await tryOut(tab, "lookUpByTId")).status).toStartWith("200");
    expect(tab.complaints).toEqual([]);
    await tab.page.close();
  });

  test("fits a phone", async () => {
    const tab = await openReference();
    await tab.page.setViewportSize({ width: 375, height: 812 });
    expect(await overflowPx(tab.page)).toBe(0);
    await tab.page.close();
  });

  test("says so when the document cannot be loaded", async () => {
    const tab = await browser.open();
    await tab.page.route("**/openapi.json", (route) => route.fulfill({ status: 503, body: "" }));
    await tab.page.goto(site.url + docs);
    await tab.page.getByText("The reference could not be loaded.").waitFor();
    await tab.page.close();
  });

  /** What axe finds in the renderer's own markup, which is not ours to change. */
  const renderers = ["color-contrast", "heading-order", "nested-interactive", "region"];

  test("has nothing of ours that axe finds", async () => {
    const tab = await openReference();
    const findings = await axeFindings(tab.page);
    expect(findings.filter(({ rule }) => !renderers.includes(rule))).toEqual([]);
    const notice = findings.flatMap(({ targets }) => targets).filter((target) => target.includes("header"));
    expect(notice).toEqual([]);
    await tab.page.close();
  });
});

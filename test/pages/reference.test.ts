import { expect, test } from "bun:test";
import { expectAccessiblePage, type Tab, useSharedSite } from "./browser.ts";

const docs = "/v1/inter-agency/docs";

const { site, browser } = useSharedSite({ viewport: { width: 1280, height: 900 } });

/** Opens the API reference, and waits until Scalar has read the OpenAPI document. */
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

/** Opens the dialogue that calls an operation, sends the example unchanged, and reads the status and the body. */
async function tryOut({ page }: Tab, operation: string): Promise<{ status: string; body: string }> {
  await page.locator("button", { hasText: `(${operation})` }).click();
  await page.locator("[data-addressbar-action=send]").filter({ visible: true }).click();
  const status = page.getByText(/^\d{3} [A-Z][A-Za-z ]+$/).filter({ visible: true });
  await status.waitFor();
  const body = page.getByRole("dialog").locator(".cm-content").last();
  await body.waitFor();
  return { status: (await status.innerText()).trim(), body: (await body.textContent()) ?? "" };
}

test.each([
  ["#tag/public-lookup/GET/teacher/verify-license", "get /teacher/verify-license", "Adaeze Okafor"],
  ["#tag/keys-and-health/GET/v1/inter-agency/health", "get /v1/inter-agency/health", '"ok"'],
  [
    "#tag/verification/POST/v1/inter-agency/eligibility-check",
    "post /v1/inter-agency/eligibility-check",
    "Adaeze Okafor",
  ],
])(
  "the API reference in a sandbox at %s sends its example unchanged and shows the answer",
  async (place, operation, answer) => {
    const tab = await openReference(place);
    const { status, body } = await tryOut(tab, operation);
    expect(status).toBe("200 OK");
    expect(body).toContain(answer);
    expectOwn(tab);
    await tab.page.close();
  },
);

test("every link from the getting-started page to the API reference leads to the right section", async () => {
  const guide = await browser.open();
  await guide.page.goto(`${site.url}/v1/inter-agency/getting-started`);
  const links = await guide.page
    .locator('a[href^="docs#"]')
    .evaluateAll((all) => [...new Set(all.map((one) => one.getAttribute("href")?.slice(4) ?? ""))]);
  expect(links.length).toBeGreaterThan(3);
  await guide.page.close();
  for (const place of links) {
    const tab = await openReference(place);
    await tab.page.locator(`a[href="${place}"]`).first().waitFor({ state: "attached" });
    expectOwn(tab);
    await tab.page.close();
  }
});

test("the API reference fits every screen, and axe finds no fault", async () => {
  const tab = await openReference();
  await expectAccessiblePage(tab.page, [390, 1280]);
  expectOwn(tab);
  await tab.page.close();
});

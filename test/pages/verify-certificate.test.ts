/** The envelope page: a printed attestation, the link in its QR code, and statements over a list. */

import { beforeAll, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { envelope as fixtureEnvelope, issuer, result } from "../fixtures/envelope-tokens.ts";
import { sharedFolder } from "../harness/folder.ts";
import { expectAccessiblePage, findAxeViolations, type Tab } from "./browser.ts";
import {
  browser,
  envelope,
  fetchEnvelope,
  makeAttestation,
  openPage,
  openSettings,
  openWithPastedKeys,
  outcomeOf,
  runInTab,
  shownTextOf,
  site,
  tonesIn,
  useEnvelopePage,
  validRegNo,
  verifyPagePath,
  verifyText,
} from "./envelope-page.ts";

useEnvelopePage();

const temp = sharedFolder();
/** True if the programs of poppler-utils and zbar-tools are installed, which read the QR code of a PDF. */
const canRead = ["pdfinfo", "pdftoppm", "zbarimg"].every((tool) => Bun.which(tool) !== null);

let signature: string;
let statement: string;

beforeAll(async () => {
  signature = JSON.parse(envelope).signature;
  const response = await fetch(`${site.url}/v1/inter-agency/rosters`, {
    method: "POST",
    headers: { Authorization: `Bearer ${site.demo.apiKey}` },
    body: JSON.stringify({
      purpose: "SCHOOL_EMPLOYMENT_VERIFICATION",
      list: { name: "Government College, Ikorodu", reference: "CENTRE-4711" },
      teachers: [
        { regNo: validRegNo, name: "Okafor A." },
        { regNo: validRegNo, name: "Somebody Else" },
        { tId: 999_999 },
      ],
    }),
  });
  statement = await response.text();
});

async function print(page: Page): Promise<string> {
  const file = join(temp, `${Math.random()}.pdf`);
  await page.pdf({ path: file, format: "A4" });
  return file;
}

function run(tool: string, ...args: string[]): string {
  return execFileSync(tool, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

/** Reads the QR code on the printed sheet at 150 dpi, the resolution of a cheap scanner. */
function scanned(pdf: string): string {
  run("pdftoppm", "-r", "150", "-png", "-singlefile", pdf, pdf);
  return run("zbarimg", "--quiet", "--raw", `${pdf}.png`);
}

async function follow(link: string): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(link);
  await tab.page.waitForSelector("#tool:not([hidden])");
  return tab;
}

/** Expects that no request contains the fragment of the link. */
function expectNothingSent({ requested, complaints }: Tab): void {
  expect(requested.filter((address) => address.includes("eyJ"))).toEqual([]);
  expect(complaints).toEqual([]);
}

/** Makes an answer of the fixtures' issuer. The link in the answer's QR code has `length` characters. */
function answerOfLength(length: number): string {
  const room = length - `${issuer}/verify-envelope#`.length;
  const answerWith = (letters: number) =>
    String(fixtureEnvelope({ result: { ...result, profile: { notes: "a".repeat(letters) } } }).signature);
  let letters = 0;
  while (answerWith(letters).length < room) letters++;
  return answerWith(letters);
}

test.skipIf(!canRead)(
  "the envelope page prints an attestation on one A4 sheet, whose QR code, scanned at 150 dpi, opens as genuine",
  async () => {
    let pdf = "";
    await runInTab(openPage(), async ({ page, complaints }) => {
      await makeAttestation(page, envelope);
      const text = await shownTextOf(page, "#certificate");
      for (const shown of ["Adaeze Okafor", validRegNo, "What it does not mean", "The code carries"]) {
        expect(text).toContain(shown);
      }
      pdf = await print(page);
      await page.emulateMedia({ media: "print" });
      for (const hidden of ["#entry", "footer", "#lead", ".actions", "#outcome > .actions button", "#title"])
        expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
      expect(complaints).toEqual([]);
    });
    const about = run("pdfinfo", pdf);
    expect(about).toMatch(/^Pages: +1$/m);
    expect(about).toMatch(/^Page size: .*\(A4\)$/m);
    expect(about).toContain(`Attestation ${validRegNo}, ${JSON.parse(envelope).verifiedAt.slice(0, 10)}`);
    const link = scanned(pdf);
    expect(link).toBe(`${site.url}${verifyPagePath}#${signature}`);
    await runInTab(follow(link), async (tab) => {
      const { verdict, text } = await outcomeOf(tab.page);
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("Adaeze Okafor");
      expect(tab.page.url()).toBe(`${site.url}${verifyPagePath}`);
      expect(await tab.page.evaluate("history.length")).toBeLessThanOrEqual(2);
      expectNothingSent(tab);
    });
  },
);

test("a printed attestation whose link is too long for a QR code has the page's URL and the verification id as text", () =>
  runInTab(openWithPastedKeys(), async ({ page, complaints }) => {
    const jws = answerOfLength(2401);
    const { text } = await verifyText(page, jws);
    await page.click("text=Make an attestation to print");
    await page.waitForSelector("#certificate");
    const shown = await shownTextOf(page, "#certificate");
    expect(shown).toContain(`open it at ${issuer}/verify-envelope.`);
    const { sub } = JSON.parse(Buffer.from(jws.split(".")[1] ?? "", "base64url").toString());
    expect(text).toContain(sub);
    expect(shown).toContain(`Its verification id must be ${sub}.`);
    expect(await page.locator("#certificate img").count()).toBe(0);
    expect(shown).not.toContain("camera");
    await expectAccessiblePage(page);
    expect(complaints).toEqual([]);
  }));

test("a link from a QR code works in an envelope page that is already open", () =>
  runInTab(openPage(), async (tab) => {
    const { page } = tab;
    await page.evaluate(`location.hash = ${JSON.stringify(signature)}`);
    expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
    expect(await page.title()).toMatch(/^Signature: genuine; Licensed on \d+ \w+ \d{4} – /);
    expect(page.url()).toBe(`${site.url}${verifyPagePath}`);
    expectNothingSent(tab);
  }));

test.each<[what: string, verdict: string, fragment: () => string]>([
  ["a changed signature", "Not genuine", () => `${signature.slice(0, -20)}${"A".repeat(20)}`],
  ["markup", "Cannot be decided", () => 'eyJhbGciOiJub25lIn0<img src=x onerror="document.title=1">'],
  ["half an escape", "Cannot be decided", () => "eyJhbGciOiJub25lIn0.%E0%A4%A"],
  ["a signature that was cut off", "Cannot be decided", () => "eyJhbGciOiJub25lIn0.eyJhbGciOiJub25lIn0."],
])("a QR code's link with %s opens the envelope page with the verdict %s", (_, verdict, fragment) =>
  runInTab(follow(`${site.url}${verifyPagePath}#${fragment()}`), async (tab) => {
    expect((await outcomeOf(tab.page)).verdict).toBe(verdict);
    expect(await tab.page.locator("#outcome img, #outcome script").count()).toBe(0);
    expectNothingSent(tab);
  }),
);

test("the envelope page's settings, refusals and attestations fit every screen, and axe finds no fault", () =>
  runInTab(openPage(), async ({ page }) => {
    await openSettings(page);
    await page.click("#proof-part summary");
    await expectAccessiblePage(page);
    const changed = JSON.parse(envelope);
    changed.result.teacher.name = "Somebody Else";
    await verifyText(page, JSON.stringify(changed));
    await expectAccessiblePage(page);
    for (const shown of [envelope, await fetchEnvelope("TR/2019/LA/000003")]) {
      await page.reload();
      await makeAttestation(page, shown);
      await expectAccessiblePage(page);
    }
    await page.goto(`${site.url}${verifyPagePath}?keys=pasted`);
    await expectAccessiblePage(page);
  }));

test("the envelope page shows how many people of a statement are eligible, and each row", () =>
  runInTab(openPage(), async ({ page, complaints }) => {
    const { verdict, text } = await verifyText(page, statement);
    expect(verdict).toContain("Signature: genuine");
    expect(text).toMatch(/Statement on .*: 1 of 2 different people eligible \(50 %\)/);
    expect(text).toContain("Of the 3 named by the list, 2 different people.");
    expect(text).toContain("1 row has another name than the registered one.");
    // Neither verdict is green if one person is not eligible.
    expect(await tonesIn(page, "#outcome")).toEqual(["none", "none"]);
    expect(await page.locator("#outcome tbody tr").count()).toBe(3);
    await expectAccessiblePage(page);
    expect(complaints).toEqual([]);
  }));

test("the printed sheet of a statement names the eligible teachers and nobody else", () =>
  runInTab(openPage(), async ({ page }) => {
    await verifyText(page, statement);
    await page.click("text=Make a sheet for the wall");
    const sheet = await shownTextOf(page, "#certificate");
    expect(sheet).toContain("Licensed teachers: Government College, Ikorodu");
    expect(sheet).toContain("1 of 2 different people eligible (50 %)");
    expect(sheet.split(validRegNo)).toHaveLength(2);
    expect(sheet).not.toContain("999999");
    expect(sheet).toContain("Alone it proves nothing");
    expect(await findAxeViolations(page)).toEqual([]);
    await page.click("text=Back to the result");
    await page.waitForSelector("#outcome tbody tr");
  }));

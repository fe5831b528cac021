/** Tests of the envelope page: verdicts, settings and wrong files. */

import { expect, test } from "bun:test";
import {
  envelope,
  fetchEnvelope,
  listChecksMarked,
  openPage,
  openSettings,
  openWithPastedKeys,
  outcomeOf,
  readFixture,
  runInTab,
  shownTextOf,
  site,
  submitForm,
  tonesIn,
  useEnvelopePage,
  validRegNo,
  verifyText,
  waitForOutcome,
  withoutIconRequests,
} from "./envelope-page.ts";

useEnvelopePage();

const revokedNo = "TR/2019/LA/000003";

type Case = {
  readonly given: () => Promise<string> | string;
  /** The texts for fields of the settings, by the field's id. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly verdict: string;
  readonly says?: readonly (string | RegExp)[];
  readonly never?: readonly string[];
  readonly tones?: readonly string[];
};

/** Fetches an answer for a purpose that requires a verified certificate. */
async function askInvigilator(regNo: string): Promise<string> {
  const answer = await fetch(`${site.url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${site.demo.apiKey}` },
    body: JSON.stringify({ identifier: { regNo }, purpose: "BODYA_INVIGILATOR_ELIGIBILITY" }),
  });
  return answer.text();
}

const batchOf = (...results: readonly string[]) =>
  JSON.stringify({ count: results.length, results: results.map((one) => JSON.parse(one)) });

test("the envelope page calls a genuine envelope genuine, and shows every check and signed value", () =>
  runInTab(openPage(), async ({ page, complaints, requested }) => {
    await openSettings(page);
    await page.fill("#audience", site.demo.partnerId);
    const { verdict, text } = await verifyText(page, envelope);
    expect(verdict).toBe("Signature: genuine");
    expect(text).toContain("Adaeze Okafor held a licence");
    expect(text).toMatch(/Eligible\s+Yes, for one purpose, which the answer does not name/);
    expect(text).toContain("Not signed. The partner who asked has it");
    for (const shown of [validRegNo, site.url, "demo", JSON.parse(envelope).signatureKid])
      expect(text).toContain(shown);
    expect(await tonesIn(page, "#outcome")).toEqual(["good", "good"]);
    expect(await listChecksMarked(page, "Passed")).toHaveLength(13);
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H2");
    expect(complaints).toEqual([]);
    // Further verifications must not make a request.
    for (const again of ["{}", JSON.parse(envelope).signature]) {
      await page.click("#again");
      await verifyText(page, again);
    }
    // The page fetches the pack twice: to store it on the device, and to verify.
    const fetched = requested.filter((address) => address.includes("/v1/"));
    expect(fetched).toEqual(Array(2).fill(`${site.url}/v1/inter-agency/offline-pack`));
  }));

test("the envelope page shows a genuine answer about a revoked teacher in red, as large as the verdict on the signature", () =>
  runInTab(openPage(), async ({ page }) => {
    await page.fill("#envelope", await fetchEnvelope(revokedNo));
    // Browsers show the focus only after a key was pressed.
    await page.press("#envelope-form button:not([type])", "Enter");
    await waitForOutcome(page, "Licence already revoked on");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H2");
    const headings = page.locator("#outcome .verdict h2");
    expect(await headings.allInnerTexts()).toEqual([
      expect.stringMatching(/Signature: genuine$/),
      expect.stringMatching(/Licence already revoked on \d+ \w+ \d{4}$/),
    ]);
    const looks = await headings.evaluateAll((all) =>
      all.map((one) => {
        const { fontSize, backgroundColor, boxShadow } = getComputedStyle(one);
        return { fontSize, backgroundColor, boxShadow };
      }),
    );
    expect(looks[1]).toMatchObject({ backgroundColor: "rgba(0, 0, 0, 0)", boxShadow: "none" });
    expect(looks[0]).toEqual(looks[1]);
    expect(await tonesIn(page, "#outcome")).toEqual(["none", "bad"]);
    await page.click("text=Make an attestation to print");
    await page.waitForSelector("#certificate img");
    expect(await tonesIn(page, "#certificate")).toEqual(["none", "bad"]);
    expect(await shownTextOf(page, "#certificate")).toMatch(/Licence already revoked on/);
  }));

test.each<[name: string, one: Case]>([
  [
    "an answer that found nobody, without a name and not in red",
    {
      given: () => fetchEnvelope("TR/1999/XX/999999"),
      verdict: "Signature: genuine",
      says: [
        /Nobody found on \d+ \w+ \d{4}/,
        "The answer names nobody and does not say who was asked about",
        "no such teacher is registered (TEACHER_NOT_FOUND)",
      ],
      never: ["NOT_FOUND,", "withdrawn since"],
      tones: ["none", "nobody"],
    },
  ],
  [
    "that a licensed teacher is not eligible",
    {
      given: () => askInvigilator("TR/2019/LA/000007"),
      verdict: "Signature: genuine",
      says: [/Licensed on \d+ \w+ \d{4}, but not eligible/],
      tones: ["none", "bad"],
    },
  ],
  [
    "an error response of the service as no envelope, and not as a forgery",
    {
      given: async () => (await fetch(`${site.url}/v1/inter-agency/lookup/by-tid/1001`)).text(),
      verdict: "Not an envelope",
      says: [
        /This is an error answer \(401: there was no valid credential\), not an envelope\./,
        "This says nothing about any teacher",
      ],
      never: ["Every check"],
      tones: ["warn"],
    },
  ],
  [
    "an answer to another partner as not for this partner",
    {
      given: () => envelope,
      settings: { audience: "somebody-else" },
      verdict: "Not for this partner",
      says: ["AUDIENCE_MISMATCH"],
    },
  ],
  [
    "an answer of another issuer than the reader named, and not as a forgery",
    {
      given: () => envelope,
      settings: { issuer: "https://other.example" },
      verdict: "Not from the issuer that you named",
      says: ["The signature is good"],
    },
  ],
  [
    "several envelopes as a list in which each can be opened",
    {
      given: () => batchOf(envelope, JSON.stringify({ ...JSON.parse(envelope), audience: "other" })),
      verdict: "Signatures: 1 of 2 genuine",
      says: [
        /Number 1: Signature: genuine; Licensed on \d+ \w+ \d{4}/,
        "Number 2: Not genuine: it was changed after signing",
      ],
    },
  ],
  [
    "an envelope of another service with an unknown key, without a link to that service",
    {
      given: () => readFixture("valid.json"),
      verdict: "Cannot be decided here",
      says: [
        "KID_UNKNOWN",
        "It claims to come from https://teachers.example, which is another service. Nothing here proves that. Check it there",
        "This does not mean that it is false.",
      ],
      never: ["JWKS"],
    },
  ],
])("the envelope page shows %s", (_name, one) =>
  runInTab(openPage(), async ({ page }) => {
    const { given, settings = {}, verdict, says = [], never = [], tones } = one;
    await openSettings(page);
    for (const [field, value] of Object.entries(settings)) await page.fill(`#${field}`, value);
    const outcome = await verifyText(page, await given());
    expect(outcome.verdict).toBe(verdict);
    for (const words of says) expect(outcome.text).toMatch(words);
    for (const words of never) expect(outcome.text).not.toContain(words);
    if (tones !== undefined) expect(await tonesIn(page, "#outcome")).toEqual([...tones]);
    expect(await page.locator("#outcome a").count()).toBe(0);
  }),
);

test("the envelope page refuses a changed envelope, and shows the changed values beside the signed ones", () =>
  runInTab(openPage(), async ({ page }) => {
    const changed = JSON.parse(envelope);
    changed.result.teacher.name = "Somebody Else";
    changed.result.license.expiryDate = "2099-12-31";
    changed.audience = "other";
    const { verdict, text } = await verifyText(page, JSON.stringify(changed));
    expect(verdict).toBe("Not genuine: it was changed after signing");
    expect(text).toContain("OUTER_RESULT_DIFFERS");
    expect(await listChecksMarked(page, "Not made")).toEqual([
      "Evidence log. No proof of the evidence log was given.",
      "Partner. You gave no partner id to compare with. It is demo.",
      "Withdrawn since. Not reached.",
    ]);
    const rows = await page.locator(".differences tbody tr").allInnerTexts();
    const cells = rows.map((row) => row.split(/\s*[\t\n]\s*/).filter(Boolean));
    expect(cells).toEqual([
      ["audience", "differs", '"demo"', '"other"'],
      ["result.teacher.name", "differs", '"Adaeze Okafor"', '"Somebody Else"'],
      ["result.license.expiryDate", "differs", expect.stringMatching(/^"20\d\d-\d\d-\d\d"$/), '"2099-12-31"'],
    ]);
  }));

test("the envelope page gives no verdict while the keys cannot be fetched, and fetches the keys again at the next check", () =>
  runInTab(openPage(), async ({ page }) => {
    // The page fetches its keys again after five minutes, so the test moves the page's clock.
    await page.evaluate("performance.now = () => 600_000");
    await page.route("**/offline-pack", (route) => route.fulfill({ status: 503 }));
    const failed = await verifyText(page, envelope);
    expect(failed.verdict).toBe("Cannot be decided");
    expect(failed.text).toContain("could not be fetched (it answered 503)");
    await page.unroute("**/offline-pack");
    await page.route("**/offline-pack", (route) => route.abort());
    await submitForm(page);
    await waitForOutcome(page, "no connection");
    await page.unroute("**/offline-pack");
    await page.route("**/offline-pack", (route) => route.fulfill({ body: "{}" }));
    await submitForm(page);
    await waitForOutcome(page, "(the answer is not an offline pack)");
    await page.unroute("**/offline-pack");
    await submitForm(page);
    await waitForOutcome(page, "Signature: genuine");
  }));

test("the envelope page with pasted keys makes no request", () =>
  runInTab(openWithPastedKeys(), async ({ page, requested, complaints }) => {
    const before = withoutIconRequests(requested).length;
    expect((await verifyText(page, await readFixture("valid.json"))).verdict).toBe("Signature: genuine");
    expect(withoutIconRequests(requested).slice(before)).toEqual([]);
    expect(complaints).toEqual([]);
    const escaped = await page.evaluate(
      "fetch('/v1/inter-agency/health').then(() => 'sent', () => 'refused')",
    );
    expect(escaped).toBe("refused");
  }));

test("the envelope page explains why it cannot verify a picture, an archive, a PDF or a large file", () =>
  runInTab(openPage(), async ({ page }) => {
    const files: [name: string, bytes: Uint8Array, words: string][] = [
      ["x.zip", Buffer.from("PK\u0003\u0004\u0000\u0000"), "This kind of file holds no envelope"],
      ["x.json", Buffer.alloc(1024 * 1024 + 1, " "), "more than 1 MiB of text"],
      ["x.pdf", Buffer.from("%PDF-1.7\nnothing"), "point a phone's camera at its code"],
      ["x.png", await page.screenshot(), "point a phone's camera at its code"],
    ];
    for (const [name, buffer, words] of files) {
      await page.setInputFiles("#files", { name, mimeType: "", buffer: Buffer.from(buffer) });
      await waitForOutcome(page, words);
    }
  }));

test("a file dropped on the envelope page is read, and does not replace the page", () =>
  runInTab(openPage(), async ({ page }) => {
    const drop = (selector: string, text: string) =>
      page.evaluate(
        ([where = "", content = ""]) => {
          const data = new DataTransfer();
          data.items.add(new File([content], "envelope.json"));
          const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
          return document.querySelector(where)?.dispatchEvent(event) === false;
        },
        [selector, text],
      );
    expect(await drop("h1", envelope)).toBe(true);
    expect(await drop(".drop", envelope)).toBe(true);
    const { verdict, text } = await outcomeOf(page);
    expect(verdict).toBe("Signature: genuine");
    expect(text).toContain("File envelope.json");
  }));

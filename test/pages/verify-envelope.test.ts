/** The envelope page: what a partner's engineer goes through. */

import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pdfOfPictures, pngWithTwoHeaders } from "../certificate/picture-bombs.ts";
import { folder } from "../fixtures/envelope-tokens.ts";
import { axeFindings, startBrowser } from "./browser.ts";
import {
  askAbout,
  checksOf,
  envelope,
  fixture,
  known,
  openPage,
  openPasted,
  openSettings,
  outcomeOf,
  path,
  reopen,
  sent,
  shownIn,
  site,
  submit,
  tonesIn,
  untilOutcomeSays,
  useEnvelopePage,
  verify,
  within,
} from "./envelope-page.ts";

useEnvelopePage();

describe("with the keys of this service", () => {
  test("a genuine envelope is called genuine, in words first, with every check and signed value", () =>
    within(openPage(), async ({ page, complaints, requested }) => {
      await openSettings(page);
      await page.fill("#audience", site.demo.partnerId);
      const { verdict, text } = await verify(page, envelope);
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("Licensed. Adaeze Okafor held a licence");
      for (const shown of [known, site.url, "demo", JSON.parse(envelope).signatureKid]) {
        expect(text).toContain(shown);
      }
      expect(await checksOf(page, "Passed")).toHaveLength(12);
      expect(await page.evaluate("document.activeElement.tagName")).toBe("H2");
      expect(complaints).toEqual([]);
      const fetched = requested.filter((address) => address.includes("/v1/"));
      const addresses = ["jwks.json", "key-history"].map(
        (name) => `${site.url}/v1/inter-agency/.well-known/${name}`,
      );
      expect(fetched.sort()).toEqual(addresses.sort());
    }));

  test("the keys are fetched once, whatever is verified", () =>
    within(openPage(), async ({ page, requested }) => {
      for (const text of [envelope, "{}", JSON.parse(envelope).signature]) {
        await verify(page, text);
        await page.click("#again");
      }
      expect(requested.filter((address) => address.includes("/.well-known/"))).toHaveLength(2);
    }));

  test("a genuine no is not shown as a yes", () =>
    within(openPage(), async ({ page }) => {
      const { verdict, text } = await verify(page, await askAbout("TR/1999/XX/999999"));
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("no such teacher was found");
      expect(text).toContain("no such teacher is registered (TEACHER_NOT_FOUND)");
    }));

  test("a genuine answer about a revoked teacher is a red no, as large as what is said of the signature", () =>
    within(openPage(), async ({ page }) => {
      const revoked = await askAbout("TR/2019/LA/000003");
      await verify(page, revoked);
      const headings = page.locator("#outcome .verdict h2");
      expect(await headings.allInnerTexts()).toEqual([
        expect.stringMatching(/Signature: genuine$/),
        expect.stringMatching(/Answer on \d+ \w+ \d{4}: REVOKED, not eligible$/),
      ]);
      const sizes = await headings.evaluateAll((all) => all.map((one) => getComputedStyle(one).fontSize));
      expect(sizes[0]).toBe(sizes[1] ?? "");
      expect(await tonesIn(page, "#outcome")).toEqual(["none", "bad"]);
      expect(await page.locator("#outcome .verdict.good").count()).toBe(0);
      await page.click("text=Make an attestation to print");
      await page.waitForSelector("#certificate img");
      expect(await tonesIn(page, "#certificate")).toEqual(["none", "bad"]);
      expect(await shownIn(page, "#certificate")).toMatch(/Answer on .*: REVOKED, not eligible/);
      expect(await axeFindings(page)).toEqual([]);
    }));

  test("the verdict that takes the focus is no louder than the other one", () =>
    within(openPage(), async ({ page }) => {
      await page.fill("#envelope", await askAbout("TR/2019/LA/000003"));
      // By keyboard, after which browsers show where the focus is.
      await page.press("#envelope-form button:not([type])", "Enter");
      await untilOutcomeSays(page, ": REVOKED, not eligible");
      expect(await page.evaluate("document.activeElement.tagName")).toBe("H2");
      const washes = page.locator("#outcome .verdict h2").evaluateAll((all) =>
        all.map((one) => {
          const { backgroundColor, boxShadow } = getComputedStyle(one);
          return { backgroundColor, boxShadow };
        }),
      );
      const none = { backgroundColor: "rgba(0, 0, 0, 0)", boxShadow: "none" };
      expect(await washes).toEqual([none, none]);
    }));

  test("only a genuine yes is green", () =>
    within(openPage(), async ({ page }) => {
      await verify(page, envelope);
      expect(await tonesIn(page, "#outcome")).toEqual(["good", "good"]);
      const results = [JSON.parse(envelope), JSON.parse(await askAbout("TR/2019/LA/000003"))];
      await reopen(page);
      await page.fill("#envelope", JSON.stringify({ count: 2, results }));
      await submit(page);
      await untilOutcomeSays(page, "Answers: 1 of 2 eligible");
      expect((await tonesIn(page, "#outcome")).slice(0, 2)).toEqual(["none", "bad"]);
    }));

  test("the service's own error answer is no forgery", () =>
    within(openPage(), async ({ page }) => {
      const answer = await fetch(`${site.url}/v1/inter-agency/lookup/by-tid/1001`);
      expect(answer.status).toBe(401);
      const { verdict, text } = await verify(page, await answer.text());
      expect(verdict).toBe("Not an envelope");
      expect(text).toContain(
        "This is an error answer (401: there was no valid credential), not an envelope.",
      );
      expect(text).toContain("It says nothing about any teacher");
      expect(text).not.toContain("Every check");
      expect(await tonesIn(page, "#outcome")).toEqual(["warn"]);
    }));

  test("without a partner id it says that it was not compared, and for whom it was signed", () =>
    within(openPage(), async ({ page }) => {
      const { verdict, text } = await verify(page, envelope);
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("You gave no partner id, so it was not compared.");
      expect(await shownIn(page, "#outcome .verdict")).not.toContain("not compared");
      expect(await checksOf(page, "Not made")).toEqual([
        "Evidence log. No proof of the evidence log was given.",
        "Partner. You gave no partner id to compare with. It is demo.",
      ]);
    }));

  test("an answer to another partner is not for this one", () =>
    within(openPage(), async ({ page }) => {
      await openSettings(page);
      await page.fill("#audience", "somebody-else");
      const { verdict, text } = await verify(page, envelope);
      expect(verdict).toBe("Not for this partner");
      expect(text).toContain("AUDIENCE_MISMATCH");
    }));

  test("a changed copy is refused, and set beside what is signed", () =>
    within(openPage(), async ({ page }) => {
      const changed = JSON.parse(envelope);
      changed.result.teacher.name = "Somebody Else";
      changed.result.license.expiryDate = "2099-12-31";
      changed.audience = "other";
      const { verdict, text } = await verify(page, JSON.stringify(changed));
      expect(verdict).toBe("Not genuine: it was changed after signing");
      expect(text).toContain("OUTER_RESULT_DIFFERS");
      const rows = await page.locator(".differences tbody tr").allInnerTexts();
      const cells = rows.map((row) => row.split(/\s*[\t\n]\s*/).filter(Boolean));
      expect(cells).toEqual([
        ["audience", "differs", '"demo"', '"other"'],
        ["result.teacher.name", "differs", '"Adaeze Okafor"', '"Somebody Else"'],
        [
          "result.license.expiryDate",
          "differs",
          expect.stringMatching(/^"20\d\d-\d\d-\d\d"$/),
          '"2099-12-31"',
        ],
      ]);
      expect(await axeFindings(page)).toEqual([]);
    }));

  test("a changed signature is refused, and nothing of it is shown as signed", () =>
    within(openPage(), async ({ page }) => {
      const changed = JSON.parse(envelope);
      const [head, payload, signature] = changed.signature.split(".");
      const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
      claims.result.teacher.name = "Somebody Else";
      changed.result = claims.result;
      changed.signature = `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
      const { verdict, text } = await verify(page, JSON.stringify(changed));
      expect(verdict).toBe("Not genuine");
      expect(text).toContain("SIGNATURE_INVALID");
      expect(text).not.toContain("Somebody Else");
      expect(await checksOf(page, "Failed")).toHaveLength(1);
    }));

  test("several envelopes are summed up, and each can be opened", () =>
    within(openPage(), async ({ page }) => {
      const changed = { ...JSON.parse(envelope), audience: "other" };
      const results = [JSON.parse(envelope), changed];
      const { verdict, text } = await verify(page, JSON.stringify({ count: 2, results }));
      expect(verdict).toBe("Signatures: 1 of 2 genuine");
      expect(text).toMatch(/Number 1: Signature: genuine; Answer on \d+ \w+ \d{4}: VALID, eligible/);
      expect(text).toContain("Number 2: Not genuine: it was changed after signing");
    }));

  test("keys that cannot be fetched are no verdict, and are asked for again", () =>
    within(openPage(), async ({ page }) => {
      await page.route("**/.well-known/jwks.json", (route) => route.fulfill({ status: 503 }));
      const failed = await verify(page, envelope);
      expect(failed.verdict).toBe("Cannot be decided");
      expect(failed.text).toContain("could not be fetched (it answered 503)");
      await page.unroute("**/.well-known/jwks.json");
      await page.route("**/.well-known/key-history", (route) => route.abort());
      await submit(page);
      await untilOutcomeSays(page, "no connection");
      await page.unroute("**/.well-known/key-history");
      await submit(page);
      await untilOutcomeSays(page, "Signature: genuine");
    }));
});

describe("with pasted keys", () => {
  test("the page makes no request at all", () =>
    within(openPasted(), async ({ page, requested, complaints }) => {
      const before = sent(requested).length;
      expect((await verify(page, await fixture("valid.json"))).verdict).toBe("Signature: genuine");
      expect(sent(requested).slice(before)).toEqual([]);
      expect(complaints).toEqual([]);
      const escaped = await page.evaluate(
        "fetch('/v1/inter-agency/health').then(() => 'sent', () => 'refused')",
      );
      expect(escaped).toBe("refused");
    }));

  test.each([
    ["compromised.json", "Not accepted: its key was compromised", "KEY_COMPROMISED"],
    ["audience-mismatch.json", "Not for this partner", "AUDIENCE_MISMATCH"],
    ["alg-none.json", "Not genuine", "HEADER_ALG"],
    ["duplicate-member.json", "Not genuine", "JSON_DUPLICATE_MEMBER"],
    ["empty-array.json", "Cannot be decided", "There is no envelope in it."],
  ])("%s: %s (%s)", async (name, expected, code) => {
    await within(openPasted(), async ({ page }) => {
      const { verdict, text } = await verify(page, await fixture(name));
      expect(verdict).toBe(expected);
      expect(text).toContain(code);
    });
  });

  test("a key history alone is said to be all that trust rests on, and a stranger's is refused beside the key set", () =>
    within(openPasted({ jwks: "" }), async ({ page }) => {
      const { verdict, text } = await verify(page, await fixture("valid.json"));
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("Trust rests on the key history alone, which key");
      await reopen(page);
      await page.fill("#jwks", await readFile(join(folder, "keys", "jwks.json"), "utf8"));
      await page.fill(
        "#key-history",
        await readFile(join(folder, "keys", "history-by-stranger.jose"), "utf8"),
      );
      await page.fill("#envelope", await fixture("anchor-stranger.json"));
      await submit(page);
      await untilOutcomeSays(page, "KEY_HISTORY_NOT_ANCHORED");
      expect((await outcomeOf(page)).verdict).toBe("Not accepted: the keys are bad");
    }));

  test("no keys, and keys that are none, are told apart", () =>
    within(openPasted({ jwks: "", history: "" }), async ({ page }) => {
      const text = await fixture("valid.json");
      expect((await verify(page, text)).text).toContain("without a key nothing can be checked");
      await page.fill("#jwks", "not a key set");
      await submit(page);
      await untilOutcomeSays(page, "KEY_SET_UNREADABLE");
    }));
});

describe("bad input is answered in plain words", () => {
  const hugePng = Buffer.from("89504e470d0a1a0a0000000d4948445200ffffff00ffffff010000000000000000", "hex");
  const cases: [string, string, string][] = [
    ["nothing", "", "There is nothing to verify"],
    ["something else", "hello", "This is a text that is neither JSON nor a signature"],
    ["a web page", "<html>\n<p>Bad gateway</p>\n</html>", "This is a web page, not an envelope."],
    ["broken JSON", '{"signature":', "JSON_MALFORMED"],
    ["a huge paste", "x".repeat(1024 * 1024 + 1), "more than 1 MiB of text"],
  ];
  test.each(cases)("%s", async (_, text, words) => {
    await within(openPage(), async ({ page, complaints }) => {
      expect((await verify(page, text)).text).toContain(words);
      expect(complaints).toEqual([]);
    });
  });

  test.each([
    [
      "a wrong kind of file",
      "x.zip",
      Buffer.from("PK\u0003\u0004\u0000\u0000"),
      "This kind of file holds no envelope",
    ],
    ["a damaged picture", "x.png", Buffer.from("89504e470d0a1a0a00", "hex"), "The picture is damaged"],
    ["a damaged PDF", "x.pdf", Buffer.from("%PDF-1.7\nnothing"), "The PDF is damaged"],
    ["a picture of gigabytes", "x.png", hugePng, "more than 40 million pixels"],
    ["a huge file", "x.json", Buffer.alloc(20 * 1024 * 1024 + 1, " "), "larger than 20 MiB"],
  ])("%s", async (_, name, buffer, words) => {
    await within(openPage(), async ({ page }) => {
      await page.setInputFiles("#files", { name, mimeType: "application/octet-stream", buffer });
      expect((await outcomeOf(page)).text).toContain(words);
    });
  });

  test.each([
    ["a picture that says twice how large it is", "x.png", pngWithTwoHeaders(), "The picture is damaged"],
    [
      "a PDF of more pictures than a certificate has",
      "x.pdf",
      pdfOfPictures(121, 64),
      "more than 120 pictures",
    ],
  ])("%s", async (_, name, bytes, words) => {
    await within(openPage(), async ({ page }) => {
      const buffer = Buffer.from(bytes);
      await page.setInputFiles("#files", { name, mimeType: "application/octet-stream", buffer });
      expect((await outcomeOf(page)).text).toContain(words);
    });
  });

  test("a picture that takes too long, which is given up without the page standing still", () =>
    within(openPage(), async ({ page }) => {
      await page.route("**/scanner-*.js", () => {});
      await page.clock.install();
      const buffer = Buffer.from(pdfOfPictures(1, 64));
      await page.setInputFiles("#files", { name: "x.pdf", mimeType: "application/pdf", buffer });
      await page.locator("#progress", { hasText: "Reading the picture" }).waitFor();
      await page.clock.runFor(31_000);
      expect((await outcomeOf(page)).text).toContain("took too long, more than 30 seconds. Crop it");
    }));

  test("a picture without a code", () =>
    within(openPage(), async ({ page }) => {
      const buffer = await page.screenshot();
      await page.setInputFiles("#files", { name: "x.png", mimeType: "image/png", buffer });
      expect((await outcomeOf(page)).text).toContain("No QR code of an attestation was found");
    }));

  test("a dropped file is read, and one that misses is not opened instead of the page", () =>
    within(openPage(), async ({ page }) => {
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

  test("without JavaScript, what to do instead", async () => {
    const plain = await startBrowser({ javaScriptEnabled: false });
    try {
      const { page } = await plain.open();
      await page.goto(`${site.url}${path}`);
      expect(await shownIn(page, "#needs-script")).toContain("tvs verify envelope.json");
      expect(await page.isVisible("#tool")).toBe(false);
    } finally {
      await plain.close();
    }
  });
});

/** The envelope page in a real browser: what a partner's engineer and a clerk with a certificate go through. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { pdfOfPictures, pngWithTwoHeaders } from "../cli/verify/picture-bombs.ts";
import { audience, folder, issuer, now } from "../fixtures/envelope-tokens.ts";
import { sharedFolder } from "../harness/folder.ts";
import { runTvs } from "../harness/program.ts";
import { axeFindings, type Browser, overflowPx, patienceMs, startBrowser, type Tab } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

const known = "TR/2019/LA/000001";
const path = "/verify-envelope";

let site: Site;
let browser: Browser;
/** Its clock stands at the fixtures' time; Playwright stops the clock of a whole browser context. */
let earlier: Browser;
const temp = sharedFolder();
let envelope: string;

beforeAll(async () => {
  site = await openSite();
  browser = await startBrowser({ viewport: { width: 1100, height: 900 } });
  earlier = await startBrowser({ viewport: { width: 1100, height: 900 } });
  await earlier.context.clock.setFixedTime(new Date(now));
  envelope = await askAbout(known);
}, patienceMs);

afterAll(async () => {
  await browser.close();
  await earlier.close();
  await site.close();
}, patienceMs);

async function askAbout(regNo: string): Promise<string> {
  const address = `${site.url}/v1/inter-agency/lookup/by-reg-no/${encodeURIComponent(regNo)}`;
  const headers = { Authorization: `Bearer ${site.demo.apiKey}` };
  return (await fetch(address, { headers })).text();
}

/** Opens the page; every test says itself what may be complained about. */
async function openPage(query = ""): Promise<Tab> {
  const tab = await browser.open();
  await tab.page.goto(`${site.url}${path}${query}`);
  await tab.page.waitForSelector("#tool:not([hidden])");
  return tab;
}

async function within<T>(tab: Promise<Tab>, act: (tab: Tab) => Promise<T>): Promise<T> {
  const opened = await tab;
  try {
    return await act(opened);
  } finally {
    await opened.page.close();
  }
}

/** The text as it is shown, line by line. */
async function shownIn(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).allInnerTexts()).join("\n");
}

/** Waits for the outcome, and gives its verdict and all of its text. */
async function outcomeOf(page: Page): Promise<{ verdict: string; text: string }> {
  await page.waitForSelector("#outcome .verdict");
  // The verdict on all comes first; those on each of several envelopes follow, folded up.
  const verdict = await shownIn(
    page,
    "#outcome > :first-child > .verdict:first-child h2, #outcome > .verdict h2",
  );
  return { verdict: verdict.replace(/^\S\s*/, ""), text: await shownIn(page, "#outcome") };
}

/** The colours of the verdicts, in their order. */
function tonesIn(page: Page, selector: string): Promise<string[]> {
  return page
    .locator(`${selector} .verdict`)
    .evaluateAll((all) => all.map((one) => one.className.replace(/^verdict /, "")));
}

/** Waits until the outcome says something: that of an earlier check may still stand there. */
function untilOutcomeSays(page: Page, words: string): Promise<void> {
  return page.locator("#outcome", { hasText: words }).waitFor();
}

/** What was asked for, but for the icon, which a browser fetches when it likes. */
function sent(requested: readonly string[]): string[] {
  return requested.filter((address) => !address.endsWith("/icon.svg"));
}

async function verify(page: Page, text: string): Promise<{ verdict: string; text: string }> {
  await page.fill("#envelope", text);
  await page.click("#envelope-form button");
  return outcomeOf(page);
}

/** The checks by their verdict in words. */
async function checksOf(page: Page, word: string): Promise<string[]> {
  const lines = await page.locator(".checks li").allInnerTexts();
  return lines.filter((line) => line.startsWith(word)).map((line) => line.slice(word.length).trim());
}

async function certificateFor(page: Page, text: string): Promise<void> {
  await verify(page, text);
  await page.click("text=Make a certificate to print");
  await page.waitForSelector("#certificate img");
}

async function fixture(name: string): Promise<string> {
  return readFile(join(folder, "inputs", name), "utf8");
}

/** The page with the fixtures' keys pasted, at the fixtures' time. */
async function openPasted(sources: { jwks?: string; history?: string } = {}): Promise<Tab> {
  const { jwks = "jwks.json", history = "history.jose" } = sources;
  const tab = await earlier.open();
  await tab.page.goto(`${site.url}${path}?keys=pasted`);
  await tab.page.waitForSelector("#tool:not([hidden])");
  if (jwks !== "") await tab.page.fill("#jwks", await readFile(join(folder, "keys", jwks), "utf8"));
  if (history !== "") {
    await tab.page.fill("#key-history", await readFile(join(folder, "keys", history), "utf8"));
  }
  await tab.page.fill("#issuer", issuer);
  await tab.page.fill("#audience", audience);
  return tab;
}

describe("with the keys of this service", () => {
  test("a genuine envelope is called genuine, in words first, with every check and signed value", () =>
    within(openPage(), async ({ page, complaints, requested }) => {
      await page.fill("#audience", site.demo.partnerId);
      const { verdict, text } = await verify(page, envelope);
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("Adaeze Okafor, licence VALID, eligible.");
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
        await page.evaluate("document.querySelector('#outcome').replaceChildren()");
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
        expect.stringMatching(/Answer: REVOKED, not eligible$/),
      ]);
      const sizes = await headings.evaluateAll((all) => all.map((one) => getComputedStyle(one).fontSize));
      expect(sizes[0]).toBe(sizes[1] ?? "");
      expect(await tonesIn(page, "#outcome")).toEqual(["none", "bad"]);
      expect(await page.locator("#outcome .verdict.good").count()).toBe(0);
      await page.click("text=Make a certificate to print");
      await page.waitForSelector("#certificate img");
      expect(await tonesIn(page, "#certificate")).toEqual(["none", "bad"]);
      expect(await shownIn(page, "#certificate")).toContain("Answer: REVOKED, not eligible");
      expect(await axeFindings(page)).toEqual([]);
    }));

  test("the verdict that takes the focus is no louder than the other one", () =>
    within(openPage(), async ({ page }) => {
      await page.fill("#envelope", await askAbout("TR/2019/LA/000003"));
      // By keyboard, after which browsers show where the focus is.
      await page.press("#envelope-form button", "Enter");
      await untilOutcomeSays(page, "Answer: REVOKED, not eligible");
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
      await page.fill("#envelope", JSON.stringify({ count: 2, results }));
      await page.click("#envelope-form button");
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
      expect(await checksOf(page, "Not made")).toEqual([
        "Partner. You gave no partner id to compare with. It is demo.",
      ]);
    }));

  test("an answer to another partner is not for this one", () =>
    within(openPage(), async ({ page }) => {
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

  test("an unknown key leaves it undecided, and says what to do", () =>
    within(openPage(), async ({ page }) => {
      const { verdict, text } = await verify(page, await fixture("valid.json"));
      expect(verdict).toBe("Cannot be decided");
      expect(text).toContain("KID_UNKNOWN");
      expect(text).toContain("paste the keys of that service");
    }));

  test("several envelopes are summed up, and each can be opened", () =>
    within(openPage(), async ({ page }) => {
      const changed = { ...JSON.parse(envelope), audience: "other" };
      const results = [JSON.parse(envelope), changed];
      const { verdict, text } = await verify(page, JSON.stringify({ count: 2, results }));
      expect(verdict).toBe("Signatures: 1 of 2 genuine");
      expect(text).toContain("Number 1: Signature: genuine; Answer: VALID, eligible");
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
      await page.click("#envelope-form button");
      await untilOutcomeSays(page, "no connection");
      await page.unroute("**/.well-known/key-history");
      await page.click("#envelope-form button");
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
    ["compromised.json", "Not genuine", "KEY_COMPROMISED"],
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
      await page.fill("#jwks", await readFile(join(folder, "keys", "jwks.json"), "utf8"));
      await page.fill(
        "#key-history",
        await readFile(join(folder, "keys", "history-by-stranger.jose"), "utf8"),
      );
      await page.fill("#envelope", await fixture("anchor-stranger.json"));
      await page.click("#envelope-form button");
      await untilOutcomeSays(page, "KEY_HISTORY_NOT_ANCHORED");
      expect((await outcomeOf(page)).verdict).toBe("Not accepted: the keys are bad");
    }));

  test("no keys, and keys that are none, are told apart", () =>
    within(openPasted({ jwks: "", history: "" }), async ({ page }) => {
      const text = await fixture("valid.json");
      expect((await verify(page, text)).text).toContain("without a key nothing can be checked");
      await page.fill("#jwks", "not a key set");
      await page.click("#envelope-form button");
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
      expect((await outcomeOf(page)).text).toContain("No QR code of a certificate was found");
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

describe("a webhook delivery", () => {
  const secret = "whsec_page";
  const arrived = "2026-03-01T12:00:30Z";
  const seconds = Date.parse(arrived) / 1000 - 20;
  const data = {
    tId: 1001,
    regNo: known,
    licenseStatus: "REVOKED",
    certificateStatus: "VERIFIED",
    previousStatus: "VALID",
  };
  const body = JSON.stringify({
    eventId: "e1",
    eventType: "license.revoked",
    occurredAt: "2026-03-01T12:00:00Z",
    data,
  });
  const digest = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  const header = `t=${seconds},v1=${digest}`;

  async function check(given: { body?: string; header?: string; secret?: string; arrived?: string }) {
    return within(openPage(), async ({ page, requested }) => {
      await page.check("#kind-webhook");
      await page.fill("#body", given.body ?? body);
      await page.fill("#signature-header", given.header ?? header);
      await page.fill("#secret", given.secret ?? secret);
      await page.fill("#arrived", given.arrived ?? arrived);
      const before = sent(requested).length;
      await page.click("#webhook-form button");
      const outcome = await outcomeOf(page);
      expect(sent(requested).slice(before)).toEqual([]);
      return { ...outcome, findings: await axeFindings(page) };
    });
  }

  test("that is good is called genuine, and its event is shown", async () => {
    const { verdict, text, findings } = await check({});
    expect(verdict).toBe("Signature: genuine");
    expect(text).toContain("Event: license.revoked");
    expect(text).toContain(known);
    expect(findings).toEqual([]);
  });

  test.each([
    ["changed", { body: `${body} ` }, "SIGNATURE_MISMATCH"],
    ["with another secret", { secret: "whsec_other" }, "SIGNATURE_MISMATCH"],
    ["with half a header", { header: "v1=00" }, "SIGNATURE_HEADER_MALFORMED"],
    ["that is old", { arrived: "" }, "OUTSIDE_REPLAY_WINDOW"],
    ["without a secret", { secret: "" }, "Type in the webhook secret"],
    ["without a body", { body: "" }, "There is nothing to verify"],
    ["with a wrong time", { arrived: "yesterday" }, "The time of arrival is not understood"],
  ])("%s is not", async (_, given, words) => {
    const { verdict, text } = await check(given);
    expect(verdict).not.toBe("Signature: genuine");
    expect(text).toContain(words);
  });

  test("may be opened as a file, byte for byte", () =>
    within(openPage(), async ({ page }) => {
      const bytes = Buffer.from(body.replace("{", "{\r\n"));
      const signed = createHmac("sha256", secret).update(`${seconds}.`).update(bytes).digest("hex");
      await page.check("#kind-webhook");
      await page.setInputFiles("#body-file", { name: "b.json", mimeType: "application/json", buffer: bytes });
      await page.fill("#signature-header", `t=${seconds},v1=${signed}`);
      await page.fill("#secret", secret);
      await page.fill("#arrived", arrived);
      await page.click("#webhook-form button");
      expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
    }));
});

describe("a certificate of verification", () => {
  async function readBack(file: string): Promise<{ verdict: string; text: string }> {
    return within(openPage(), async ({ page, complaints }) => {
      await page.setInputFiles("#files", file);
      const outcome = await outcomeOf(page);
      expect(complaints).toEqual([]);
      return outcome;
    });
  }

  /** As a partner does who has only the files. */
  async function readBackOffline(file: string): Promise<{ code: number; stdout: string; stderr: string }> {
    const history = join(temp, "key-history.jose");
    const address = `${site.url}/v1/inter-agency/.well-known/key-history`;
    await writeFile(history, await (await fetch(address)).text());
    const settings = ["--key-history", history, "--issuer", site.url, "--audience", site.demo.partnerId];
    return runTvs(["verify", "--qr", file, ...settings, "--json"]);
  }

  test("is printed as PDF, and the page and the command read it back", async () => {
    const file = join(temp, "certificate.pdf");
    await within(openPage(), async ({ page, complaints }) => {
      await certificateFor(page, envelope);
      const text = await shownIn(page, "#certificate");
      for (const shown of ["Adaeze Okafor", known, "What it does not mean", "Code 1 of 3"]) {
        expect(text).toContain(shown);
      }
      expect(await axeFindings(page)).toEqual([]);
      await page.pdf({ path: file, format: "A4" });
      expect(complaints).toEqual([]);
    });
    const { verdict, text } = await readBack(file);
    expect(verdict).toBe("Signature: genuine");
    expect(text).toContain(JSON.parse(envelope).verificationId);
    const { code, stdout, stderr } = await readBackOffline(file);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ valid: true, result: { teacher: { name: "Adaeze Okafor" } } });
  });

  test("prints nothing but itself", () =>
    within(openPage(), async ({ page }) => {
      await certificateFor(page, envelope);
      await page.emulateMedia({ media: "print" });
      for (const hidden of ["#envelope-form", "#keys", "footer", ".checks", ".verdict", "#title"]) {
        expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
      }
      expect(await page.isVisible("#certificate img")).toBe(true);
    }));

  test("is read back from a screenshot and from photographs of single codes", async () => {
    const sheet = join(temp, "codes.png");
    const single = [1, 2, 3].map((number) => join(temp, `code-${number}.jpg`));
    await within(openPage(), async ({ page }) => {
      await certificateFor(page, envelope);
      await page.locator(".codes").screenshot({ path: sheet });
      for (const [index, file] of single.entries()) {
        const figure = page.locator(".codes figure").nth(index);
        await figure.screenshot({ path: file, type: "jpeg", quality: 60 });
      }
    });
    expect((await readBack(sheet)).verdict).toBe("Signature: genuine");
    expect((await readBackOffline(sheet)).code).toBe(0);
    await within(openPage(), async ({ page }) => {
      await page.setInputFiles("#files", single.slice(0, 2));
      expect((await outcomeOf(page)).text).toContain("has 3 codes, and these were not found: 3.");
      await page.setInputFiles("#files", single);
      await untilOutcomeSays(page, "Signature: genuine");
    });
  });

  test("is read with pasted keys as well, by scripts alone", () =>
    within(openPasted(), async ({ page, requested, complaints }) => {
      await certificateFor(page, await fixture("valid-bare.jws"));
      const file = join(temp, "pasted.pdf");
      await page.pdf({ path: file });
      const before = sent(requested).length;
      await page.setInputFiles("#files", file);
      await page.locator("#certificate").waitFor({ state: "detached" });
      expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
      const names = sent(requested)
        .slice(before)
        .map((address) => new URL(address).pathname);
      expect(names.every((name) => /^\/verify-envelope\/(scanner-[\w-]+|pdf)\.js$/.test(name))).toBe(true);
      expect(complaints).toEqual([]);
    }));
});

describe("on every screen", () => {
  const screens = [
    ["phone, light", { width: 360, height: 740 }, "light"],
    ["phone, dark", { width: 360, height: 740 }, "dark"],
    ["desktop, light", { width: 1280, height: 900 }, "light"],
    ["desktop, dark", { width: 1280, height: 900 }, "dark"],
  ] as const;

  test.each(screens)("%s: nothing is cut off, and axe finds nothing", async (name, viewport, colorScheme) => {
    await within(openPage(), async ({ page }) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      expect(await axeFindings(page)).toEqual([]);
      const changed = JSON.parse(envelope);
      changed.result.teacher.name = "Somebody Else";
      await verify(page, JSON.stringify(changed));
      expect(await overflowPx(page)).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
      await shoot(page, `${name}, changed`);
      await page.reload();
      await certificateFor(page, envelope);
      expect(await overflowPx(page)).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
      await shoot(page, `${name}, certificate`);
      await page.reload();
      await certificateFor(page, await askAbout("TR/2019/LA/000003"));
      expect(await overflowPx(page)).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
      await shoot(page, `${name}, revoked`);
      await page.goto(`${site.url}${path}?keys=pasted`);
      await page.check("#kind-webhook");
      expect(await axeFindings(page)).toEqual([]);
      await page.check("#kind-envelope");
      expect(await overflowPx(page)).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
    });
  });

  /** For people to look at, where a folder is named. */
  async function shoot(page: Page, name: string): Promise<void> {
    const shots = process.env.SCREENSHOTS;
    if (shots === undefined) return;
    const file = `verify-envelope, ${name}.png`.replace(/[^\w.]+/g, "-");
    await page.screenshot({ path: join(shots, file), fullPage: true });
  }

  test("by keyboard alone", () =>
    within(openPage(), async ({ page }) => {
      await page.focus("#envelope");
      await page.keyboard.insertText(envelope);
      for (let turn = 0; turn < 3; turn++) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
    }));
});

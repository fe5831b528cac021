/** The envelope page: what a clerk with a certificate goes through, on every screen. */

import { beforeAll, describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getDocumentProxy, getMeta } from "unpdf";
import { sharedFolder } from "../harness/folder.ts";
import { expectSound } from "./browser.ts";
import {
  askAbout,
  certificateFor,
  envelope,
  fixture,
  known,
  openPage,
  openPasted,
  openProving,
  openSettings,
  outcomeOf,
  path,
  sent,
  shownIn,
  site,
  untilOutcomeSays,
  useEnvelopePage,
  verify,
  within,
} from "./envelope-page.ts";
import { makeLog } from "./evidence-log.ts";

useEnvelopePage();

const temp = sharedFolder();

/** What a viewer of a PDF says of it. */
async function describePdf(file: string): Promise<{ pages: number; title: string }> {
  const pdf = await getDocumentProxy(new Uint8Array(await readFile(file)));
  const { info } = await getMeta(pdf);
  return { pages: pdf.numPages, title: String(info.Title) };
}

describe("a certificate of verification", () => {
  async function readBack(file: string): Promise<{ verdict: string; text: string }> {
    return within(openPage(), async ({ page, complaints }) => {
      await page.setInputFiles("#files", file);
      const outcome = await outcomeOf(page);
      expect(complaints).toEqual([]);
      return outcome;
    });
  }

  function titleFor(text: string): string {
    return `Attestation ${known}, ${JSON.parse(text).verifiedAt.slice(0, 10)}`;
  }

  test("is printed as PDF with nothing beside it, and the page reads it back", async () => {
    const file = join(temp, "certificate.pdf");
    await within(openPage(), async ({ page, complaints }) => {
      await certificateFor(page, envelope);
      const text = await shownIn(page, "#certificate");
      for (const shown of ["Adaeze Okafor", known, "What it does not mean", "Code 1 of 2"]) {
        expect(text).toContain(shown);
      }
      await page.pdf({ path: file, format: "A4" });
      await page.emulateMedia({ media: "print" });
      for (const hidden of ["#entry", "footer", "#lead", ".actions", "#outcome > .actions button", "#title"])
        expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
      expect(await page.isVisible("#certificate img")).toBe(true);
      expect(complaints).toEqual([]);
    });
    expect(await describePdf(file)).toEqual({ pages: 1, title: titleFor(envelope) });
    const { verdict, text } = await readBack(file);
    expect(verdict).toBe("Signature: genuine");
    expect(text).toContain(JSON.parse(envelope).verificationId);
  });

  test.each([
    ["that is a no, with reasons, and a long name", "TR/2019/LA/000003"],
    ["about nobody", "TR/1999/XX/999999"],
  ])("%s takes one page too", async (_, regNo) => {
    const file = join(temp, "other.pdf");
    await within(openPage(), async ({ page }) => {
      await page.evaluate(
        `document.querySelector("#tool").dataset.registry = "${"Teachers Registration Council ".repeat(4)}"`,
      );
      await certificateFor(page, await askAbout(regNo));
      await page.pdf({ path: file, format: "A4" });
    });
    expect((await describePdf(file)).pages).toBe(1);
  });

  test("is read back from a photograph of the whole sheet: askew, blurred and small", async () => {
    const file = join(temp, "photograph.jpg");
    await within(openPage(), async ({ page }) => {
      await certificateFor(page, envelope);
      await page.setViewportSize({ width: 700, height: 1050 });
      await page.emulateMedia({ media: "print" });
      const sheet = (await page.screenshot()).toString("base64");
      await page.goto("about:blank");
      await page.setViewportSize({ width: 1000, height: 1300 });
      await page.setContent(`<body style="margin: 0; background: #876">
        <img src="data:image/png;base64,${sheet}" style="margin: 110px 140px; transform: rotate(6deg) skewY(1deg); filter: blur(.6px) contrast(.8)">`);
      await page.screenshot({ path: file, type: "jpeg", quality: 55 });
    });
    expect((await readBack(file)).verdict).toBe("Signature: genuine");
  });

  test("is read back from a screenshot and from photographs of single codes", async () => {
    const sheet = join(temp, "codes.png");
    const single = [1, 2].map((number) => join(temp, `code-${number}.jpg`));
    await within(openPage(), async ({ page }) => {
      await certificateFor(page, envelope);
      await page.locator(".codes").screenshot({ path: sheet });
      for (const [index, file] of single.entries()) {
        const figure = page.locator(".codes figure").nth(index);
        await figure.screenshot({ path: file, type: "jpeg", quality: 60 });
      }
    });
    expect((await readBack(sheet)).verdict).toBe("Signature: genuine");
    await within(openPage(), async ({ page }) => {
      await page.setInputFiles("#files", single.slice(0, 1));
      expect((await outcomeOf(page)).text).toContain("has 2 codes, and these were not found: 2.");
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

describe("a certificate with a proof of the evidence log", () => {
  const file = join(temp, "proven.pdf");
  let log: Awaited<ReturnType<typeof makeLog>>;

  beforeAll(async () => {
    log = await makeLog(`${new URL(site.url).host}/log`);
  });

  test("carries the proof in codes of its own, and the page reads both back", async () => {
    // As long as a proof gets in a log of sixty million entries.
    const proof = await log.proveDeep(JSON.parse(envelope).signature, new Date(), 26);
    await within(openProving(log), async ({ page, complaints }) => {
      const buffer = Buffer.from(proof);
      await page.setInputFiles("#files", { name: "a.tlog-proof", mimeType: "text/plain", buffer });
      await certificateFor(page, envelope);
      const text = await shownIn(page, "#certificate");
      for (const shown of ["Evidence log: recorded by", "Proof, code 4 of 4", "Code 2 of 2"]) {
        expect(text).toContain(shown);
      }
      await page.pdf({ path: file, format: "A4" });
      for (const [index, figure] of (await page.locator(".codes figure").all()).entries()) {
        await figure.screenshot({ path: join(temp, `proven-${index}.jpg`), type: "jpeg", quality: 60 });
      }
      expect(complaints).toEqual([]);
    });
    await within(openProving(log), async ({ page }) => {
      await page.setInputFiles("#files", file);
      await untilOutcomeSays(page, "Evidence log: recorded by");
      expect(await shownIn(page, "#proof-name")).toBe("Proof: from the codes of the attestation");
      expect(await shownIn(page, "#outcome")).toContain("of 67,108,864 at that time");
    });
  });

  test("is read from photographs in any order, and says which code of the proof is missing", () =>
    within(openProving(log), async ({ page }) => {
      const pictures = [4, 0, 3, 1, 2].map((index) => join(temp, `proven-${index}.jpg`));
      await page.setInputFiles("#files", pictures);
      await untilOutcomeSays(page, "The proof on the attestation has 4 codes, and these were not found: 4.");
      await page.setInputFiles("#files", [...pictures, join(temp, "proven-5.jpg")]);
      await untilOutcomeSays(page, "Evidence log: recorded by");
    }));

  test("made without it has two codes as ever, and a proof's file may be opened with it", () =>
    within(openProving(log), async ({ page }) => {
      await certificateFor(page, envelope);
      expect(await page.locator("#certificate figure").count()).toBe(2);
      expect(await shownIn(page, "#certificate")).not.toContain("vidence log");
      const [bare, proof] = [join(temp, "bare.pdf"), join(temp, "bare.tlog-proof")];
      await page.pdf({ path: bare, format: "A4" });
      await writeFile(proof, await log.prove(JSON.parse(envelope).signature, new Date()));
      await page.setInputFiles("#files", [bare, proof]);
      await untilOutcomeSays(page, "Evidence log: recorded by");
    }));
});

test("on every screen nothing is cut off, and axe finds nothing", () =>
  within(openPage(), async ({ page }) => {
    await openSettings(page);
    await page.click("#proof-part summary");
    await page.click("#webhook-part > summary");
    await expectSound(page);
    const changed = JSON.parse(envelope);
    changed.result.teacher.name = "Somebody Else";
    await verify(page, JSON.stringify(changed));
    await expectSound(page);
    for (const shown of [envelope, await askAbout("TR/2019/LA/000003")]) {
      await page.reload();
      await certificateFor(page, shown);
      await expectSound(page);
    }
    await page.goto(`${site.url}${path}?keys=pasted`);
    await page.click("#webhook-part > summary");
    await expectSound(page);
  }));

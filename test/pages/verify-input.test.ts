/** The envelope page: whether a webhook delivery is ours; and what is put in by mistake or with ill will. */

import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pdfOfPictures, pngWithTwoHeaders } from "../certificate/picture-bombs.ts";
import { damagedTexts } from "../fixtures/damaged-texts.ts";
import { sharedFolder } from "../harness/folder.ts";
import { axeFindings, inBrowser } from "./browser.ts";
import {
  envelope,
  known,
  openPage,
  outcomeOf,
  path,
  reopen,
  sent,
  shownIn,
  site,
  untilOutcomeSays,
  useEnvelopePage,
  verify,
  within,
} from "./envelope-page.ts";

useEnvelopePage();

const temp = sharedFolder();

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

  test("that is good is called genuine, and its event is shown; and each fault is named", () =>
    within(openPage(), async ({ page, requested }) => {
      await page.click("#webhook-part > summary");
      const good = { body, "signature-header": header, secret, arrived };
      const check = async (given: Partial<typeof good>, words: string) => {
        await reopen(page);
        for (const [field, value] of Object.entries({ ...good, ...given }))
          await page.fill(`#${field}`, value);
        await page.click("#webhook-form button");
        await untilOutcomeSays(page, words);
        return outcomeOf(page);
      };
      const before = sent(requested).length;
      const { verdict, text } = await check({}, "Event: license.revoked");
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain(known);
      expect(await axeFindings(page)).toEqual([]);
      for (const [given, words] of [
        [{ body: `${body} ` }, "SIGNATURE_MISMATCH"],
        [{ "signature-header": "v1=00" }, "SIGNATURE_HEADER_MALFORMED"],
        [{ secret: "whsec_other" }, "SIGNATURE_MISMATCH"],
        [{ arrived: "" }, "OUTSIDE_REPLAY_WINDOW"],
        [{ secret: "" }, "Type in the webhook secret"],
        [{ secret: "whsec_p\u00e4ge" }, "The webhook secret has characters that no secret has"],
        [{ body: "" }, "There is nothing to verify"],
        [{ arrived: "yesterday" }, "The time of arrival is not understood"],
      ] as const)
        expect((await check(given, words)).verdict).not.toBe("Signature: genuine");
      expect(sent(requested).slice(before)).toEqual([]);
    }));

  test("may be opened as a file, byte for byte", () =>
    within(openPage(), async ({ page }) => {
      const bytes = Buffer.from(body.replace("{", "{\r\n"));
      const signed = createHmac("sha256", secret).update(`${seconds}.`).update(bytes).digest("hex");
      await page.click("#webhook-part > summary");
      await page.setInputFiles("#body-file", { name: "b.json", mimeType: "application/json", buffer: bytes });
      await page.fill("#signature-header", `t=${seconds},v1=${signed}`);
      await page.fill("#secret", secret);
      await page.fill("#arrived", arrived);
      await page.click("#webhook-form button");
      expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
    }));
});

describe("bad input is answered in plain words", () => {
  test("of each kind of text", () =>
    within(openPage(), async ({ page, complaints }) => {
      for (const [text, words] of [
        ["", "There is nothing to verify"],
        ["hello", "This is a text that is neither JSON nor a signature"],
        ["<html>\n<p>Bad gateway</p>\n</html>", "This is a web page, not an envelope."],
        ['{"signature":', "JSON_MALFORMED"],
        ["[]", "There is no envelope in it."],
        ["x".repeat(1024 * 1024 + 1), "more than 1 MiB of text"],
      ] as const) {
        await verify(page, text);
        await untilOutcomeSays(page, words);
      }
      expect(complaints).toEqual([]);
    }));

  test("a genuine envelope in another encoding is genuine, and one that mail has changed is not called false", () =>
    within(openPage(), async ({ page }) => {
      for (const [name, { bytes, verdict }] of Object.entries(damagedTexts(envelope))) {
        await reopen(page);
        await page.setInputFiles("#files", {
          name: "x.json",
          mimeType: "text/plain",
          buffer: Buffer.from(bytes),
        });
        const due = verdict === "valid" ? "Signature: genuine" : "Cannot be decided";
        expect([name, (await outcomeOf(page)).verdict]).toEqual([name, due]);
        if (verdict === "valid") continue;
        await reopen(page);
        await verify(page, Buffer.from(bytes).toString("utf8"));
        expect([name, (await outcomeOf(page)).verdict]).toEqual([
          name,
          name === "a signature with a space at its end" ? "Signature: genuine" : due,
        ]);
      }
      await reopen(page);
      await verify(page, `\uFEFF${envelope}`);
      expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
    }));

  const hugePng = Buffer.from("89504e470d0a1a0a0000000d4948445200ffffff00ffffff010000000000000000", "hex");
  test("of each kind of file", () =>
    within(openPage(), async ({ page }) => {
      const files: [name: string, bytes: Uint8Array, words: string][] = [
        ["x.zip", Buffer.from("PK\u0003\u0004\u0000\u0000"), "This kind of file holds no envelope"],
        ["x.png", Buffer.from("89504e470d0a1a0a00", "hex"), "The picture is damaged"],
        ["x.pdf", Buffer.from("%PDF-1.7\nnothing"), "The PDF is damaged"],
        ["x.png", hugePng, "more than 40 million pixels"],
        ["x.json", Buffer.alloc(20 * 1024 * 1024 + 1, " "), "larger than 20 MiB"],
        // It says twice how large it is.
        ["x.png", pngWithTwoHeaders(), "The picture is damaged"],
        // More pictures than an attestation has.
        ["x.pdf", pdfOfPictures(121, 64), "more than 120 pictures"],
        ["x.png", await page.screenshot(), "No QR code of an attestation was found"],
      ];
      for (const [name, bytes, words] of files) {
        const file = join(temp, name);
        await writeFile(file, bytes);
        await page.setInputFiles("#files", file);
        await untilOutcomeSays(page, words);
      }
    }));

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

  test("without JavaScript, what to do instead", () =>
    inBrowser({ javaScriptEnabled: false }, async ({ page }) => {
      await page.goto(`${site.url}${path}`);
      expect(await shownIn(page, "#needs-script")).toContain("tvs verify envelope.json");
      expect(await page.isVisible("#tool")).toBe(false);
    }));
});

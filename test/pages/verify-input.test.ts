/** The envelope page: what is put in by mistake or with ill will. */

import { expect, test } from "bun:test";
import { envelope, openPage, outcomeOf, untilOutcomeSays, useEnvelopePage, within } from "./envelope-page.ts";

useEnvelopePage();

test("each kind of bad file is answered in plain words", () =>
  within(openPage(), async ({ page }) => {
    const files: [name: string, bytes: Uint8Array, words: string][] = [
      ["x.zip", Buffer.from("PK\u0003\u0004\u0000\u0000"), "This kind of file holds no envelope"],
      ["x.json", Buffer.alloc(1024 * 1024 + 1, " "), "more than 1 MiB of text"],
      ["x.pdf", Buffer.from("%PDF-1.7\nnothing"), "point a phone's camera at its code"],
      ["x.png", await page.screenshot(), "point a phone's camera at its code"],
    ];
    for (const [name, buffer, words] of files) {
      await page.setInputFiles("#files", { name, mimeType: "", buffer: Buffer.from(buffer) });
      await untilOutcomeSays(page, words);
    }
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

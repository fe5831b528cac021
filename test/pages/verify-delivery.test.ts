/** The envelope page: whether a webhook delivery is ours. */

import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { axeFindings } from "./browser.ts";
import { known, openPage, outcomeOf, sent, useEnvelopePage, within } from "./envelope-page.ts";

useEnvelopePage();

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
      await page.click("#webhook-part > summary");
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
      await page.click("#webhook-part > summary");
      await page.setInputFiles("#body-file", { name: "b.json", mimeType: "application/json", buffer: bytes });
      await page.fill("#signature-header", `t=${seconds},v1=${signed}`);
      await page.fill("#secret", secret);
      await page.fill("#arrived", arrived);
      await page.click("#webhook-form button");
      expect((await outcomeOf(page)).verdict).toBe("Signature: genuine");
    }));
});

/** What another service signed, or nobody, on the envelope page. */

import { describe, expect, test } from "bun:test";
import {
  envelope,
  fixture,
  openPage,
  openSettings,
  site,
  useEnvelopePage,
  verify,
  within,
} from "./envelope-page.ts";

useEnvelopePage();

describe("an envelope that this service did not sign", () => {
  test("an unknown key leaves it undecided, and says what to do", () =>
    within(openPage(), async ({ page }) => {
      const { verdict, text } = await verify(page, await fixture("valid.json"));
      expect(verdict).toBe("Cannot be decided here");
      expect(text).toContain("KID_UNKNOWN");
      expect(text).toContain(
        "It says it comes from https://teachers.example, which is another service. Check it there",
      );
      expect(text).toContain("This does not mean that it is false.");
      expect(text).not.toContain("JWKS");
      // Nothing proves where it is from, so nothing leads there.
      expect(await page.locator("#outcome a").count()).toBe(0);
    }));

  test("a key that this service never had is not looked for elsewhere", () =>
    within(openPage(), async ({ page }) => {
      const foreign = JSON.parse(await fixture("valid.json"));
      const [head, payload, signature] = foreign.signature.split(".");
      const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
      const own = Buffer.from(JSON.stringify({ ...claims, iss: site.url })).toString("base64url");
      const { verdict, text } = await verify(page, `${head}.${own}.${signature}`);
      expect(verdict).toBe("Cannot be decided");
      expect(text).toContain("This service has published no key with the id that it names.");
      expect(text).not.toContain("another service");
    }));

  test("an answer of another issuer than the one that was named is not called a forgery", () =>
    within(openPage(), async ({ page }) => {
      await openSettings(page);
      await page.fill("#issuer", "https://other.example");
      const { verdict, text } = await verify(page, envelope);
      expect(verdict).toBe("Not from the issuer that you named");
      expect(text).toContain("The signature is good");
    }));
});

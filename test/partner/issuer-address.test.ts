import { expect, test } from "bun:test";
import { pageOfIssuer } from "../../src/partner/issuer-address.ts";

test("an issuer's page is verify-envelope below the issuer's address", () => {
  expect(pageOfIssuer("https://verify.example.gov/")).toBe("https://verify.example.gov/verify-envelope");
  expect(pageOfIssuer("https://example.gov/teachers")).toBe("https://example.gov/teachers/verify-envelope");
});

test.each([
  ["no address at all", "the registry"],
  ["another scheme", "javascript:alert(1)//"],
  ["a password", "https://me:secret@verify.example.gov"],
  ["a query", "https://verify.example.gov/?to=elsewhere"],
  ["a fragment", "https://verify.example.gov/#main"],
  ["more than 2,000 characters", `https://verify.example.gov/${"a".repeat(2_000)}`],
])("an issuer that is or has %s has no page", (_, issuer) => {
  expect(pageOfIssuer(issuer)).toBeNull();
});

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type InstalledPackage, installPackage } from "../ci/installed-package.ts";
import { audience, type FixtureCase, folder, issuer, now } from "../fixtures/envelope-tokens.ts";
import { type Browser, patienceMs, startBrowser } from "./browser.ts";
import { openSite, type Site } from "./site.ts";

setDefaultTimeout(patienceMs);

const cases: FixtureCase[] = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));

/** The site of a partner's: a page of its own, and the installed package's module beside it. */
let partner: Server;
let partnerUrl: string;
let installed: InstalledPackage;
let site: Site;
let browser: Browser;
beforeAll(async () => {
  [site, browser, installed] = await Promise.all([openSite(), startBrowser(), installPackage()]);
  const module = readFileSync(join(installed.project, "node_modules/tvs-partner/index.js"));
  partner = createServer(({ url }, response) => {
    const isModule = url === "/tvs-partner.js";
    response.setHeader("Content-Type", isModule ? "text/javascript" : "text/html");
    response.end(isModule ? module : "<!doctype html><title>Partner</title>");
  });
  await new Promise<void>((resolve) => partner.listen(0, "127.0.0.1", resolve));
  partnerUrl = `http://127.0.0.1:${(partner.address() as AddressInfo).port}`;
});
afterAll(async () => {
  partner.close();
  await Promise.all([browser.close(), site.close(), installed.remove()]);
});

/** The cases with their files as text that a page can hold: bytes in base64. */
function packedCases() {
  const read = (...path: string[]) => readFileSync(join(folder, ...path)).toString("base64");
  return cases.map(({ input, jwks, keyHistory }) => ({
    input: read("inputs", input),
    jwks: jwks === null ? null : read("keys", jwks),
    keyHistory: keyHistory === null ? null : read("keys", keyHistory),
  }));
}

const judgeInPage = `async ({ address, cases, issuer, audience, now }) => {
  const { createKeySet, readEnvelopes, verifyEnvelope } = await import(address);
  const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const reasons = [];
  for (const { input, jwks, keyHistory } of cases) {
    const sources = { issuer };
    if (jwks !== null) sources.jwks = bytes(jwks);
    if (keyHistory !== null) sources.keyHistory = bytes(keyHistory);
    const options = { keys: await createKeySet(sources), issuer, audience, now: new Date(now) };
    const found = [];
    for (const item of readEnvelopes(bytes(input)))
      found.push("refusal" in item ? item.refusal.reason : (await verifyEnvelope(item.value, options)).reason);
    reasons.push(found);
  }
  return reasons;
}`;

test("a page of another site judges every envelope as it is due, with the module that the package has too", async () => {
  const served = `${site.url}/v1/inter-agency/verify.mjs`;
  expect(await (await fetch(served)).text()).toBe(await (await fetch(`${partnerUrl}/tvs-partner.js`)).text());
  const { page, complaints, requested } = await browser.open();
  await page.goto(partnerUrl);
  const given = { address: served, cases: packedCases(), issuer, audience, now };
  const reasons = await page.evaluate(`(${judgeInPage})(${JSON.stringify(given)})`);
  expect(reasons).toEqual(cases.map((one) => one.reasons));
  expect(requested).toContain(served);
  expect(complaints.filter((one) => !one.includes("favicon"))).toEqual([]);
  await page.close();
});

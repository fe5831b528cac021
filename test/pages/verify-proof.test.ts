/** The envelope page: an envelope and the proof that the evidence log had it, as the public and a court go through it. */

import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { axeFindings, expectSound, type Tab } from "./browser.ts";
import {
  askAbout,
  checksOf,
  envelope,
  fixture,
  openPage,
  openPasted,
  openProving,
  openSettings,
  outcomeOf,
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
import { makeLog } from "./evidence-log.ts";

useEnvelopePage();

type Log = Awaited<ReturnType<typeof makeLog>>;

/** The log of this service, as the page asks for its key, and that of the fixtures' issuer. */
let log: Log;
let fixtureLog: Log;
let proof: string;
let jws: string;

beforeAll(async () => {
  log = await makeLog(`${new URL(site.url).host}/log`);
  fixtureLog = await makeLog("teachers.example/log");
  jws = JSON.parse(envelope).signature;
  proof = await log.prove(jws, new Date());
});

async function openProvingPasted(): Promise<Tab> {
  const tab = await openPasted();
  await tab.page.fill("#log-key", fixtureLog.key);
  return tab;
}

function fileOf(name: string, content: string) {
  return { name, mimeType: "application/octet-stream", buffer: Buffer.from(content) };
}

const envelopeFile = () => fileOf("envelope.json", envelope);
const proofFile = (content = proof) => fileOf("answer.tlog-proof", content);

async function pasteProof(page: Page, text: string): Promise<void> {
  await reopen(page);
  await openSettings(page);
  await page.click("#proof-part summary");
  await page.fill("#proof", text);
}

async function signatureOf(name: string): Promise<string> {
  return JSON.parse(await fixture(name)).signature;
}

describe("a proof beside an envelope", () => {
  test("is opened together with it, and shown below the two verdicts", () =>
    within(openProving(log), async ({ page, complaints, requested }) => {
      await page.setInputFiles("#files", [proofFile(), envelopeFile()]);
      const { verdict, text } = await outcomeOf(page);
      expect(verdict).toBe("Signature: genuine");
      expect(text).toContain("This answer was in the register's evidence log by ");
      expect(text).toContain("It is entry number 4, counted from 0, of 5 at that time.");
      expect(await tonesIn(page, "#outcome")).toEqual(["good", "good"]);
      const sizes = await page
        .locator("#outcome .verdict h2, #outcome .evidence h3")
        .evaluateAll((all) => all.map((one) => Number.parseFloat(getComputedStyle(one).fontSize)));
      expect(sizes).toHaveLength(3);
      expect(sizes[2]).toBeLessThan(sizes[1] ?? 0);
      expect(await checksOf(page, "Passed")).toHaveLength(13);
      expect(requested.filter((address) => address.endsWith("/log/key"))).toHaveLength(1);
      expect(await axeFindings(page)).toEqual([]);
      expect(complaints).toEqual([]);
    }));

  test("may come first or second, and does not stay for the next envelope", () =>
    within(openProving(log), async ({ page }) => {
      await page.setInputFiles("#files", proofFile());
      await untilOutcomeSays(page, "The proof is ready");
      expect(await shownIn(page, "#proof-name")).toBe("Proof: file answer.tlog-proof");
      await verify(page, envelope);
      await untilOutcomeSays(page, "Evidence log: recorded by");
      await page.setInputFiles("#files", fileOf("next.json", await askAbout("TR/2019/LA/000003")));
      await untilOutcomeSays(page, "Licence already revoked on");
      expect(await page.locator(".evidence").count()).toBe(0);
      expect(await shownIn(page, "#proof-name")).toBe("");
      await page.setInputFiles("#files", envelopeFile());
      await untilOutcomeSays(page, "Licensed on");
      await page.setInputFiles("#files", proofFile());
      await untilOutcomeSays(page, "Evidence log: recorded by");
    }));

  test("may be pasted, also where the envelope belongs, and be removed", () =>
    within(openProving(log), async ({ page }) => {
      await verify(page, proof);
      await untilOutcomeSays(page, "Now open or paste the envelope");
      expect(await page.inputValue("#envelope")).toBe("");
      await verify(page, envelope);
      await untilOutcomeSays(page, "Evidence log: recorded by");
      await reopen(page);
      await page.click("text=Remove the proof");
      expect(await page.evaluate("document.activeElement.id")).toBe("files");
      await submit(page);
      // Not only gone while the check is made: its result hides the form.
      await untilOutcomeSays(page, "Signature: genuine");
      expect(await page.locator(".evidence").count()).toBe(0);
      await pasteProof(page, `\n ${proof}\n\n`);
      await submit(page);
      await untilOutcomeSays(page, "Evidence log: recorded by");
    }));

  test("never makes a genuine no look like a yes", () =>
    within(openProving(log), async ({ page }) => {
      const revoked = await askAbout("TR/2019/LA/000003");
      const its = await log.prove(JSON.parse(revoked).signature, new Date());
      await page.setInputFiles("#files", [fileOf("revoked.json", revoked), proofFile(its)]);
      await untilOutcomeSays(page, "Evidence log: recorded by");
      expect(await tonesIn(page, "#outcome")).toEqual(["none", "bad"]);
      expect(await page.locator("#outcome .good:not(.badge)").count()).toBe(0);
    }));

  test("among several envelopes counts for the one that it is of", () =>
    within(openProving(log), async ({ page }) => {
      const results = [JSON.parse(envelope), JSON.parse(await askAbout("TR/2019/LA/000003"))];
      const batch = fileOf("batch.json", JSON.stringify({ count: 2, results }));
      await page.setInputFiles("#files", [batch, proofFile()]);
      await untilOutcomeSays(page, "Signatures: 2 of 2 genuine");
      expect(await page.locator(".evidence").count()).toBe(1);
      await page.setInputFiles("#files", [batch, proofFile(await log.prove("other", new Date()))]);
      await untilOutcomeSays(page, "The proof is of none of these envelopes.");
    }));

  test("cannot be judged while the log's key cannot be fetched", () =>
    within(openPage(), async ({ page }) => {
      await page.route("**/v1/inter-agency/log/key", (route) => route.fulfill({ status: 503 }));
      await page.setInputFiles("#files", [envelopeFile(), proofFile()]);
      const { verdict, text } = await outcomeOf(page);
      expect(verdict).toBe("Cannot be decided");
      expect(text).toContain("could not be fetched (it answered 503)");
    }));

  test("is one, not several", () =>
    within(openProving(log), async ({ page }) => {
      const other = fileOf("other.tlog-proof", await log.prove(jws, new Date(), 7));
      await page.setInputFiles("#files", [envelopeFile(), proofFile(), other]);
      expect((await outcomeOf(page)).text).toContain("Those are 2 proofs.");
    }));
});

describe("a wrong proof", () => {
  const early = new Date("2026-01-15T08:00:00Z");
  const of = async (origin: string, valid: string) => (await makeLog(origin)).prove(valid, early);
  const cases: [what: string, (valid: string) => string | Promise<string>, words: string][] = [
    ["another log", (valid) => of("elsewhere.example/log", valid), "the proof is of another log"],
    ["another envelope", () => fixtureLog.prove("another", early), "the proof is not of this envelope"],
    ["a later epoch", (valid) => of("teachers.example/log/2", valid), "a key of the log is missing"],
    [
      "the future",
      (valid) => fixtureLog.prove(valid, new Date("2026-03-02T00:00:00Z")),
      "the proof is from the future",
    ],
    ["a stranger's key", (valid) => of("teachers.example/log", valid), "the log did not sign this proof"],
    [
      "half a file",
      async (valid) => (await fixtureLog.prove(valid, early)).slice(0, 120),
      "the proof is damaged",
    ],
    ["something else", () => "this is no proof", "this is no proof"],
  ];

  test("is named for what it is, and the envelope can be verified without it", () =>
    within(openProvingPasted(), async ({ page, complaints }) => {
      for (const [, make, words] of cases) {
        const bad = await make(await signatureOf("valid.json"));
        await page.setInputFiles("#files", [
          fileOf("valid.json", await fixture("valid.json")),
          proofFile(bad),
        ]);
        await untilOutcomeSays(page, words);
        const { text } = await outcomeOf(page);
        expect(text).toContain("It says nothing about the envelope");
        expect(text).not.toContain("What is signed");
        expect(await tonesIn(page, "#outcome")).not.toContain("good");
        await page.click("text=Verify without the proof");
        await untilOutcomeSays(page, "Signature: genuine");
        expect(await page.locator(".evidence").count()).toBe(0);
      }
      expect(complaints).toEqual([]);
    }));

  test("without the log's key cannot be told from a good one, and the page says what to paste", () =>
    within(openPasted(), async ({ page, requested }) => {
      const before = sent(requested).length;
      const good = await fixtureLog.prove(await signatureOf("valid.json"), early);
      await page.setInputFiles("#files", [
        fileOf("valid.json", await fixture("valid.json")),
        proofFile(good),
      ]);
      expect((await outcomeOf(page)).text).toContain("Paste the evidence log's key as well");
      await page.fill("#log-key", "not a key");
      await submit(page);
      await untilOutcomeSays(page, "given as the evidence log's key is not one");
      await page.fill("#log-key", fixtureLog.key);
      await submit(page);
      await untilOutcomeSays(page, "Evidence log: recorded by 15 January 2026, 08:00:00 UTC");
      expect(sent(requested).slice(before)).toEqual([]);
    }));
});

describe("an answer whose key was compromised on 2025-09-01 at noon", () => {
  test.each([
    [
      "counts with a proof that is older, and the page says why",
      "valid-before-compromise.json",
      "2025-09-01T11:59:59Z",
      "Signature: genuine",
      "because it was in the log before that time",
      "good",
    ],
    [
      "is refused when it was signed later, and the page says what could help",
      "compromised.json",
      null,
      "Not accepted: its key was compromised",
      "If there is a proof from the evidence log that is older than the compromise",
      "bad",
    ],
  ])("%s", (_name, name, at, verdict, words, tone) =>
    within(openProvingPasted(), async ({ page }) => {
      const content = await fixture(name);
      const given = [fileOf(name, content)];
      if (at !== null)
        given.push(proofFile(await fixtureLog.prove(JSON.parse(content).signature, new Date(at))));
      await page.setInputFiles("#files", given);
      const outcome = await outcomeOf(page);
      expect(outcome.verdict).toBe(verdict);
      expect(outcome.text).toContain(words);
      expect((await tonesIn(page, "#outcome"))[0]).toBe(tone);
      if (at === null) expect(await axeFindings(page)).toEqual([]);
    }),
  );

  test("among sound ones keeps their sum from looking sound", () =>
    within(openProvingPasted(), async ({ page }) => {
      const names = ["valid.json", "valid-before-compromise.json"];
      const results = await Promise.all(names.map(async (name) => JSON.parse(await fixture(name))));
      await verify(page, JSON.stringify({ count: 2, results }));
      await untilOutcomeSays(page, "because the key was compromised later: 1 of them.");
      expect((await tonesIn(page, "#outcome"))[0]).toBe("warn");
    }));
});

test("on every screen nothing is cut off, and axe finds nothing", () =>
  within(openProving(log), async ({ page }) => {
    await page.setInputFiles("#files", fileOf(`${"long-".repeat(20)}.tlog-proof`, proof));
    await untilOutcomeSays(page, "The proof is ready");
    await expectSound(page);
    await page.setInputFiles("#files", envelopeFile());
    await untilOutcomeSays(page, "Evidence log: recorded by");
    await expectSound(page);
    await page.click("text=Make an attestation to print");
    await page.waitForSelector("#certificate img");
    await expectSound(page);
    await page.setInputFiles("#files", [envelopeFile(), proofFile(await log.prove("other", new Date()))]);
    await untilOutcomeSays(page, "the proof is not of this envelope");
    await expectSound(page);
  }));

test("by keyboard alone", () =>
  within(openProving(log), async ({ page }) => {
    await page.focus("#envelope");
    await page.keyboard.insertText(envelope);
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    // The settings, past the signer and the partner id to the proof, and on to the button.
    await press("Tab", "Enter", "Tab", "Tab", "Tab", "Enter", "Tab");
    await page.keyboard.insertText(proof);
    await press("Tab", "Tab", "Enter");
    await untilOutcomeSays(page, "Evidence log: recorded by");
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H2");
  }));

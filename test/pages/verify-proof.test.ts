/** Tests of the envelope page with proofs of the evidence log. */

import { beforeAll, expect, test } from "bun:test";
import { signCheckpoint } from "../../src/partner/log-checkpoint.ts";
import { formatVerifierKey } from "../../src/partner/signed-note.ts";
import { leafOf, proofOf } from "../fixtures/log-notes.ts";
import { mth, path as pathOf } from "../fixtures/rfc6962.ts";
import { aCheckpointKey } from "../harness/checkpoint-key.ts";
import { expectAccessiblePage, findAxeViolations, type Tab } from "./browser.ts";
import {
  envelope,
  listChecksMarked,
  openPageWithLogKey,
  openWithPastedKeys,
  outcomeOf,
  readFixture,
  runInTab,
  shownTextOf,
  site,
  tonesIn,
  useEnvelopePage,
  waitForOutcome,
} from "./envelope-page.ts";

useEnvelopePage();

/** Makes a log with its own key. `prove` makes the proof for an envelope that the log has after four other entries. */
async function makeLog(origin: string) {
  const key = aCheckpointKey();
  return {
    key: `${await formatVerifierKey(origin, key.publicKey)}\n`,
    async prove(jws: string, at: Date): Promise<string> {
      const leaves = [..."0123"].map((other) => leafOf(other)).concat(leafOf(jws));
      const head = { origin, size: leaves.length, root: new Uint8Array(mth(leaves)) };
      const checkpoint = await signCheckpoint(head, Math.floor(at.getTime() / 1000), key);
      return proofOf(4, pathOf(4, leaves), checkpoint);
    },
  };
}

type Log = Awaited<ReturnType<typeof makeLog>>;

/** A log of this service, and a log of the fixtures' issuer. */
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
  const tab = await openWithPastedKeys();
  await tab.page.fill("#log-key", fixtureLog.key);
  return tab;
}

function fileOf(name: string, content: string) {
  return { name, mimeType: "application/octet-stream", buffer: Buffer.from(content) };
}

const envelopeFile = () => fileOf("envelope.json", envelope);
const proofFile = (content = proof) => fileOf("answer.tlog-proof", content);

async function signatureOf(name: string): Promise<string> {
  return JSON.parse(await readFixture(name)).signature;
}

test("the envelope page opens a log proof together with its envelope, and shows it below the two verdicts", () =>
  runInTab(openPageWithLogKey(log), async ({ page, complaints, requested }) => {
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
    expect(await listChecksMarked(page, "Passed")).toHaveLength(13);
    expect(requested.filter((address) => address.endsWith("/log/key"))).toHaveLength(1);
    expect(await findAxeViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  }));

const early = new Date("2026-01-15T08:00:00Z");
/** Wrong proofs of an envelope, each with the words that name its fault. */
const wrongProofs: [make: (valid: string) => string | Promise<string>, words: string][] = [
  [async (jws) => (await makeLog("elsewhere.example/log")).prove(jws, early), "the proof is of another log"],
  [() => fixtureLog.prove("another", early), "the proof is not of this envelope"],
  [() => "this is no proof", "this is no proof"],
];

test("the envelope page names the fault of a wrong log proof, and verifies the envelope without it", () =>
  runInTab(openProvingPasted(), async ({ page, complaints }) => {
    for (const [make, words] of wrongProofs) {
      const bad = await make(await signatureOf("valid.json"));
      await page.setInputFiles("#files", [
        fileOf("valid.json", await readFixture("valid.json")),
        proofFile(bad),
      ]);
      await waitForOutcome(page, words);
      const { text } = await outcomeOf(page);
      expect(text).toContain("It says nothing about the envelope");
      expect(text).not.toContain("What is signed");
      expect(await tonesIn(page, "#outcome")).not.toContain("good");
      await page.click("text=Verify without the proof");
      await waitForOutcome(page, "Signature: genuine");
      expect(await page.locator(".evidence").count()).toBe(0);
    }
    expect(complaints).toEqual([]);
  }));

test.each([
  [
    "accepts an answer whose log proof is older than the compromise of its key, and says why",
    "valid-before-compromise.json",
    "2025-09-01T11:59:59Z",
    "Signature: genuine",
    "because it was in the log before that time",
    "good",
  ],
  [
    "refuses an answer that was signed after the compromise of its key, and says what could help",
    "compromised.json",
    null,
    "Not accepted: its key was compromised",
    "If there is a proof from the evidence log that is older than the compromise",
    "bad",
  ],
])("the envelope page %s", (_name, name, at, verdict, words, tone) =>
  runInTab(openProvingPasted(), async ({ page }) => {
    const content = await readFixture(name);
    const given = [fileOf(name, content)];
    if (at !== null)
      given.push(proofFile(await fixtureLog.prove(JSON.parse(content).signature, new Date(at))));
    await page.setInputFiles("#files", given);
    const outcome = await outcomeOf(page);
    expect(outcome.verdict).toBe(verdict);
    expect(outcome.text).toContain(words);
    expect((await tonesIn(page, "#outcome"))[0]).toBe(tone);
    if (at === null) expect(await findAxeViolations(page)).toEqual([]);
  }),
);

test("the envelope page with a log proof fits every screen, and axe finds no fault", () =>
  runInTab(openPageWithLogKey(log), async ({ page }) => {
    await page.setInputFiles("#files", fileOf(`${"long-".repeat(20)}.tlog-proof`, proof));
    await waitForOutcome(page, "The proof is ready");
    await expectAccessiblePage(page);
    await page.setInputFiles("#files", envelopeFile());
    await waitForOutcome(page, "Evidence log: recorded by");
    await expectAccessiblePage(page);
    await page.click("text=Make an attestation to print");
    await page.waitForSelector("#certificate img");
    const sheet = await shownTextOf(page, "#certificate");
    for (const words of ["Evidence log: recorded by", "keep it beside this page"])
      expect(sheet).toContain(words);
    await expectAccessiblePage(page);
    await page.setInputFiles("#files", [envelopeFile(), proofFile(await log.prove("other", new Date()))]);
    await waitForOutcome(page, "the proof is not of this envelope");
    await expectAccessiblePage(page);
  }));

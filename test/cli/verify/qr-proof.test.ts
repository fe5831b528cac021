import { describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { splitIntoCodes, splitProofIntoCodes } from "../../../src/partner/envelope-codes.ts";
import { logFolder } from "../../fixtures/log-notes.ts";
import type { LogCases } from "../../fixtures/make-log.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { earlierCodesOf, pdfOf, pngOf, sheetOf, storedBits } from "./certificate-pictures.ts";
import { run } from "./verify-run.ts";

const temp = sharedFolder();
const at = (path: string) => join(logFolder, path);
const index: LogCases = JSON.parse(await readFile(at("cases.json"), "utf8"));
const settings = ["--jwks", at(index.jwks), "--key-history", at(index.keyHistory), "--issuer", index.issuer];
settings.push("--audience", index.audience, "--now", index.now, "--qr");
const logKey = ["--log-key", at("keys/log.vkey")];

async function codesOf(name: string): Promise<string[]> {
  return splitIntoCodes(JSON.parse(await readFile(at(`envelopes/${name}.json`), "utf8")).signature);
}

async function proofCodesOf(name: string): Promise<string[]> {
  return splitProofIntoCodes(await readFile(at(`proofs/${name}.tlog-proof`), "utf8"));
}

async function save(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(temp, name);
  await writeFile(path, bytes);
  return path;
}

/** A certificate of the envelope whose key was stolen, with a proof, as one picture. */
async function certificateWith(proof: string): Promise<string> {
  const codes = [...(await proofCodesOf(proof)), ...(await codesOf("genuine"))];
  return save(`${proof}.png`, pngOf(sheetOf(codes)));
}

const early = "stolen-key-proved-by-first-checkpoint";

describe("tvs verify --qr of a certificate with a proof of the evidence log", () => {
  test("judges both", async () => {
    const { code, objects } = await run([...settings, ...logKey, "--json", await certificateWith(early)]);
    expect(objects).toMatchObject([
      { valid: true, warnings: [], log: { index: 2, precedesCompromise: true } },
    ]);
    expect(objects[0]).not.toHaveProperty("proofNotJudged");
    expect(code).toBe(0);
  });

  test("reads them from a PDF in which each code is a picture", async () => {
    const codes = [...(await proofCodesOf(early)), ...(await codesOf("genuine"))];
    const pictures = codes.map((code) => {
      const picture = sheetOf([code]);
      return { ...picture, ...storedBits(picture) };
    });
    const file = await save("proven.pdf", pdfOf(pictures));
    const { code, stdout } = await run([...settings, ...logKey, file]);
    expect(stdout).toContain("because the log had it before its key was compromised");
    expect(code).toBe(0);
  });

  test("reads them from one picture of each, the envelope's first", async () => {
    const codes = [...(await codesOf("genuine")), ...(await proofCodesOf(early))];
    const files: string[] = [];
    for (const [number, code] of codes.entries()) {
      files.push(await save(`code-${number}.png`, pngOf(sheetOf([code]))));
    }
    const { code, objects } = await run([...settings, ...logKey, "--json", ...files]);
    expect(objects).toMatchObject([{ valid: true, log: { precedesCompromise: true } }]);
    expect(code).toBe(0);
  });

  test("without the log's key judges the envelope alone, and says that there is more", async () => {
    const { code, stdout } = await run([...settings, await certificateWith(early)]);
    expect(stdout).toContain("COULD_BE_BACKDATED");
    expect(stdout).toContain(
      "the attestation carries a proof of the evidence log: --log-key KEY has it judged",
    );
    expect(code).toBe(0);
    const { objects } = await run([...settings, "--json", await certificateWith(early)]);
    expect(objects).toMatchObject([{ log: null, proofNotJudged: true }]);
  });

  test("refuses a proof that is not of this envelope, by name", async () => {
    const file = await certificateWith("of-another-envelope");
    const { code, objects } = await run([...settings, ...logKey, "--json", file]);
    expect(objects).toMatchObject([{ reason: "PROOF_OF_ANOTHER_ENVELOPE", log: null }]);
    expect(code).toBe(1);
  });

  test("prefers the proof's file to the codes", async () => {
    const file = await certificateWith("of-another-envelope");
    const proof = ["--proof", at(`proofs/${early}.tlog-proof`)];
    expect((await run([...settings, ...logKey, ...proof, file])).code).toBe(0);
  });

  test("says which of its codes are missing, and that a proof alone is no certificate", async () => {
    const proof = await readFile(at(`proofs/${early}.tlog-proof`));
    const [first = "", second = "", ...others] = await earlierCodesOf("TVP1", proof.toString("base64url"));
    expect(others).toHaveLength(0);
    const part = await save("part.png", pngOf(sheetOf([second, ...(await codesOf("genuine"))])));
    const missing = await run([...settings, ...logKey, part]);
    expect(missing.stderr).toContain(
      "the proof on the attestation has 2 codes, and these were not found: 1;",
    );
    const alone = await run([
      ...settings,
      ...logKey,
      await save("alone.png", pngOf(sheetOf([first, second]))),
    ]);
    expect(alone.stderr).toContain("only the codes of a proof were found");
    expect([missing.code, alone.code]).toEqual([2, 2]);
  });

  test("takes a log's key for a certificate that has no proof", async () => {
    const file = await save("bare.png", pngOf(sheetOf(await codesOf("current"))));
    const { code, objects } = await run([...settings, ...logKey, "--json", file]);
    expect(objects).toMatchObject([{ valid: true, log: null }]);
    expect(code).toBe(0);
  });
});

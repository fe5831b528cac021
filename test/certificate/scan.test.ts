import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as pdfjs from "unpdf/pdfjs";
import { readPdfImages } from "../../src/certificate/pdf.ts";
import type { Pixels } from "../../src/certificate/pixels.ts";
import { createCodeReader } from "../../src/certificate/scan.ts";
import { joinCodes, splitIntoCodes, splitProofIntoCodes } from "../../src/partner/envelope-codes.ts";
import { folder } from "../fixtures/envelope-tokens.ts";
import { earlierCodesOf, pdfOf, sheetOf, storedBits, turned } from "./certificate-pictures.ts";

const jws = readFileSync(join(folder, "inputs", "valid-bare.jws"), "utf8").trim();
const codes = await splitIntoCodes(jws, "https://teachers.example/verify-envelope");
const sheet = sheetOf(codes);
const proof = `c2sp.org/tlog-proof@v1\n${"0123456789".repeat(60)}\n`;

async function* each(pictures: readonly Pixels[]): AsyncGenerator<Pixels> {
  yield* pictures;
}

/** What the codes of some files give, each file with its pictures. */
async function readBack(...files: readonly AsyncIterable<Pixels>[]) {
  const readCodes = createCodeReader();
  let texts: readonly string[] = [];
  for (const file of files) texts = await readCodes(file);
  return joinCodes(texts);
}

const pdfOfCodes = (texts: readonly string[]) =>
  pdfOf(texts.map((code) => sheetOf([code])).map((one) => ({ ...one, ...storedBits(one) })));

describe("codes are read from", () => {
  test.each([
    ["a sheet", sheet],
    ["a sheet that lies askew", turned(sheet, 17)],
    ["a sheet that was photographed upside down", turned(sheet, 180)],
  ])("%s", async (_, picture) => {
    expect(await readBack(each([picture]))).toEqual({ jws, proof: null });
  });

  test("one picture of each, in any order", async () => {
    const files = [...codes].reverse().map((code) => each([sheetOf([code])]));
    expect(files.length).toBeGreaterThan(1);
    expect(await readBack(...files)).toEqual({ jws, proof: null });
  });

  test("a PDF in which each is a picture, those of a proof among them", async () => {
    const all = [...(await splitProofIntoCodes(proof)), ...codes];
    const pictures = readPdfImages(new Uint8Array(pdfOfCodes(all)), pdfjs);
    expect(await readBack(pictures)).toEqual({ jws, proof });
  });

  test("a sheet that was printed before codes were links", async () => {
    const earlier = await earlierCodesOf("TVS1", jws);
    expect(earlier).toHaveLength(3);
    expect(await readBack(each([sheetOf(earlier)]))).toEqual({ jws, proof: null });
  });

  test("nothing where there are none, or others", async () => {
    const blank = { width: 300, height: 300, data: new Uint8ClampedArray(300 * 300 * 4).fill(255) };
    const menu = sheetOf(["https://www.example.org/menu"]);
    expect(await readBack(each([blank]), each([menu]))).toMatchObject({ problem: "NONE" });
  });
});

import { expect, test } from "bun:test";
import * as pdfjs from "unpdf/pdfjs";
import { readPdfImages } from "../../src/certificate/pdf.ts";
import type { Pixels } from "../../src/certificate/pixels.ts";
import { pdfDrawnOften, pdfOfPictures } from "./picture-bombs.ts";

async function sizesOf(pdf: Uint8Array): Promise<string[]> {
  const sizes: string[] = [];
  const describe = ({ width, height }: Pixels) => `${width}x${height}`;
  for await (const pixels of readPdfImages(new Uint8Array(pdf), pdfjs)) sizes.push(describe(pixels));
  return sizes;
}

test("a picture that a PDF draws 300 times is taken out once", async () => {
  expect(await sizesOf(pdfDrawnOften(300, 64))).toEqual(["64x64"]);
});

test("every picture of a page is taken out", async () => {
  expect(await sizesOf(pdfOfPictures(3, 64))).toEqual(["64x64", "64x64", "64x64"]);
});

test("a picture that is larger than the scanner looks at is halved as it is taken out", async () => {
  expect(await sizesOf(pdfOfPictures(1, 4000))).toEqual(["2000x2000"]);
});

/**
 * The pictures of a PDF. A certificate that a browser saved holds each code as a picture without loss; a
 * scanned one holds a picture of each page. Fonts, text and drawings are not looked at.
 */

import type * as PdfLibrary from "unpdf/pdfjs";
import { maxImagePixels, maxSide, type Pixels } from "./pixels.ts";

export type PdfReader = Pick<typeof PdfLibrary, "getDocument" | "OPS" | "ImageKind">;

/** A certificate has two or three pages. */
const maxPages = 20;
/**
 * Pictures of a PDF at most: each of its codes, 99 of them, may be a picture; so may each page, when it was scanned.
 */
const maxPictures = 120;
const maxPixels = 120_000_000;

/** What is in the file would take too long to read. */
export class PdfTooLarge extends Error {}

type PdfImage = { width: number; height: number; kind: number; data?: Uint8Array | Uint8ClampedArray };

/** Everything that would fetch, draw or start a worker is off: only the bytes at hand are read. */
const quiet = {
  isOffscreenCanvasSupported: false,
  isImageDecoderSupported: false,
  disableFontFace: true,
  useSystemFonts: false,
  useWasm: false,
  useWorkerFetch: false,
  maxImageSize: maxImagePixels,
  verbosity: 0,
};

function isImage(value: unknown): value is PdfImage {
  const image = value as Partial<PdfImage> | null;
  return typeof image === "object" && Number(image?.width) > 0 && Number(image?.height) > 0;
}

/** How light a pixel is, from one bit, three bytes or four; null for what is none of these. */
function lightnessOf({ width, kind, data }: PdfImage, kinds: PdfReader["ImageKind"]) {
  if (data === undefined) return null;
  const bytesPerRow = (width + 7) >> 3;
  if (kind === kinds.GRAYSCALE_1BPP) {
    return (x: number, y: number) =>
      ((data[y * bytesPerRow + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1 ? 255 : 0;
  }
  const step = kind === kinds.RGB_24BPP ? 3 : kind === kinds.RGBA_32BPP ? 4 : null;
  if (step === null) return null;
  return (x: number, y: number) => {
    const at = (y * width + x) * step;
    return ((data[at] ?? 0) + 2 * (data[at + 1] ?? 0) + (data[at + 2] ?? 0)) >> 2;
  };
}

/**
 * Four bytes a pixel, as the scanner wants them. It halves what is longer than its limit, so that is done at once: a
 * page scanned at 600 dpi would need 140 megabytes as it is.
 */
function toPixels(image: PdfImage, kinds: PdfReader["ImageKind"]): Pixels | null {
  const light = lightnessOf(image, kinds);
  if (light === null) return null;
  const isLarge = Math.max(image.width, image.height) > maxSide;
  const [width, height] = isLarge ? [image.width >> 1, image.height >> 1] : [image.width, image.height];
  const data = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 4) {
      const [left, top] = [x * 2, y * 2];
      const grey = isLarge
        ? (light(left, top) + light(left + 1, top) + light(left, top + 1) + light(left + 1, top + 1)) >> 2
        : light(x, y);
      data.fill(grey, to, to + 3);
    }
  }
  return { width, height, data };
}

type PdfPage = Awaited<ReturnType<PdfLibrary.PDFDocumentProxy["getPage"]>>;

/** Pictures are either part of the page's drawing or stored under a name, for this page or for all. */
async function* imagesOf(page: PdfPage, { OPS, ImageKind }: PdfReader, takeIn: (image: PdfImage) => void) {
  const { fnArray, argsArray } = await page.getOperatorList();
  const names = new Set<string>();
  for (const [index, operator] of fnArray.entries()) {
    const [subject] = (argsArray[index] ?? []) as unknown[];
    const isNamed = operator === OPS.paintImageXObject && typeof subject === "string";
    if (!isNamed && operator !== OPS.paintInlineImageXObject) continue;
    // Drawn twice it holds no more codes.
    if (isNamed && names.has(subject)) continue;
    if (isNamed) names.add(subject);
    const image = isNamed ? await named(page, subject) : subject;
    if (!isImage(image)) continue;
    takeIn(image);
    const pixels = toPixels(image, ImageKind);
    if (pixels !== null) yield pixels;
  }
}

/** Counts the pictures of one file. @throws PdfTooLarge */
function createCounter(): (image: PdfImage) => void {
  let [pictures, pixels] = [0, 0];
  return ({ width, height }) => {
    pictures++;
    pixels += width * height;
    if (pictures > maxPictures || pixels > maxPixels) {
      throw new PdfTooLarge();
    }
  };
}

function named(page: PdfPage, name: string): Promise<unknown> {
  const objects = name.startsWith("g_") ? page.commonObjs : page.objs;
  return new Promise((resolve) => {
    objects.get(name, resolve);
  });
}

/**
 * The pictures of a PDF, page by page, one at a time; one that a page draws several times comes once.
 *
 * @param bytes the file; it is given away and cannot be used afterwards
 * @param reader pdf.js
 * @throws PdfTooLarge, and what pdf.js throws for a file that is damaged or opens only with a password
 */
export async function* readPdfImages(bytes: Uint8Array, reader: PdfReader): AsyncGenerator<Pixels> {
  const opening = reader.getDocument({ ...quiet, data: bytes });
  try {
    const document = await opening.promise;
    const takeIn = createCounter();
    for (let number = 1; number <= Math.min(document.numPages, maxPages); number++) {
      const page = await document.getPage(number);
      yield* imagesOf(page, reader, takeIn);
      page.cleanup();
    }
  } finally {
    await opening.destroy();
  }
}

/**
 * Takes the pictures out of a PDF. A certificate that a browser saved holds each code as a picture without loss; a
 * scanned one holds a picture of each page. Fonts, text and drawings are not looked at.
 */

import type * as PdfLibrary from "unpdf/pdfjs";
import { maxImagePixels, type Pixels } from "./pixels.ts";

export type PdfReader = Pick<typeof PdfLibrary, "getDocument" | "OPS" | "ImageKind">;

/** A certificate has two or three pages. */
const maxPages = 20;

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

/** Four bytes a pixel, from one bit, three bytes or four; null for what is none of these. */
function toPixels({ width, height, kind, data }: PdfImage, kinds: PdfReader["ImageKind"]): Pixels | null {
  if (data === undefined) return null;
  if (kind === kinds.RGBA_32BPP) return { width, height, data };
  const pixels = new Uint8ClampedArray(width * height * 4).fill(255);
  const bytesPerRow = (width + 7) >> 3;
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 4) {
      if (kind === kinds.RGB_24BPP) {
        const from = (y * width + x) * 3;
        pixels.set(data.subarray(from, from + 3), to);
      } else if (kind === kinds.GRAYSCALE_1BPP) {
        const isLight = ((data[y * bytesPerRow + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1;
        pixels.fill(isLight === 1 ? 255 : 0, to, to + 3);
      } else return null;
    }
  }
  return { width, height, data: pixels };
}

type PdfPage = Awaited<ReturnType<PdfLibrary.PDFDocumentProxy["getPage"]>>;

/** Pictures are either part of the page's drawing or stored under a name, for this page or for all. */
async function imagesOf(page: PdfPage, { OPS, ImageKind }: PdfReader): Promise<Pixels[]> {
  const { fnArray, argsArray } = await page.getOperatorList();
  const images: Pixels[] = [];
  for (const [index, operator] of fnArray.entries()) {
    const [subject] = (argsArray[index] ?? []) as unknown[];
    const isNamed = operator === OPS.paintImageXObject && typeof subject === "string";
    const image = isNamed ? await named(page, subject) : subject;
    const isPainted = isNamed || operator === OPS.paintInlineImageXObject;
    const pixels = isPainted && isImage(image) ? toPixels(image, ImageKind) : null;
    if (pixels !== null) images.push(pixels);
  }
  return images;
}

function named(page: PdfPage, name: string): Promise<unknown> {
  const objects = name.startsWith("g_") ? page.commonObjs : page.objs;
  return new Promise((resolve) => {
    objects.get(name, resolve);
  });
}

/**
 * The pictures of a PDF, page by page.
 *
 * @param bytes the file; it is given away and cannot be used afterwards
 * @param reader pdf.js
 * @throws what pdf.js throws for a file that is damaged or opens only with a password
 */
export async function* readPdfImages(bytes: Uint8Array, reader: PdfReader): AsyncGenerator<Pixels> {
  const opening = reader.getDocument({ ...quiet, data: bytes });
  try {
    const document = await opening.promise;
    for (let number = 1; number <= Math.min(document.numPages, maxPages); number++) {
      const page = await document.getPage(number);
      yield* await imagesOf(page, reader);
      page.cleanup();
    }
  } finally {
    await opening.destroy();
  }
}

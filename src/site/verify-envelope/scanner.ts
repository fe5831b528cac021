/**
 * The second script of the page, which those who open a picture load, as a worker: the page can end it when a picture
 * keeps it busy, and answers clicks meanwhile.
 */

import { type PdfReader, PdfTooLarge, readPdfImages } from "../../certificate/pdf.ts";
import { fileKind, maxImagePixels, type Pixels } from "../../certificate/pixels.ts";
import { countPngPixels } from "../../certificate/png.ts";
import { createCodeReader } from "../../certificate/scan.ts";

/** One file, and where pdf.js lies. */
export type PictureJob = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly pdf: string;
};

/** What keeps a picture from being read; each is a sentence of the page. */
type Problem = "imageTooLarge" | "imageUnreadable" | "pdfUnreadable" | "pdfTooLarge" | "readerFailed";

/** What the codes of this file and of those before it say. `ready` is said once, when files may be sent. */
export type PictureAnswer = "ready" | { readonly texts: readonly string[] } | { readonly problem: Problem };

class PictureProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem);
    this.problem = problem;
  }
}

/** The browser's own decoder; it also turns photographs the right way up. */
async function decodeImage({ bytes, type }: PictureJob): Promise<Pixels> {
  if (fileKind(bytes) === "png") {
    const pixels = countPngPixels(bytes);
    if (pixels === null) throw new PictureProblem("imageUnreadable");
    if (pixels > maxImagePixels) throw new PictureProblem("imageTooLarge");
  }
  const bitmap = await createImageBitmap(new Blob([bytes], { type })).catch(() => {
    throw new PictureProblem("imageUnreadable");
  });
  try {
    const { width, height } = bitmap;
    if (width * height > maxImagePixels) throw new PictureProblem("imageTooLarge");
    const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    if (context === null) throw new PictureProblem("imageUnreadable");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    context.drawImage(bitmap, 0, 0);
    return { width, height, data: context.getImageData(0, 0, width, height).data };
  } finally {
    bitmap.close();
  }
}

async function* picturesOf(job: PictureJob): AsyncGenerator<Pixels> {
  if (fileKind(job.bytes) !== "pdf") {
    yield await decodeImage(job);
    return;
  }
  const reader: PdfReader = await import(job.pdf).catch(() => {
    throw new PictureProblem("readerFailed");
  });
  try {
    yield* readPdfImages(job.bytes, reader);
  } catch (cause) {
    throw new PictureProblem(cause instanceof PdfTooLarge ? "pdfTooLarge" : "pdfUnreadable");
  }
}

const readCodes = createCodeReader();

async function read(job: PictureJob): Promise<PictureAnswer> {
  try {
    return { texts: await readCodes(picturesOf(job)) };
  } catch (error) {
    return { problem: error instanceof PictureProblem ? error.problem : "imageUnreadable" };
  }
}

function say(answer: PictureAnswer): void {
  globalThis.postMessage(answer);
}

globalThis.addEventListener("message", async ({ data }: MessageEvent<PictureJob>) => say(await read(data)));
say("ready");

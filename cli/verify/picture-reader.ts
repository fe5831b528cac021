/**
 * The loop of the thread that decodes pictures from strangers and looks for codes in them. It has a thread to itself so
 * that whoever waits for it can watch the time and the memory that it takes, and end it.
 */

import { Buffer } from "node:buffer";
import { parentPort } from "node:worker_threads";
import { inflateSync } from "node:zlib";
import jpeg from "jpeg-js";
import { PNG } from "pngjs";
import { loadPdfLibrary, type PdfReader, PdfTooLarge, readPdfImages } from "../../src/certificate/pdf.ts";
import { fileKind, maxImagePixels, type Pixels } from "../../src/certificate/pixels.ts";
import { readPngHeader } from "../../src/certificate/png.ts";
import { createCodeReader } from "../../src/certificate/scan.ts";

/** What was found in one file, or why nothing could be, in words for its sender. */
export type PictureAnswer = { readonly texts: readonly string[] } | { readonly problem: string };

/** Said once, when files may be sent: Deno loses what comes earlier. */
export const readyForPictures = "ready";

/** Decoding a JPEG takes some twelve bytes a pixel. */
const maxJpegMegabytes = 512;

/** What is wrong with a file, in words for whoever sent it. */
class PictureProblem extends Error {}

const tooMuchMemory = "decoding it would take more than 512 MiB; crop the picture to the codes";
const tooManyPixels = "more than 40 million pixels; make the picture smaller";

/** @throws PictureProblem before anything is unpacked */
function decodePng(bytes: Uint8Array): Pixels {
  const header = readPngHeader(bytes);
  if (header === null) throw new PictureProblem("damaged PNG");
  if (header.pixels > maxImagePixels) throw new PictureProblem(tooManyPixels);
  try {
    // The decoder bounds what it unpacks by the picture's size, but not when the picture is interlaced.
    if (header.isInterlaced) inflateSync(header.data, { maxOutputLength: header.unpackedBytes });
    return PNG.sync.read(Buffer.from(bytes));
  } catch (cause) {
    throw new PictureProblem("damaged PNG", { cause });
  }
}

function decodeJpeg(bytes: Uint8Array): Pixels {
  try {
    return jpeg.decode(bytes, {
      useTArray: true,
      maxResolutionInMP: maxImagePixels / 1_000_000,
      maxMemoryUsageInMB: maxJpegMegabytes,
    });
  } catch (cause) {
    if (/maxResolution/.test(String(cause))) throw new PictureProblem(tooManyPixels, { cause });
    if (/maxMemory/.test(String(cause))) throw new PictureProblem(tooMuchMemory, { cause });
    throw new PictureProblem("damaged JPEG, or one of a kind that is not read", { cause });
  }
}

/** pdf.js from its text, which the compiled program holds for the page as well. */
async function loadPdfReader(): Promise<PdfReader> {
  const text = await loadPdfLibrary();
  // Node, and Deno in a package of npm's, run no module from a blob. Bun does, and forgets it afterwards.
  if (!("Bun" in globalThis))
    return import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await import(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function* decodePdf(bytes: Uint8Array): AsyncGenerator<Pixels> {
  const reader = await loadPdfReader();
  try {
    // pdf.js insists on an array of its own that is no Buffer.
    yield* readPdfImages(new Uint8Array(bytes), reader);
  } catch (cause) {
    const isTooLarge = cause instanceof PdfTooLarge;
    const words = isTooLarge ? cause.message : "damaged PDF, or one that opens only with a password";
    throw new PictureProblem(words, { cause });
  }
}

async function* decode(bytes: Uint8Array): AsyncGenerator<Pixels> {
  const kind = fileKind(bytes);
  if (kind === "pdf") yield* decodePdf(bytes);
  else if (kind === "png") yield decodePng(bytes);
  else if (kind === "jpeg") yield decodeJpeg(bytes);
  else throw new PictureProblem("not a PNG, a JPEG or a PDF; for an envelope as text leave --qr out");
}

/**
 * Bun collects late: without this, what the decoder left behind is still there when the scanner needs as much again, and
 * a photograph of 12 million pixels takes 600 MiB instead of 360. Deno has nothing of the kind, and needs it less.
 */
function collectGarbage(): void {
  (globalThis as { Bun?: { gc(isForced: boolean): void } }).Bun?.gc(true);
}

async function* picturesOf(bytes: Uint8Array): AsyncGenerator<Pixels> {
  for await (const pixels of decode(bytes)) {
    collectGarbage();
    yield pixels;
  }
}

/** Runs the loop: files come in one after another, and what the codes of each say goes out. */
export async function runPictureReader(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("pictures are read in a worker thread");
  const readCodes = createCodeReader();
  const read = async (bytes: Uint8Array): Promise<PictureAnswer> => {
    try {
      return { texts: await readCodes(picturesOf(bytes)) };
    } catch (error) {
      if (error instanceof PictureProblem) return { problem: error.message };
      throw error;
    }
  };
  port.on("message", async (bytes: Uint8Array) => port.postMessage(await read(bytes)));
  port.postMessage(readyForPictures);
}

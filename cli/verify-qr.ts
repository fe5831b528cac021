/** `tvs verify --qr`: reads the signature back from the QR codes of a certificate, whatever form it came in. */

import { createReadStream } from "node:fs";
import jpeg from "jpeg-js";
import { PNG } from "pngjs";
import { TvsError } from "../src/domain/errors.ts";
import { type CodesReading, joinCodes } from "../src/partner/envelope-codes.ts";
import type { PdfReader } from "../src/server/pages/verify-envelope/pdf.ts";
import { readPdfImages } from "../src/server/pages/verify-envelope/pdf.ts";
import { loadPdfLibrary } from "../src/server/pages/verify-envelope/pdf-library.ts";
import {
  fileKind,
  isHugePng,
  maxFileBytes,
  maxImagePixels,
  type Pixels,
} from "../src/server/pages/verify-envelope/pixels.ts";
import { scanCodes } from "../src/server/pages/verify-envelope/scan.ts";
import type { Bytes, Source } from "./verify-files.ts";

/** Decoding a JPEG of the most pixels takes some twelve bytes each. */
const maxJpegMegabytes = 768;

function unreadable(path: string, problem: string, cause?: unknown): TvsError {
  const name = path === "-" ? "standard input" : path;
  return new TvsError("INPUT_UNREADABLE", `${name}: ${problem}`, cause === undefined ? undefined : { cause });
}

async function readBounded(path: string, stdin: Bytes): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of path === "-" ? stdin : createReadStream(path)) {
      parts.push(part);
      size += part.length;
      if (size > maxFileBytes) break;
    }
  } catch (cause) {
    throw unreadable(path, "cannot be read; name a picture or a PDF of a certificate", cause);
  }
  if (size > maxFileBytes) throw unreadable(path, "larger than 20 MiB; make the picture smaller");
  return Buffer.concat(parts);
}

function tooManyPixels(path: string): TvsError {
  return unreadable(path, "more than 40 million pixels; make the picture smaller");
}

function decodePng(path: string, bytes: Uint8Array): Pixels {
  if (isHugePng(bytes)) throw tooManyPixels(path);
  try {
    return PNG.sync.read(Buffer.from(bytes));
  } catch (cause) {
    throw unreadable(path, "damaged PNG", cause);
  }
}

function decodeJpeg(path: string, bytes: Uint8Array): Pixels {
  try {
    return jpeg.decode(bytes, {
      useTArray: true,
      maxResolutionInMP: maxImagePixels / 1_000_000,
      maxMemoryUsageInMB: maxJpegMegabytes,
    });
  } catch (cause) {
    if (/limit exceeded/.test(String(cause))) throw tooManyPixels(path);
    throw unreadable(path, "damaged JPEG, or one of a kind that is not read", cause);
  }
}

/** pdf.js from its text, which the compiled program holds for the page as well. */
async function loadPdfReader(): Promise<PdfReader> {
  const file = new Blob([await loadPdfLibrary()], { type: "text/javascript" });
  const address = URL.createObjectURL(file);
  try {
    return await import(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function* decodePdf(path: string, bytes: Uint8Array): AsyncGenerator<Pixels> {
  const reader = await loadPdfReader();
  try {
    // pdf.js insists on an array of its own that is no Buffer.
    yield* readPdfImages(new Uint8Array(bytes), reader);
  } catch (cause) {
    throw unreadable(path, "damaged PDF, or one that opens only with a password", cause);
  }
}

async function* picturesOf(path: string, bytes: Uint8Array): AsyncGenerator<Pixels> {
  const kind = fileKind(bytes);
  if (kind === "pdf") yield* decodePdf(path, bytes);
  else if (kind === "png") yield decodePng(path, bytes);
  else if (kind === "jpeg") yield decodeJpeg(path, bytes);
  else throw unreadable(path, "not a PNG, a JPEG or a PDF; for an envelope as text leave --qr out");
}

/** Says what is missing, and what to do about it. */
function explain(reading: Exclude<CodesReading, { jws: string }>): string {
  switch (reading.problem) {
    case "NONE":
      return "no QR code of a certificate was found; try a sharper picture, from straight above, of one code at a time";
    case "SEVERAL":
      return `the codes belong to ${reading.count} different certificates; give the pictures of one at a time`;
    case "DAMAGED":
      return "the codes do not fit together: one of them was damaged or replaced";
    case "MISSING": {
      const { missing, total } = reading;
      return `the certificate has ${total} codes, and these were not found: ${missing.join(", ")}; give pictures of all of them`;
    }
  }
}

/**
 * Reads all pictures as those of one certificate.
 *
 * @param paths PNG, JPEG and PDF files, or `-` for standard input
 * @param stdin standard input
 * @returns one source, the JWS that the codes carry
 * @throws TvsError INPUT_UNREADABLE when the pictures give none, with what to do about it
 */
export async function* openCodes(paths: readonly string[], stdin: Bytes): AsyncGenerator<Source> {
  const texts = new Set<string>();
  const isEnough = async (found: readonly string[]) => "jws" in (await joinCodes([...texts, ...found]));
  for (const path of paths) {
    for await (const pixels of picturesOf(path, await readBounded(path, stdin))) {
      for (const text of await scanCodes(pixels, isEnough)) texts.add(text);
    }
  }
  const file = paths.join(", ");
  const reading = await joinCodes([...texts]);
  if (!("jws" in reading)) throw unreadable(file, explain(reading));
  yield { file, chunks: oneChunk(new TextEncoder().encode(reading.jws)) };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** `tvs verify --qr`: reads the signature back from the QR codes of a certificate, whatever form it came in. */

import { maxFileBytes } from "../../src/certificate/pixels.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { type CodesReading, joinCodes } from "../../src/partner/envelope-codes.ts";
import { readBounded } from "../input-file.ts";
import type { Bytes, Source } from "./files.ts";
import type { PictureThread } from "./picture-thread.ts";

function unreadable(path: string, problem: string, cause?: unknown): TvsError {
  const name = path === "-" ? "standard input" : path;
  return new TvsError("INPUT_UNREADABLE", `${name}: ${problem}`, cause === undefined ? undefined : { cause });
}

async function readPicture(path: string, stdin: Bytes): Promise<Uint8Array> {
  const bytes = await readBounded(path === "-" ? stdin : path, maxFileBytes).catch((cause) => {
    throw unreadable(path, "cannot be read; name a picture or a PDF of a certificate", cause);
  });
  if (bytes === null) throw unreadable(path, "larger than 20 MiB; make the picture smaller");
  return bytes;
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
 * @param thread decodes and scans; ended in any case
 * @returns one source, the JWS that the codes carry
 * @throws TvsError INPUT_UNREADABLE when the pictures give none, with what to do about it
 */
export async function* openCodes(
  paths: readonly string[],
  stdin: Bytes,
  thread: PictureThread,
): AsyncGenerator<Source> {
  try {
    let texts: readonly string[] = [];
    for (const path of paths) {
      const answer = await thread.read(await readPicture(path, stdin));
      if ("problem" in answer) throw unreadable(path, answer.problem);
      texts = answer.texts;
    }
    const file = paths.join(", ");
    const reading = await joinCodes(texts);
    if (!("jws" in reading)) throw unreadable(file, explain(reading));
    yield { file, chunks: oneChunk(new TextEncoder().encode(reading.jws)) };
  } finally {
    thread.close();
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

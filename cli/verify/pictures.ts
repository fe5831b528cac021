/** The pictures of `tvs verify --qr`: QR codes of one attestation, read in a thread that no picture can make exceed its limits. */

import process from "node:process";
import { Worker } from "node:worker_threads";
import { maxFileBytes } from "../../src/certificate/pixels.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { type CodesReading, joinCodes } from "../../src/partner/envelope-codes.ts";
import { readBounded } from "../input-file.ts";
import type { Bytes, Source } from "./files.ts";
import type { PictureAnswer, readyForPictures } from "./picture-reader.ts";

/** What one file may take. */
export type PictureLimits = {
  readonly deadlineMs: number;
  /** By how much the whole process may grow; the program itself takes up to 80 MiB, of 512. */
  readonly growthBytes: number;
};

const mebibyte = 1024 * 1024;
/** A slow machine reads an attestation's page in some seconds, and a photograph of 20 million pixels fits. */
export const pictureLimits: PictureLimits = { deadlineMs: 30_000, growthBytes: 408 * mebibyte };
const watchMs = 10;

type PictureThread = {
  /** What the codes of this file and of those before it say, or why they say nothing. The bytes are given away. */
  read(bytes: Uint8Array): Promise<PictureAnswer>;
  /** Ends the thread without waiting: a native call in it may go on for a while, until the process ends. */
  close(): void;
};

const advice = "crop the picture to the codes, or give one of each code";

/** Calls back once, when the time is over or the memory exceeded. @returns ends the watch */
function watch({ deadlineMs, growthBytes }: PictureLimits, onExceeded: (problem: string) => void) {
  const startMs = performance.now();
  const startBytes = process.memoryUsage.rss();
  const timer = setInterval(() => {
    if (performance.now() - startMs > deadlineMs)
      onExceeded(`reading it took too long, more than ${deadlineMs / 1000} s; ${advice}`);
    else if (process.memoryUsage.rss() - startBytes > growthBytes)
      onExceeded(`reading it took too much memory, more than 512 MiB; ${advice}`);
  }, watchMs);
  return () => clearInterval(timer);
}

/**
 * Starts the thread.
 *
 * @param entry the program's entry file, which the thread enters again
 * @param limits what each file may take
 */
export function startPictureThread(entry: URL, limits: PictureLimits): PictureThread {
  const worker = new Worker(entry, { workerData: { role: "picture-reader" } });
  const ready = new Promise<void>((resolve, reject) => {
    worker.once("message", (_: typeof readyForPictures) => resolve());
    worker.once("error", reject);
  });

  async function read(bytes: Uint8Array): Promise<PictureAnswer> {
    await ready;
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        endWatch();
        worker.removeAllListeners();
        // Whatever a thread that is being ended still says is of no interest.
        worker.on("error", () => {});
        settle();
      };
      const endWatch = watch(limits, (problem) => finish(() => resolve({ problem })));
      worker.once("message", (answer: PictureAnswer) => finish(() => resolve(answer)));
      worker.once("error", (error) => finish(() => reject(error)));
      worker.once("exit", () => finish(() => reject(new Error("the thread that reads pictures ended"))));
      worker.postMessage(bytes);
    });
  }

  return { read, close: () => void worker.terminate() };
}

const proofAlone =
  "only the codes of a proof were found; give pictures of the codes of the signed answer as well";

function unreadable(path: string, problem: string, cause?: unknown): TvsError {
  const name = path === "-" ? "standard input" : path;
  return new TvsError("INPUT_UNREADABLE", `${name}: ${problem}`, cause === undefined ? undefined : { cause });
}

async function readPicture(path: string, stdin: Bytes): Promise<Uint8Array> {
  const bytes = await readBounded(path === "-" ? stdin : path, maxFileBytes).catch((cause) => {
    throw unreadable(path, "cannot be read; name a picture or a PDF of an attestation", cause);
  });
  if (bytes === null) throw unreadable(path, "larger than 20 MiB; make the picture smaller");
  return bytes;
}

/** Says what is missing, and what to do about it. */
function explain(reading: Extract<CodesReading, { problem: string }>): string {
  if (reading.problem === "NONE") {
    return "no QR code of an attestation was found; try a sharper picture, from straight above, of one code at a time";
  }
  const isProof = reading.of === "proof";
  switch (reading.problem) {
    case "SEVERAL": {
      const what = isProof ? "proofs" : "attestations";
      return `the codes belong to ${reading.count} different ${what}; give the pictures of one at a time`;
    }
    case "DAMAGED":
      return `the codes ${isProof ? "of the proof " : ""}do not fit together: one of them was damaged or replaced`;
    case "MISSING": {
      const { missing, total } = reading;
      const what = isProof ? "proof on the attestation" : "attestation";
      return `the ${what} has ${total} codes, and these were not found: ${missing.join(", ")}; give pictures of all of them`;
    }
  }
}

/** What the codes of one attestation carry. */
export type PrintedAttestation = {
  /** The signature of its envelope, under the names of the files. */
  readonly source: Source;
  /** The proof file that is printed beside it; null without one. */
  readonly proof: string | null;
};

/**
 * Reads all pictures as those of one attestation.
 *
 * @param paths PNG, JPEG and PDF files, or `-` for standard input
 * @param stdin standard input
 * @param thread decodes and scans; ended in any case
 * @throws TvsError INPUT_UNREADABLE when the pictures give no envelope, with what to do about it
 */
export async function readAttestation(
  paths: readonly string[],
  stdin: Bytes,
  thread: PictureThread,
): Promise<PrintedAttestation> {
  try {
    let texts: readonly string[] = [];
    for (const path of paths) {
      const answer = await thread.read(await readPicture(path, stdin));
      if ("problem" in answer) throw unreadable(path, answer.problem);
      texts = answer.texts;
    }
    const file = paths.join(", ");
    const reading = await joinCodes(texts);
    if ("problem" in reading) throw unreadable(file, explain(reading));
    const { jws, proof } = reading;
    if (jws === null) throw unreadable(file, proofAlone);
    return { source: { file, chunks: oneChunk(new TextEncoder().encode(jws)) }, proof };
  } finally {
    thread.close();
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

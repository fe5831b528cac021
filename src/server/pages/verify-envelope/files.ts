/** Files that the reader opened or dropped: texts, or pictures, which a worker reads. */

import { fileKind, maxFileBytes } from "../../../certificate/pixels.ts";
import { joinCodes } from "../../../partner/envelope-codes.ts";
import type { PictureAnswer, PictureJob } from "./scanner.ts";
import { type EnvelopeTexts, PageProblem } from "./texts.ts";

/** One text to look for envelopes in, and the file that it came from. */
export type Given = { readonly name: string | null; readonly content: string | Uint8Array };

/** An envelope has two to ten kilobytes. */
const maxTextBytes = 1024 * 1024;
const maxFiles = 100;

type Words = EnvelopeTexts["problems"];
type OpenedFile = { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string };

/** Where the page's further scripts lie; they are loaded when somebody opens a picture. */
type ScriptAddresses = { readonly scanner: string; readonly pdf: string };

/** The same as `tvs verify --qr`. How much memory a picture takes, only the limits of its size bound here. */
const deadlineMs = 30_000;

/** The page insists on addresses of scripts that a policy has seen; this one is the page's own. */
type TrustedTypes = {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): {
    createScriptURL(url: string): string;
  };
};

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
const policy = trustedTypes?.createPolicy("tvs-scanner", { createScriptURL: (url) => url });

/** The worker's next answer. @throws PageProblem when it fails, or says nothing for too long */
function nextAnswer(worker: Worker, words: Words): Promise<PictureAnswer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new PageProblem(words.pictureTooSlow)), deadlineMs);
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      settle();
    };
    worker.onmessage = ({ data }: MessageEvent<PictureAnswer>) => {
      // In a worker pdf.js offers its services as well, to whom it may concern.
      if (data === "ready" || "texts" in data || "problem" in data) finish(() => resolve(data));
    };
    worker.onerror = () => finish(() => reject(new PageProblem(words.readerFailed)));
  });
}

/**
 * Reads the codes of pictures, all together.
 *
 * @param files the pictures and PDFs
 * @param given the page's sentences, and the addresses of the worker and of pdf.js
 * @returns what the codes say
 * @throws PageProblem
 */
async function readCodes(
  files: readonly Pick<PictureJob, "bytes" | "type">[],
  given: { words: Words; scripts: ScriptAddresses },
): Promise<readonly string[]> {
  const { words, scripts } = given;
  const address = new URL(scripts.scanner, document.baseURI).href;
  const pdf = new URL(scripts.pdf, document.baseURI).href;
  const worker = new Worker(policy?.createScriptURL(address) ?? address, { type: "module" });
  try {
    await nextAnswer(worker, words);
    let texts: readonly string[] = [];
    for (const { bytes, type } of files) {
      const answering = nextAnswer(worker, words);
      worker.postMessage({ bytes, type, pdf } satisfies PictureJob);
      const answer = await answering;
      if (answer === "ready") throw new Error("the worker began twice");
      if ("problem" in answer) throw new PageProblem(words[answer.problem]);
      texts = answer.texts;
    }
    return texts;
  } finally {
    worker.terminate();
  }
}

/** A file's bytes. @throws PageProblem */
export async function readBytes(file: File, words: Words): Promise<Uint8Array<ArrayBuffer>> {
  if (file.size > maxFileBytes) throw new PageProblem(words.fileTooLarge);
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new PageProblem(words.fileUnreadable);
  }
}

/** Text, within what an envelope can need. @throws PageProblem */
export function checkTextSize(text: string | Uint8Array, words: Words): void {
  if (text.length > maxTextBytes) throw new PageProblem(words.tooLarge);
}

async function openFile(file: File, words: Words): Promise<OpenedFile> {
  const bytes = await readBytes(file, words);
  return { name: file.name, bytes, type: file.type };
}

/** Reads the codes of all pictures together. @throws PageProblem when they make no signature */
async function readPictures(
  files: readonly OpenedFile[],
  given: { words: Words; scripts: ScriptAddresses },
): Promise<string> {
  const { words } = given;
  const reading = await joinCodes(await readCodes(files, given));
  if ("jws" in reading) return reading.jws;
  if (reading.problem === "MISSING") {
    throw new PageProblem(words.missing(reading.missing.join(", "), reading.total));
  }
  const said = { NONE: words.noCode, SEVERAL: words.several, DAMAGED: words.damaged };
  throw new PageProblem(said[reading.problem]);
}

/**
 * Reads files: either texts that hold envelopes, or pictures of the codes of one certificate.
 *
 * @param files what was opened or dropped
 * @param given the page's sentences, and where its further scripts lie
 * @throws PageProblem
 */
export async function readFiles(
  files: readonly File[],
  given: { words: Words; scripts: ScriptAddresses },
): Promise<Given[]> {
  const { words } = given;
  if (files.length > maxFiles) throw new PageProblem(words.manyFiles);
  const opened: OpenedFile[] = [];
  for (const file of files) opened.push(await openFile(file, words));
  const kinds = opened.map(({ bytes }) => fileKind(bytes));
  if (kinds.includes("other")) throw new PageProblem(words.wrongType);
  if (kinds.every((kind) => kind === "text")) {
    for (const { bytes } of opened) checkTextSize(bytes, words);
    return opened.map(({ name, bytes }) => ({ name, content: bytes }));
  }
  if (kinds.includes("text")) throw new PageProblem(words.mixed);
  return [{ name: null, content: await readPictures(opened, given) }];
}

/** Files that the reader opened or dropped: texts, or pictures, which a worker reads. */

import { fileKind, maxFileBytes } from "../../certificate/pixels.ts";
import { type CodesReading, joinCodes } from "../../partner/envelope-codes.ts";
import { decodeProof, decodeText } from "../../partner/file-text.ts";
import type { PictureAnswer, PictureJob } from "./scanner.ts";
import { type EnvelopeTexts, PageProblem } from "./texts.ts";

/** One text to look for envelopes in, and the file that it came from. */
export type Given = { readonly name: string | null; readonly content: string | Uint8Array };

/** A proof of the evidence log, and the file that it came from; null when it was pasted or came as codes. */
export type GivenProof = { readonly name: string | null; readonly text: string };

/** What somebody put in at once. */
export type Input = { readonly given: readonly Given[]; readonly proof: GivenProof | null };

/** An envelope has two to ten kilobytes. */
const maxTextBytes = 1024 * 1024;
const maxFiles = 100;

type Words = EnvelopeTexts["problems"];
type OpenedFile = { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string };

/** Where the page's further scripts lie; they are loaded when somebody opens a picture. */
type ScriptAddresses = { readonly scanner: string; readonly pdf: string };

/** How much memory a picture takes, only the limits of its size bound. */
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

/** @param address of a script of this page */
export function ownScript(address: string): string {
  return policy?.createScriptURL(address) ?? address;
}

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
  const worker = new Worker(ownScript(address), { type: "module" });
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

/** Says what keeps the codes from making one attestation. */
function explain(reading: Extract<CodesReading, { problem: string }>, words: Words): string {
  if (reading.problem === "NONE") return words.noCode;
  const said = words.codes[reading.of];
  if (reading.problem === "MISSING") return said.missing(reading.missing.join(", "), reading.total);
  return reading.problem === "SEVERAL" ? said.several : said.damaged;
}

/** Reads the codes of all pictures together. @throws PageProblem when they carry nothing whole */
async function readPictures(
  files: readonly OpenedFile[],
  given: { words: Words; scripts: ScriptAddresses },
): Promise<Extract<CodesReading, { jws: unknown }>> {
  const reading = await joinCodes(await readCodes(files, given));
  if ("problem" in reading) throw new PageProblem(explain(reading, given.words));
  return reading;
}

const proofBeginning = "c2sp.org/tlog-proof@";

/** Whether a text says of itself that it is a proof; what is wrong with it is for the verification to say. */
export function isProofText(text: string): boolean {
  return text.trimStart().startsWith(proofBeginning);
}

function isProofFile({ name, bytes }: OpenedFile): boolean {
  return isProofText(decodeText(bytes) ?? "") || /\.tlog-proof$/i.test(name);
}

/** The one proof of all that was put in. @throws PageProblem for several */
function oneProof(proofs: readonly GivenProof[], words: Words): GivenProof | null {
  const [proof = null, ...others] = proofs;
  if (others.some(({ text }) => text !== proof?.text)) throw new PageProblem(words.manyProofs(proofs.length));
  return proof;
}

function readTexts(files: readonly OpenedFile[], words: Words): Input {
  for (const { bytes } of files) checkTextSize(bytes, words);
  const proofs = files.filter(isProofFile);
  const others = files.filter((file) => !proofs.includes(file));
  return {
    given: others.map(({ name, bytes }) => ({ name, content: bytes })),
    proof: oneProof(
      proofs.map(({ name, bytes }) => ({ name, text: decodeProof(bytes) ?? "" })),
      words,
    ),
  };
}

/**
 * Reads files: texts that hold envelopes, or pictures of the codes of one attestation; and a proof beside either.
 *
 * @param files what was opened or dropped
 * @param given the page's sentences, and where its further scripts lie
 * @throws PageProblem
 */
export async function readFiles(
  files: readonly File[],
  given: { words: Words; scripts: ScriptAddresses },
): Promise<Input> {
  const { words } = given;
  if (files.length > maxFiles) throw new PageProblem(words.manyFiles);
  const opened: OpenedFile[] = [];
  for (const file of files) opened.push(await openFile(file, words));
  const isPicture = (file: OpenedFile) => !["text", "other"].includes(fileKind(file.bytes));
  if (opened.some((file) => fileKind(file.bytes) === "other" && !isProofFile(file))) {
    throw new PageProblem(words.wrongType);
  }
  const pictures = opened.filter(isPicture);
  const texts = readTexts(
    opened.filter((file) => !isPicture(file)),
    words,
  );
  if (pictures.length === 0) return texts;
  if (texts.given.length > 0) throw new PageProblem(words.mixed);
  const { jws, proof } = await readPictures(pictures, given);
  const proofs = [texts.proof, proof === null ? null : { name: null, text: proof }];
  return {
    given: jws === null ? [] : [{ name: null, content: jws }],
    proof: oneProof(
      proofs.filter((one) => one !== null),
      words,
    ),
  };
}

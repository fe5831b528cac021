/** Reads what the reader opened, dropped or pasted, and says in plain words what cannot be read. */

import { fileKind, maxFileBytes } from "../../../certificate/pixels.ts";
import { PageProblem } from "../../../certificate/problem.ts";
import { joinCodes } from "../../../partner/envelope-codes.ts";
import { readCodes } from "./picture-worker.ts";
import type { EnvelopeTexts } from "./texts.ts";

/** One text to look for envelopes in, and the file that it came from. */
export type Given = { readonly name: string | null; readonly content: string | Uint8Array };

/** An envelope has two to ten kilobytes. */
export const maxTextBytes = 1024 * 1024;
const maxFiles = 100;

type Words = EnvelopeTexts["problems"];
type OpenedFile = { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string };

/** Where the page's further scripts lie; they are loaded when somebody opens a picture. */
export type ScriptAddresses = { readonly scanner: string; readonly pdf: string };

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

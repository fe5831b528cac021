/** Reads the files that the user opened or dropped. */

import { decodeProofFile, decodeTextFile, isUtf16 } from "../../partner/file-text.ts";
import { PageError, requireElement, texts } from "./view.ts";

const words = texts.problems;

/** A text that may contain envelopes, and the name of its file. The name is null if the text was pasted. */
export type InputText = { readonly name: string | null; readonly content: string | Uint8Array };

/** A proof of the evidence log, and the name of its file. The name is null if the proof was pasted. */
export type InputProof = { readonly name: string | null; readonly text: string };

export type VerifyInput = { readonly given: readonly InputText[]; readonly proof: InputProof | null };

/** An envelope has two to ten kilobytes, so 1 MiB is enough for a text. */
const maxTextBytes = 1024 * 1024;
const maxFiles = 100;

/** Checks the length of a text. @throws PageError if it is longer than any envelope */
export function checkTextSize({ length }: { readonly length: number }): void {
  if (length > maxTextBytes) throw new PageError(words.tooLarge);
}

/** Decides by a file's first bytes whether it is a text. Pictures and archives have a NUL there, a PDF has `%PDF-`. */
function isText(head: Uint8Array): boolean {
  return isUtf16(head) || !/\0|%PDF-/.test(new TextDecoder("latin1").decode(head));
}

/** Reads a file. @throws PageError if it is not a text, too large or unreadable */
async function readFile(file: File): Promise<Uint8Array> {
  const { name, size } = file;
  const read = async (blob: Blob) => new Uint8Array(await blob.arrayBuffer());
  try {
    if (!hasProofName(name) && !isText(await read(file.slice(0, 1024)))) throw new PageError(words.wrongType);
    checkTextSize({ length: size });
    return await read(file);
  } catch (error) {
    throw error instanceof PageError ? error : new PageError(words.fileUnreadable);
  }
}

const proofBeginning = "c2sp.org/tlog-proof@";

/** Checks whether a text begins like a proof. Only the beginning of the text is checked. */
export function isProofText(text: string): boolean {
  return text.trimStart().startsWith(proofBeginning);
}

function hasProofName(name: string): boolean {
  return /\.tlog-proof$/i.test(name);
}

/** Returns the only proof, or null if there are no proofs. @throws PageError if the proofs differ */
function oneProof(proofs: readonly InputProof[]): InputProof | null {
  const [proof = null, ...others] = proofs;
  if (others.some(({ text }) => text !== proof?.text)) throw new PageError(words.manyProofs(proofs.length));
  return proof;
}

/** Reads files as texts with envelopes, and at most one proof. @throws PageError */
export async function readInputFiles(files: readonly File[]): Promise<VerifyInput> {
  if (files.length > maxFiles) throw new PageError(words.manyFiles);
  const given: InputText[] = [];
  const proofs: InputProof[] = [];
  for (const file of files) {
    const { name } = file;
    const bytes = await readFile(file);
    if (hasProofName(name) || isProofText(decodeTextFile(bytes) ?? "")) {
      proofs.push({ name, text: decodeProofFile(bytes) ?? "" });
    } else given.push({ name, content: bytes });
  }
  return { given, proof: oneProof(proofs) };
}

/** Calls `run` with the files that the user opens in the form or drops on the page. The browser itself opens none of them. */
export function listenForFiles(run: (files: readonly File[]) => void): void {
  const input = requireElement("files", HTMLInputElement);
  const area = input.closest(".drop") ?? input;
  const take = (files: readonly File[]) => {
    area.classList.remove("over");
    if (files.length > 0) run(files);
  };
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    // Without an empty value, the browser reports no change if the same file is opened again.
    input.value = "";
    take(files);
  });
  area.addEventListener("dragover", () => area.classList.add("over"));
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    take([...(event.dataTransfer?.files ?? [])]);
  });
}

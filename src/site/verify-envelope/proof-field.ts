/** The proof that is put in beside an envelope: as a file, or pasted. */

import { byId } from "./dom.ts";
import type { GivenProof } from "./files.ts";
import type { EnvelopeTexts } from "./texts.ts";

/** White space around it came with the pasting; its last line ends. */
function pastedProof(text: string): GivenProof | null {
  const proof = text.trim();
  return proof === "" ? null : { name: null, text: `${proof}\n` };
}

/**
 * The field of the form. What came as a file is kept as it is, byte for byte, and only named there.
 *
 * @param texts the page's sentences
 */
export function proofField({ log }: EnvelopeTexts) {
  const area = byId("proof", HTMLTextAreaElement);
  const remove = byId("proof-remove", HTMLButtonElement);
  const name = byId("proof-name", HTMLElement);
  let proof: GivenProof | null = null;
  let isUsed = false;

  function describe(words: string | null): void {
    name.textContent = words ?? "";
    remove.hidden = words === null;
  }

  function take(given: GivenProof | null): void {
    proof = given;
    isUsed = false;
    area.value = "";
    describe(given === null ? null : log.file(given.name ?? ""));
  }

  /** Takes text that was pasted, here or by mistake elsewhere. */
  function paste(text: string): void {
    proof = pastedProof(text);
    isUsed = false;
    area.value = text;
    describe(proof === null ? null : log.pasted);
  }

  area.addEventListener("input", () => paste(area.value));
  remove.addEventListener("click", () => {
    take(null);
    byId("files", HTMLInputElement).focus();
  });
  return {
    /** The proof that is there; null without one. */
    current: () => proof,
    take,
    paste,
    /** Told when the proof was judged: it then belongs to that envelope, and the next file comes without it. */
    used(): void {
      isUsed = proof !== null;
    },
    /** Whether the proof was judged with an envelope already. */
    get isUsed() {
      return isUsed;
    },
  };
}

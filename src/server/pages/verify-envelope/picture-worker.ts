/** Reads pictures in a worker, and ends it when one takes too long. */

import { PageProblem } from "../../../certificate/problem.ts";
import type { PictureAnswer, PictureJob } from "./scanner.ts";
import type { EnvelopeTexts } from "./texts.ts";

type Words = EnvelopeTexts["problems"];

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
export async function readCodes(
  files: readonly Pick<PictureJob, "bytes" | "type">[],
  given: { words: Words; scripts: { scanner: string; pdf: string } },
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

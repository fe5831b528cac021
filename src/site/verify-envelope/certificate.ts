/** A printed attestation: a page to print, whose QR code carries the signature itself. */

import { encodeQR } from "qr";
import { pageOfIssuer } from "../../partner/claims.ts";
import type { EligibilityResult } from "../../partner/contract.ts";
import type { Judged } from "./judge.ts";
import type { KeySource } from "./keys.ts";
import { signatureTone, titleOf } from "./outcome.ts";
import { purposeFact, recordFacts, signatureFacts, signerOf, writtenTime } from "./signed-values.ts";
import { answerBox, evidenceLine, sinceBox, verdictBox } from "./verdicts.ts";
import { type EnvelopeTexts, el, fact } from "./view.ts";

/**
 * A longer link has no code. At error correction L this is version 36: with its margin 169 modules, which are 0.59 mm each
 * on the 100 mm that the style sheet gives it. A picture of it that is 600 pixels wide is read, also when it is askew and blurred.
 */
const maxLinkCharacters = 2400;
/** The standard's quiet zone. */
const borderModules = 4;
/** So that a PDF viewer that smooths pictures leaves sharp edges. */
const pixelsPerModule = 4;

type Certified = {
  readonly judged: Judged;
  readonly jws: string;
  /** Whether a proof of the evidence log was accepted with it. */
  readonly hasProof: boolean;
  readonly source: KeySource;
  readonly now: Date;
};

async function codeFigure(link: string, alt: string): Promise<HTMLElement> {
  const options = { ecc: "low", encoding: "byte", border: borderModules, scale: pixelsPerModule } as const;
  // A file, and no canvas, to which some browsers add noise.
  const image = el("img", { src: encodeQR(link, "data-url", options), alt });
  await image.decode();
  return el("figure", { class: "qr" }, image);
}

/** The signed answer as a link in a code (decision D8.8); or, where that is too long, in words where it is verified. */
async function answerPart({ judged, jws, hasProof }: Certified, texts: EnvelopeTexts): Promise<HTMLElement> {
  const words = texts.certificate;
  const { issuer, verificationId, result } = judged.verification;
  const page = pageOfIssuer(issuer ?? "");
  const here = new URL("verify-envelope", document.baseURI).href;
  const link = `${page}#${jws}`;
  const hasCode = page !== null && link.length <= maxLinkCharacters;
  const hint = hasCode ? words.codeHint(page) : words.inWords(page ?? here, verificationId ?? "");
  return el(
    "section",
    { class: hasCode ? "signed-answer" : "" },
    el(
      "div",
      {},
      el("h3", {}, words.answerTitle),
      el("p", {}, hint),
      hasCode && result?.profile ? el("p", {}, words.profile) : null,
      hasProof ? el("p", {}, texts.log.apart) : null,
      el("h3", {}, words.meansTitle),
      list(words.means),
      el("h3", {}, words.meansNotTitle),
      list(words.meansNot),
    ),
    hasCode ? await codeFigure(link, words.code) : null,
  );
}

/** On paper as on the screen: a genuine signature is one thing, what it signs another. */
function verdictsPart(judged: Judged, result: EligibilityResult, texts: EnvelopeTexts) {
  const { verification } = judged;
  const signature = verdictBox(signatureTone(verification), titleOf(judged, texts));
  return el(
    "div",
    { class: "verdicts" },
    signature,
    answerBox(verification, result, texts),
    sinceBox(verification, texts),
    evidenceLine(judged, texts),
  );
}

/** Whether it is a yes, and why not, stands in the verdict above. */
function factsPart({ judged, source, now }: Certified, texts: EnvelopeTexts): HTMLElement | null {
  const words = texts.certificate;
  const { result } = judged.verification;
  if (result === null) return null;
  return el(
    "dl",
    { class: "facts" },
    recordFacts(result, texts),
    purposeFact(texts),
    signatureFacts(judged.verification, texts),
    fact(words.checked, words.checkedWith[source](writtenTime(now.toISOString(), texts))),
  );
}

function list(sentences: readonly string[]): HTMLElement {
  return el(
    "ul",
    {},
    sentences.map((sentence) => el("li", {}, sentence)),
  );
}

/** The attestation of a verification that was found genuine. */
export async function certificateOf(certified: Certified, texts: EnvelopeTexts): Promise<HTMLElement> {
  const words = texts.certificate;
  const { judged } = certified;
  const { verifiedAt, result } = judged.verification;
  return el(
    "article",
    { id: "certificate", "aria-labelledby": "certificate-title" },
    el("h2", { id: "certificate-title", tabindex: "-1" }, words.title),
    el("p", { class: "lead" }, words.attests(signerOf(judged, texts), writtenTime(verifiedAt ?? "", texts))),
    result === null ? null : verdictsPart(judged, result, texts),
    factsPart(certified, texts),
    await answerPart(certified, texts),
  );
}

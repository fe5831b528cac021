/** A printed attestation: a page to print, whose QR codes carry the signature itself. */

import { encodeQR } from "qr";
import type { EligibilityResult } from "../../partner/contract.ts";
import { pageOfIssuer, splitIntoCodes, splitProofIntoCodes } from "../../partner/envelope-codes.ts";
import { answerBox, sinceBox } from "./answer-box.ts";
import { el, fact } from "./dom.ts";
import { evidenceLine } from "./evidence.ts";
import type { Judged } from "./judge.ts";
import type { KeySource } from "./keys.ts";
import { signatureTone, titleOf } from "./outcome.ts";
import { purposeFact, recordFacts, signatureFacts, signerOf, writtenTime } from "./signed-values.ts";
import type { EnvelopeTexts } from "./texts.ts";
import { verdictBox } from "./verdict-box.ts";

/** The standard's quiet zone. */
const borderModules = 4;
/** So that a PDF viewer that smooths pictures leaves sharp edges; more would be megabytes, for a GIF of these is not packed. */
const pixelsPerModule = 4;

type Certified = {
  readonly judged: Judged;
  readonly jws: string;
  /** The proof that was accepted with it. */
  readonly proof: string | null;
  readonly source: KeySource;
  readonly now: Date;
};

async function codeFigure(text: string, alt: string): Promise<HTMLElement> {
  const options = { ecc: "low", encoding: "byte", border: borderModules, scale: pixelsPerModule } as const;
  // A file, and no canvas, to which some browsers add noise.
  const image = el("img", { src: encodeQR(text, "data-url", options), alt });
  await image.decode();
  return el("figure", {}, image, el("figcaption", { "aria-hidden": "true" }, alt));
}

/** Two have room to be large; more lie three in a row. */
async function figuresOf(codes: readonly string[], name: (number: number, total: number) => string) {
  const figures: HTMLElement[] = [];
  for (const [index, code] of codes.entries()) {
    figures.push(await codeFigure(code, name(index + 1, codes.length)));
  }
  return el("div", { class: codes.length > 2 ? "codes many" : "codes" }, figures);
}

function pageOf({ judged }: Certified): string | null {
  return pageOfIssuer(judged.verification.issuer ?? "");
}

async function codesPart(certified: Certified, texts: EnvelopeTexts): Promise<HTMLElement> {
  const words = texts.certificate;
  const page = pageOf(certified);
  const codes = await splitIntoCodes(certified.jws, page).catch(() => []);
  if (codes.length === 0) return el("p", {}, words.tooLong);
  const here = new URL("verify-envelope", document.baseURI);
  return el(
    "section",
    { class: "signed-answer" },
    el("h3", {}, words.codesTitle),
    el("p", {}, words.codesHint(codes.length, page ?? here.origin + here.pathname)),
    await figuresOf(codes, words.code),
    certified.proof === null ? null : el("p", { class: "paper" }, words.proofFollows),
  );
}

/** On a sheet of its own, so it says what it belongs to. */
async function proofPart(certified: Certified, texts: EnvelopeTexts): Promise<HTMLElement | null> {
  const { proof, judged } = certified;
  if (proof === null) return null;
  const words = texts.log.certificate;
  const codes = await splitProofIntoCodes(proof, pageOf(certified)).catch(() => []);
  if (codes.length === 0) return el("p", {}, words.tooLong);
  const { verificationId } = judged.verification;
  return el(
    "section",
    { class: "signed-answer proof" },
    el("h3", {}, words.title),
    el("p", {}, words.hint),
    el("p", {}, `${texts.signed.verificationId}: `, el("code", {}, verificationId)),
    await figuresOf(codes, words.code),
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

/**
 * The attestation of a verification that was found genuine.
 *
 * @param certified the verification, its signature, and how and when it was checked
 */
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
    el(
      "div",
      { class: "meanings" },
      el("div", {}, el("h3", {}, words.meansTitle), list(words.means)),
      el("div", {}, el("h3", {}, words.meansNotTitle), list(words.meansNot)),
    ),
    result?.profile ? el("p", {}, words.profile) : null,
    await codesPart(certified, texts),
    await proofPart(certified, texts),
  );
}

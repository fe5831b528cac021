/** A certificate of verification: a page to print, whose QR codes carry the signature itself. */

import { encodeQR } from "qr";
import { pngAddress } from "../../../certificate/png.ts";
import type { EligibilityResult } from "../../../partner/contract.ts";
import { splitIntoCodes, splitProofIntoCodes } from "../../../partner/envelope-codes.ts";
import { el, fact } from "./dom.ts";
import { evidenceLine } from "./evidence.ts";
import type { Judged } from "./judge.ts";
import type { KeySource } from "./keys.ts";
import { answerBox, signatureTone, titleOf, verdictBox } from "./outcome.ts";
import { answerFacts, signatureFacts, writtenTime } from "./signed-values.ts";
import type { EnvelopeTexts } from "./texts.ts";

/** The standard's quiet zone. */
const borderModules = 4;
/** So that a PDF viewer that smooths pictures leaves sharp edges: some 700 pixels a code. */
const pixelsPerModule = 8;

export type Certified = {
  readonly judged: Judged;
  readonly jws: string;
  /** The proof that was accepted with it. */
  readonly proof: string | null;
  readonly source: KeySource;
  readonly now: Date;
};

async function codeFigure(text: string, alt: string): Promise<HTMLElement> {
  const modules = encodeQR(text, "raw", { ecc: "medium", encoding: "byte", border: borderModules });
  const size = String(modules.length * pixelsPerModule);
  const src = await pngAddress(modules, pixelsPerModule);
  const image = el("img", { src, alt, width: size, height: size });
  return el("figure", {}, image, el("figcaption", { "aria-hidden": "true" }, alt));
}

async function figuresOf(codes: readonly string[], name: (number: number, total: number) => string) {
  const figures: HTMLElement[] = [];
  for (const [index, code] of codes.entries()) {
    figures.push(await codeFigure(code, name(index + 1, codes.length)));
  }
  return el("div", { class: "codes" }, figures);
}

/** It may lie on a sheet of its own, so it says what it belongs to. */
async function codesPart({ jws, judged }: Certified, texts: EnvelopeTexts): Promise<HTMLElement> {
  const words = texts.certificate;
  const codes = await splitIntoCodes(jws).catch(() => []);
  if (codes.length === 0) return el("p", {}, words.tooLong);
  const address = new URL("verify-envelope", document.baseURI);
  return el(
    "section",
    { class: "signed-answer" },
    el("h3", {}, words.codesTitle),
    el("p", {}, words.codesHint(address.origin + address.pathname)),
    belonging(judged, texts),
    await figuresOf(codes, words.code),
  );
}

function belonging({ verification }: Judged, { signed }: EnvelopeTexts): HTMLElement {
  return el("p", {}, `${signed.verificationId}: `, el("code", {}, verification.verificationId));
}

/** Before the signed answer: whoever reads that has then seen whether there is a proof. */
async function proofPart({ proof, judged }: Certified, texts: EnvelopeTexts): Promise<HTMLElement | null> {
  if (proof === null) return null;
  const words = texts.log.certificate;
  const codes = await splitProofIntoCodes(proof).catch(() => []);
  if (codes.length === 0) return el("p", {}, words.tooLong);
  return el(
    "section",
    { class: "signed-answer" },
    el("h3", {}, words.title),
    el("p", {}, words.hint),
    belonging(judged, texts),
    await figuresOf(codes, words.code),
  );
}

/** On paper as on the screen: a genuine signature is one thing, what it signs another. */
function verdictsPart(judged: Judged, result: EligibilityResult, texts: EnvelopeTexts) {
  const { verification } = judged;
  const signature = verdictBox(signatureTone(verification), titleOf(judged, texts));
  return el("div", { class: "verdicts" }, signature, answerBox(result, texts), evidenceLine(judged, texts));
}

function factsPart({ judged, source, now }: Certified, texts: EnvelopeTexts): HTMLElement | null {
  const words = texts.certificate;
  const { verification } = judged;
  const { result } = verification;
  if (result === null) return null;
  return el(
    "dl",
    { class: "facts" },
    answerFacts(result, texts),
    fact(words.purpose, words.purposeUnsigned),
    signatureFacts(verification, texts.signed),
    fact(words.checked, words.checkedWith[source](writtenTime(now.toISOString()))),
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
 * The certificate of a verification that was found genuine.
 *
 * @param certified the verification, its signature, and how and when it was checked
 */
export async function certificateOf(certified: Certified, texts: EnvelopeTexts): Promise<HTMLElement> {
  const words = texts.certificate;
  const { judged } = certified;
  const { issuer, verifiedAt, result } = judged.verification;
  return el(
    "article",
    { id: "certificate", "aria-labelledby": "certificate-title" },
    el("h2", { id: "certificate-title", tabindex: "-1" }, words.title),
    result === null ? null : verdictsPart(judged, result, texts),
    el("p", { class: "lead" }, words.attests(issuer ?? "", writtenTime(verifiedAt ?? ""))),
    factsPart(certified, texts),
    el("h3", {}, words.meansTitle),
    list(words.means),
    el("h3", {}, words.meansNotTitle),
    list(words.meansNot),
    result?.profile ? el("p", {}, words.profile) : null,
    await proofPart(certified, texts),
    await codesPart(certified, texts),
  );
}

/** A certificate of verification: a page to print, whose QR codes carry the signature itself. */

import { encodeQR } from "qr";
import { pngAddress } from "../../../certificate/png.ts";
import type { EligibilityResult } from "../../../partner/contract.ts";
import { splitIntoCodes } from "../../../partner/envelope-codes.ts";
import type { Verification } from "../../../partner/verification.ts";
import { el, fact } from "./dom.ts";
import type { KeySource } from "./keys.ts";
import { answerBox, signatureTone, verdictBox } from "./outcome.ts";
import { answerFacts, signatureFacts, writtenTime } from "./signed-values.ts";
import type { EnvelopeTexts } from "./texts.ts";

/** The standard's quiet zone. */
const borderModules = 4;
/** So that a PDF viewer that smooths pictures leaves sharp edges: some 700 pixels a code. */
const pixelsPerModule = 8;

export type Certified = {
  readonly verification: Verification;
  readonly jws: string;
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

/** It may lie on a sheet of its own, so it says what it belongs to. */
async function codesPart({ jws, verification }: Certified, texts: EnvelopeTexts): Promise<HTMLElement> {
  const words = texts.certificate;
  const parts = await splitIntoCodes(jws).catch(() => []);
  if (parts.length === 0) return el("p", {}, words.tooLong);
  const figures: HTMLElement[] = [];
  for (const [index, part] of parts.entries()) {
    figures.push(await codeFigure(part, words.code(index + 1, parts.length)));
  }
  const address = new URL("verify-envelope", document.baseURI);
  return el(
    "section",
    { class: "signed-answer" },
    el("h3", {}, words.codesTitle),
    el("p", {}, words.codesHint(address.origin + address.pathname)),
    el("p", {}, `${texts.signed.verificationId}: `, el("code", {}, verification.verificationId)),
    el("div", { class: "codes" }, figures),
  );
}

/** On paper as on the screen: a genuine signature is one thing, what it signs another. */
function verdictsPart(verification: Verification, result: EligibilityResult, texts: EnvelopeTexts) {
  const signature = verdictBox(signatureTone(verification), texts.verdicts.valid);
  return el("div", { class: "verdicts" }, signature, answerBox(result, texts));
}

function factsPart({ verification, source, now }: Certified, texts: EnvelopeTexts): HTMLElement | null {
  const words = texts.certificate;
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
  const { issuer, verifiedAt, result } = certified.verification;
  return el(
    "article",
    { id: "certificate", "aria-labelledby": "certificate-title" },
    el("h2", { id: "certificate-title", tabindex: "-1" }, words.title),
    result === null ? null : verdictsPart(certified.verification, result, texts),
    el("p", { class: "lead" }, words.attests(issuer ?? "", writtenTime(verifiedAt ?? ""))),
    factsPart(certified, texts),
    el("h3", {}, words.meansTitle),
    list(words.means),
    el("h3", {}, words.meansNotTitle),
    list(words.meansNot),
    result?.profile ? el("p", {}, words.profile) : null,
    await codesPart(certified, texts),
  );
}

/** Makes the pages to print: the attestation of an answer, with its QR code, and the sheet of a statement about a list. */

import { encodeQR } from "qr";
import { verificationPageOfIssuer } from "../../partner/claims.ts";
import type { CheckedItem, GenuineStatement } from "./check.ts";
import {
  makeAnswerBox,
  makeEvidenceNote,
  makeOldAnswerNote,
  signatureToneOf,
  verdictTitleOf,
} from "./outcome.ts";
import {
  formatSigner,
  formatTime,
  makeRecordFacts,
  makeSignatureFacts,
  makeStatementBox,
  makeStatementFacts,
  makeUnsignedPurposeFact,
} from "./values.ts";
import { el, keySource, makeFactLine, makeVerdictBox, texts } from "./view.ts";

const { statement: words, certificate } = texts;

function sheet(title: string, lead: string, ...parts: (HTMLElement | null)[]): HTMLElement {
  const heading = el("h2", { id: "certificate-title", tabindex: "-1" }, title);
  const attributes = { id: "certificate", "aria-labelledby": "certificate-title" };
  return el("article", attributes, heading, el("p", { class: "lead" }, lead), parts);
}

function listed(kind: "ol" | "ul", sentences: Iterable<string>): HTMLElement {
  const items = [...sentences].map((sentence) => el("li", {}, sentence));
  return el(kind, {}, items);
}

/** Makes a page to print with the eligible people of the list, and nothing about the other people. */
export function makeStatementSheet(shown: GenuineStatement, checked: CheckedItem): HTMLElement {
  const { issuer, verifiedAt } = checked.verification;
  const eligible = shown.rows.filter(({ eligible }) => eligible);
  return sheet(
    `${words.sheet.title}: ${shown.list.name}`,
    words.sheet.lead(formatSigner(checked.verification), formatTime(verifiedAt)),
    el("div", { class: "verdicts" }, makeStatementBox(shown, checked)),
    makeStatementFacts(shown, checked),
    el("h3", {}, words.sheet.rows),
    listed("ol", new Set(eligible.map(({ regNo, tId }) => regNo ?? String(tId ?? "")))),
    el("p", {}, words.sheet.says),
    el("p", {}, verificationPageOfIssuer(issuer ?? "") ?? issuer),
  );
}

/**
 * The longest link, in characters, that is printed as a QR code. With error correction L, its code has version 36, which is
 * 169 modules wide with the margin. Printed 100 mm wide, a module is 0.59 mm wide. A phone reads such a code at 600 pixels.
 */
const maxLinkCharacters = 2400;
/** The QR standard requires a margin of four modules. PDF viewers blur pictures, but a module of four pixels stays sharp. */
const codeOptions = { ecc: "low", encoding: "byte", border: 4, scale: 4 } as const;

async function codeFigure(link: string): Promise<HTMLElement> {
  // The QR code is an image, not a canvas, because some browsers add noise to a canvas.
  const image = el("img", { src: encodeQR(link, "data-url", codeOptions), alt: certificate.code });
  await image.decode();
  return el("figure", { class: "qr" }, image);
}

/** Makes the QR code of the signed answer (decision D8.8). If the link is too long, the text says where to verify the answer. */
async function answerPart({ verification, jws }: CheckedItem): Promise<HTMLElement> {
  const { issuer, verificationId, result, log } = verification;
  const page = verificationPageOfIssuer(issuer ?? "");
  const here = new URL("verify-envelope", document.baseURI).href;
  const link = `${page}#${jws}`;
  const hasCode = page !== null && link.length <= maxLinkCharacters;
  const hint = hasCode ? certificate.codeHint(page) : certificate.inWords(page ?? here, verificationId ?? "");
  const text = el(
    "div",
    {},
    el("h3", {}, certificate.answerTitle),
    el("p", {}, hint),
    hasCode && result?.profile ? el("p", {}, certificate.profile) : null,
    log === null ? null : el("p", {}, texts.log.apart),
    el("h3", {}, certificate.meansTitle),
    listed("ul", certificate.means),
    el("h3", {}, certificate.meansNotTitle),
    listed("ul", certificate.meansNot),
  );
  const figure = hasCode ? await codeFigure(link) : null;
  return el("section", { class: hasCode ? "signed-answer" : "" }, text, figure);
}

/** Makes the page that attests a genuine answer on paper. */
export async function makePrintedAttestation(checked: CheckedItem): Promise<HTMLElement> {
  const { verification } = checked;
  const { verifiedAt, result } = verification;
  const { title, checkedWith, attests } = certificate;
  const lead = attests(formatSigner(verification), formatTime(verifiedAt));
  const answer = await answerPart(checked);
  if (result === null) return sheet(title, lead, answer);
  const signature = makeVerdictBox(signatureToneOf(verification), verdictTitleOf(checked));
  const boxes = [
    makeAnswerBox(verification, result),
    makeOldAnswerNote(verification),
    makeEvidenceNote(checked),
  ];
  const verdicts = el("div", { class: "verdicts" }, signature, boxes);
  const now = checkedWith[keySource](formatTime(new Date().toISOString()));
  const facts = [...makeRecordFacts(result), makeUnsignedPurposeFact(), ...makeSignatureFacts(verification)];
  const list = el("dl", { class: "facts" }, facts, makeFactLine(certificate.checked, now));
  return sheet(title, lead, verdicts, list, answer);
}

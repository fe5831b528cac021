/** The second script, loaded only when needed: attestations to print, with QR codes, and statements over lists. */

import { encodeQR } from "qr";
import { pageOfIssuer } from "../../partner/claims.ts";
import type { StatementRow } from "../../partner/contract.ts";
import type { LogProof } from "../../partner/log-proof.ts";
import { Refusal } from "../../partner/reasons.ts";
import type { JsonValue } from "../../partner/strict-json.ts";
import type { StatementVerification } from "../../partner/verification.ts";
import type { VerifyOptions } from "../../partner/verify-envelope.ts";
import { verifyStatement } from "../../partner/verify-statement.ts";
import type { ItemCheck, ShownStatement } from "./check.ts";
import {
  answerBox,
  evidenceLine,
  oldAnswerBox,
  signatureTone,
  type Tone,
  table,
  titleOf,
  verdictBox,
} from "./outcome.ts";
import {
  nameSigner,
  recordFacts,
  signatureFacts,
  unsignedPurposeFact,
  writtenDay,
  writtenTime,
} from "./values.ts";
import { el, factLine, keySource, texts } from "./view.ts";

const { statement: words, certificate, signed } = texts;

/** Remakes a proof's refusal in this script's class. The first script has its own class, so `instanceof` would fail. */
function ownProof(proof: LogProof): LogProof {
  const { refusal } = proof;
  return refusal === null ? proof : { refusal: new Refusal(refusal.reason, refusal.detail) };
}

export function checkStatement(
  value: JsonValue,
  { proof, ...options }: VerifyOptions,
): Promise<StatementVerification> {
  return verifyStatement(value, proof === undefined ? options : { ...options, proof: ownProof(proof) });
}

type Shown = ShownStatement["stated"];

/** Chooses the colour of a statement. It is green only if all are eligible; a share is neither good nor bad. */
export function statementTone({ rows, summary: { eligible, distinct } }: Shown): Tone {
  const [row] = rows;
  if (rows.length === 1 && row !== undefined) return row.eligible ? "good" : "bad";
  return eligible === distinct ? "good" : "none";
}

/** Makes the box of the statement's content, the second verdict beside that on the signature. */
export function statementBox(shown: Shown, { verification }: ItemCheck): HTMLElement {
  const { listed, distinct, eligible, percentEligible } = shown.summary;
  const differing = shown.rows.filter(({ nameMatches }) => nameMatches === false).length;
  return verdictBox(
    statementTone(shown),
    words.title(writtenDay(verification.verifiedAt ?? ""), eligible, distinct, percentEligible),
    words.people(listed, distinct),
    differing === 0 ? null : words.differing(differing),
  );
}

function statementFacts({ list, purpose }: Shown, { verification }: ItemCheck): HTMLElement {
  return el(
    "dl",
    { class: "facts" },
    factLine(words.list, list.name),
    factLine(words.reference, list.reference),
    factLine(words.purpose, el("code", {}, purpose)),
    signatureFacts(verification),
  );
}

function cellsOf({ regNo, tId, eligible, status, reasons, nameMatches }: StatementRow): string[] {
  const name = nameMatches === null ? words.none : nameMatches ? words.matches : words.differs;
  const why = reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
  const licence = reasons.includes("TEACHER_NOT_FOUND") ? words.nobody : signed.statuses[status];
  return [regNo ?? "", String(tId ?? ""), licence, `${eligible ? words.yes : words.no}${why}`, name];
}

export function statementPart(shown: Shown, checked: ItemCheck): HTMLElement {
  const { row: first, ...others } = words.head;
  const heads = Object.values(others);
  const rows = shown.rows.map((row) => {
    const cells = cellsOf(row).map((text, at) => el("td", { "data-label": heads[at] ?? "" }, text));
    const attributes = row.nameMatches === false ? { class: "differs" } : {};
    return el("tr", attributes, el("th", { scope: "row" }, String(row.row)), cells);
  });
  return el(
    "section",
    { class: "rows" },
    el("h3", {}, signed.title),
    statementFacts(shown, checked),
    table(words.rows, [first, ...heads], rows),
  );
}

function sheet(title: string, lead: string, ...parts: (HTMLElement | null)[]): HTMLElement {
  const heading = el("h2", { id: "certificate-title", tabindex: "-1" }, title);
  const attributes = { id: "certificate", "aria-labelledby": "certificate-title" };
  return el("article", attributes, heading, el("p", { class: "lead" }, lead), parts);
}

function listed(kind: "ol" | "ul", sentences: Iterable<string>): HTMLElement {
  return el(
    kind,
    {},
    [...sentences].map((sentence) => el("li", {}, sentence)),
  );
}

/** Makes a page to print with the eligible people of the list, and nothing about the other people. */
export function makeSheet(shown: Shown, checked: ItemCheck): HTMLElement {
  const { issuer, verifiedAt } = checked.verification;
  const eligible = shown.rows.filter(({ eligible }) => eligible);
  return sheet(
    `${words.sheet.title}: ${shown.list.name}`,
    words.sheet.lead(nameSigner(checked), writtenTime(verifiedAt)),
    el("div", { class: "verdicts" }, statementBox(shown, checked)),
    statementFacts(shown, checked),
    el("h3", {}, words.sheet.rows),
    listed("ol", new Set(eligible.map(({ regNo, tId }) => regNo ?? String(tId ?? "")))),
    el("p", {}, words.sheet.says),
    el("p", {}, pageOfIssuer(issuer ?? "") ?? issuer),
  );
}

/**
 * The longest link that is printed as a QR code. At error correction L it takes version 36: 169 modules with the margin, of
 * 0.59 mm each at the style sheet's 100 mm. A phone reads such a code at 600 pixels, even askew and blurred.
 */
const maxLinkCharacters = 2400;
/** The standard requires a margin of four modules. PDF viewers smooth pictures; four pixels a module stay sharp. */
const codeOptions = { ecc: "low", encoding: "byte", border: 4, scale: 4 } as const;

async function codeFigure(link: string): Promise<HTMLElement> {
  // The QR code is an image and no canvas, because some browsers add noise to a canvas.
  const image = el("img", { src: encodeQR(link, "data-url", codeOptions), alt: certificate.code });
  await image.decode();
  return el("figure", { class: "qr" }, image);
}

/** Shows the signed answer as a QR code (decision D8.8); for a too long answer, shows where to verify it. */
async function answerPart({ verification, jws }: ItemCheck): Promise<HTMLElement> {
  const { issuer, verificationId, result, log } = verification;
  const page = pageOfIssuer(issuer ?? "");
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

/** Makes the attestation of a genuine answer, a page to print. */
export async function makePrintout(checked: ItemCheck): Promise<HTMLElement> {
  const { verification } = checked;
  const { verifiedAt, result } = verification;
  const parts =
    result === null
      ? []
      : [
          el(
            "div",
            { class: "verdicts" },
            verdictBox(signatureTone(verification), titleOf(checked)),
            answerBox(verification, result),
            oldAnswerBox(verification),
            evidenceLine(checked),
          ),
          el(
            "dl",
            { class: "facts" },
            recordFacts(result),
            unsignedPurposeFact(),
            signatureFacts(verification),
            factLine(
              certificate.checked,
              certificate.checkedWith[keySource](writtenTime(new Date().toISOString())),
            ),
          ),
        ];
  const lead = certificate.attests(nameSigner(checked), writtenTime(verifiedAt));
  return sheet(certificate.title, lead, ...parts, await answerPart(checked));
}

/** A statement over a list, on the screen and as a sheet for the wall. */

import { pageOfIssuer } from "../../partner/claims.ts";
import type { StatementRow } from "../../partner/contract.ts";
import { dayInWords } from "../../partner/date-time.ts";
import type { Judged, ShownStatement } from "./judge.ts";
import { signatureFacts, signerOf, writtenTime } from "./signed-values.ts";
import { type Tone, verdictBox } from "./verdicts.ts";
import { type EnvelopeTexts, el, fact } from "./view.ts";

type Shown = ShownStatement["stated"];

/** Good only where all are eligible: a share of them is neither good nor bad. */
export function statementTone({ rows, summary: { eligible, distinct } }: Shown): Tone {
  const [row] = rows;
  if (rows.length === 1 && row !== undefined) return row.eligible ? "good" : "bad";
  return eligible === distinct ? "good" : "none";
}

function statementTitle(shown: Shown, judged: Judged, { statement: words, locale }: EnvelopeTexts): string {
  const day = dayInWords(judged.verification.verifiedAt ?? "", locale);
  const { distinct, eligible, percentEligible } = shown.summary;
  return words.title(day, eligible, distinct, percentEligible);
}

/** The second verdict, as large as the first. */
export function statementBox(shown: Shown, judged: Judged, texts: EnvelopeTexts): HTMLElement {
  const words = texts.statement;
  const { rows, summary } = shown;
  const differing = rows.filter(({ nameMatches }) => nameMatches === false).length;
  return verdictBox(
    statementTone(shown),
    statementTitle(shown, judged, texts),
    words.people(summary.listed, summary.distinct),
    differing === 0 ? null : words.differing(differing),
  );
}

function listFacts({ list, purpose }: Shown, { statement: words }: EnvelopeTexts) {
  return [
    fact(words.list, list.name),
    fact(words.reference, list.reference),
    fact(words.purpose, el("code", {}, purpose)),
  ];
}

function cellsOf(row: StatementRow, { statement: words, signed }: EnvelopeTexts): string[] {
  const { nameMatches } = row;
  const name = nameMatches === null ? words.none : nameMatches ? words.matches : words.differs;
  const why = row.reasons.length === 0 ? "" : ` (${row.reasons.join(", ")})`;
  const verdict = `${row.eligible ? words.yes : words.no}${why}`;
  const licence = row.reasons.includes("TEACHER_NOT_FOUND") ? words.nobody : signed.statuses[row.status];
  return [row.regNo ?? "", String(row.tId ?? ""), licence, verdict, name];
}

export function statementPart(shown: Shown, judged: Judged, texts: EnvelopeTexts): HTMLElement {
  const words = texts.statement;
  const { row: first, ...others } = words.head;
  const heads = Object.values(others);
  const head = [first, ...heads].map((text) => el("th", { scope: "col" }, text));
  const body = shown.rows.map((row) => {
    const cells = cellsOf(row, texts).map((text, at) => el("td", { "data-label": heads[at] ?? "" }, text));
    return el(
      "tr",
      row.nameMatches === false ? { class: "differs" } : {},
      el("th", { scope: "row" }, String(row.row)),
      cells,
    );
  });
  const caption = el("caption", {}, words.rows);
  return el(
    "section",
    { class: "rows" },
    el("h3", {}, texts.signed.title),
    el("dl", { class: "facts" }, listFacts(shown, texts), signatureFacts(judged.verification, texts)),
    el("table", {}, caption, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)),
  );
}

/** A page to print: who of the list may be relied on, and nothing of who may not. */
export function sheetOf(shown: Shown, judged: Judged, texts: EnvelopeTexts): HTMLElement {
  const words = texts.statement;
  const { issuer, verifiedAt } = judged.verification;
  const eligible = shown.rows.filter(({ eligible }) => eligible);
  const numbers = new Set(eligible.map(({ regNo, tId }) => regNo ?? String(tId ?? "")));
  return el(
    "article",
    { id: "certificate", "aria-labelledby": "certificate-title" },
    el("h2", { id: "certificate-title", tabindex: "-1" }, `${words.sheet.title}: ${shown.list.name}`),
    el(
      "p",
      { class: "lead" },
      words.sheet.lead(signerOf(judged, texts), writtenTime(verifiedAt ?? "", texts)),
    ),
    el("div", { class: "verdicts" }, statementBox(shown, judged, texts)),
    el("dl", { class: "facts" }, listFacts(shown, texts), signatureFacts(judged.verification, texts)),
    el("h3", {}, words.sheet.rows),
    el(
      "ol",
      {},
      [...numbers].map((number) => el("li", {}, number)),
    ),
    el("p", {}, words.sheet.says),
    el("p", {}, pageOfIssuer(issuer ?? "") ?? issuer),
  );
}

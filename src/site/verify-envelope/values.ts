/** Shows the signed values of an envelope, and finds unsigned members whose values differ from the signed values. */

import type { Certificate, EligibilityResult, License, StatementRow } from "../../partner/contract.ts";
import { formatDayInWords } from "../../partner/date-time.ts";
import type { JsonObject, JsonValue } from "../../partner/strict-json.ts";
import type { Verification } from "../../partner/verification.ts";
import type { CheckedItem, GenuineStatement } from "./check.ts";
import type { Tone } from "./view.ts";
import { el, makeFactLine, makeTable, makeVerdictBox, ownIssuer, readPageData, texts } from "./view.ts";

const { signed: words, statement } = texts;

type Facts = (HTMLElement | null)[];

export const formatDay = (date: string) => formatDayInWords(date, texts.locale);

/** Writes `2026-03-01T12:00:00Z` as "1 March 2026, 12:00:00 UTC". The result for null or undefined must not be shown. */
export function formatTime(time: string | null | undefined): string {
  return words.time(formatDay(time ?? ""), (time ?? "").slice(11, 19));
}

/** Writes a code in words; a code that this page does not know is shown as it was signed. */
function coded(code: string, known: Readonly<Record<string, string>>): string {
  const word = known[code];
  return word === undefined ? code : words.coded(word, code);
}

function licenseText({ status, issueDate, expiryDate }: License): string {
  return [
    coded(status, words.statuses),
    ...(issueDate === null ? [] : [words.begins(formatDay(issueDate))]),
    ...(expiryDate === null ? [] : [words.ends(formatDay(expiryDate))]),
  ].join(", ");
}

function certificateText({ status, issueDate }: Certificate): string {
  const word = coded(status, words.certificates);
  return issueDate === null ? word : `${word}, ${words.issued(formatDay(issueDate))}`;
}

export function formatReasons({ reasons }: EligibilityResult): string {
  const known: Readonly<Record<string, string>> = texts.reasons;
  return reasons.map((reason) => `${known[reason] ?? reason} (${reason})`).join("; ");
}

export function makeRecordFacts({ teacher, license, certificate }: EligibilityResult): Facts {
  return [
    makeFactLine(words.teacher, teacher?.name ?? words.notFound),
    makeFactLine(words.regNo, certificate?.regNo),
    makeFactLine(words.tId, teacher?.tId?.toString()),
    makeFactLine(words.state, teacher?.state),
    makeFactLine(words.category, teacher?.category),
    makeFactLine(words.license, license === null ? null : licenseText(license)),
    makeFactLine(words.certificate, certificate === null ? null : certificateText(certificate)),
  ];
}

/** Says that the purpose is not signed. Without this line a reader might think that the signature covers a purpose. */
export function makeUnsignedPurposeFact(): HTMLElement | null {
  return makeFactLine(words.purpose, words.purposeUnsigned);
}

export function makeAnswerFacts(result: EligibilityResult): Facts {
  return [
    ...makeRecordFacts(result),
    result.found ? makeFactLine(words.eligible, result.eligible ? words.yes : words.no) : null,
    makeFactLine(words.reasons, formatReasons(result)),
    makeUnsignedPurposeFact(),
  ];
}

/** Names the signer: the issuer's URL, and before it the registry's name if the issuer is this page's service. */
export function formatSigner({ issuer }: Verification): string {
  if (issuer === null) return "";
  const registry = issuer === ownIssuer ? readPageData("registry") : "";
  return registry === "" ? issuer : words.named(registry, issuer);
}

export function makeSignatureFacts(verification: Verification, signer = verification.issuer): Facts {
  const { verifiedAt, audience, kid, verificationId } = verification;
  const code = (text: string | null) => (text === null ? null : el("code", {}, text));
  return [
    makeFactLine(words.issuer, signer),
    makeFactLine(words.audience, audience),
    makeFactLine(words.verifiedAt, verifiedAt === null ? null : formatTime(verifiedAt)),
    makeFactLine(words.verificationId, code(verificationId)),
    makeFactLine(words.kid, code(kid)),
  ];
}

/** Chooses the colour of a statement: green if all its people are eligible, red if its only person is not, else neutral. */
export function statementToneOf({ rows, summary: { eligible, distinct } }: GenuineStatement): Tone {
  const [row] = rows;
  if (rows.length === 1 && row !== undefined) return row.eligible ? "good" : "bad";
  return eligible === distinct ? "good" : "none";
}

/** Makes the box of the verdict on the statement's content, the second verdict. The first verdict is on the signature. */
export function makeStatementBox(shown: GenuineStatement, { verification }: CheckedItem): HTMLElement {
  const { listed, distinct, eligible, percentEligible } = shown.summary;
  const differing = shown.rows.filter(({ nameMatches }) => nameMatches === false).length;
  return makeVerdictBox(
    statementToneOf(shown),
    statement.title(formatDay(verification.verifiedAt ?? ""), eligible, distinct, percentEligible),
    statement.people(listed, distinct),
    differing === 0 ? null : statement.differing(differing),
  );
}

export function makeStatementFacts(
  { list, purpose }: GenuineStatement,
  { verification }: CheckedItem,
): HTMLElement {
  return el(
    "dl",
    { class: "facts" },
    makeFactLine(statement.list, list.name),
    makeFactLine(statement.reference, list.reference),
    makeFactLine(statement.purpose, el("code", {}, purpose)),
    makeSignatureFacts(verification),
  );
}

function cellsOf({ regNo, tId, eligible, status, reasons, nameMatches }: StatementRow): string[] {
  const name = nameMatches === null ? statement.none : nameMatches ? statement.matches : statement.differs;
  const why = reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
  const licence = reasons.includes("TEACHER_NOT_FOUND") ? statement.nobody : words.statuses[status];
  return [regNo ?? "", String(tId ?? ""), licence, `${eligible ? statement.yes : statement.no}${why}`, name];
}

export function makeStatementSection(shown: GenuineStatement, checked: CheckedItem): HTMLElement {
  const { row: first, ...others } = statement.head;
  const heads = Object.values(others);
  const rows = shown.rows.map((row) => {
    const cells = cellsOf(row).map((text, at) => el("td", { "data-label": heads[at] ?? "" }, text));
    const attributes = row.nameMatches === false ? { class: "differs" } : {};
    return el("tr", attributes, el("th", { scope: "row" }, String(row.row)), cells);
  });
  const facts = makeStatementFacts(shown, checked);
  const title = el("h3", {}, words.title);
  return el("section", { class: "rows" }, title, facts, makeTable(statement.rows, [first, ...heads], rows));
}

/** A member whose signed value differs from the value `outer` beside the signature. Both are JSON; undefined if missing. */
type Difference = { member: string; signed: string | undefined; outer: string | undefined };

const maxDifferences = 200;
const outerNames = ["verificationId", "verifiedAt", "issuer", "audience", "signatureKid", "result"];

function leavesOf(value: JsonValue, path: string): [path: string, json: string][] {
  const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (members.length === 0) return [[path, JSON.stringify(value)]];
  const pathOf = (name: string) => (Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`);
  return members.flatMap(([name, member]) => leavesOf(member, pathOf(name)));
}

/** Compares the values of a member. The signed time has whole seconds, so fractions of the unsigned time are ignored. */
function isSame({ member, signed, outer }: Difference): boolean {
  if (signed === outer) return true;
  if (member !== "verifiedAt" || signed === undefined || outer === undefined) return false;
  const seconds = (text: string) => Math.floor(Date.parse(String(JSON.parse(text))) / 1000);
  return seconds(signed) === seconds(outer);
}

/** Finds the members whose values differ between an envelope and its signed claims. */
export function findChangedMembers(envelope: JsonObject, verification: Verification): Difference[] {
  if (verification.result === null) return [];
  const claims = { ...verification, signatureKid: verification.kid } as unknown as JsonObject;
  // Only the members that the contract names are compared, except the signature.
  const all = (members: JsonObject) => {
    const named = outerNames.filter((name) => Object.hasOwn(members, name));
    return new Map(named.flatMap((name) => leavesOf(members[name] as JsonValue, name)));
  };
  const [signed, outer] = [all(claims), all(envelope)];
  const members = [...new Set([...signed.keys(), ...outer.keys()])];
  return members
    .map((member) => ({ member, signed: signed.get(member), outer: outer.get(member) }))
    .filter((row) => !isSame(row))
    .slice(0, maxDifferences);
}

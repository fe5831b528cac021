/** Formats verifications. The only unsigned values in the text are file names, key ids and `claimedIssuer`. */

import { describeAge, describeAnswer, describeSignedStatement } from "../../src/partner/answer-age.ts";
import type { EligibilityResult } from "../../src/partner/contract.ts";
import type { EnvelopePosition } from "../../src/partner/input.ts";
import { formatEntries } from "../../src/partner/log-proof.ts";
import { refusalReasons, warnings } from "../../src/partner/reasons.ts";
import type {
  Check,
  LogEvidence,
  StatementVerification,
  Verification,
} from "../../src/partner/verification.ts";
import { escapeUnprintable } from "../terminal/output.ts";

export type AnyVerification = Verification | StatementVerification;

type Location = { readonly file: string; readonly place: EnvelopePosition };

/** Writes one line of JSON. Unprintable characters are escaped in the form that every JSON parser reads. */
export function formatJson(verification: AnyVerification, { file, place: { line, index } }: Location) {
  const { claimedIssuer, trust, log, statusList, warnings: codes, checks, ...verdict } = verification;
  const object = {
    ...verdict,
    ...(claimedIssuer === null ? {} : { claimedIssuer }),
    ...{ trust, log, statusList, warnings: codes, checks, file },
    ...(line === null ? {} : { line }),
    ...(index === null ? {} : { index }),
  };
  return `${escapeUnprintable(JSON.stringify(object))}\n`;
}

const colors = { valid: 32, refused: 31, undecidable: 33 };

function describeLocation({ file, place }: Location): string {
  const line = place.line === null ? "" : `:${place.line}`;
  return `${file}${line}${place.index === null ? "" : `[${place.index}]`}`;
}

function row(name: string, ...values: (string | number | null | undefined)[]): string[] {
  const known = values.filter((value) => value !== null && value !== undefined && value !== "");
  return known.length === 0 ? [] : [`  ${name.padEnd(15)} ${escapeUnprintable(known.join(", "))}`];
}

function colored(text: string, code: number | null): string {
  return code === null ? text : `\u001b[${code}m${text}\u001b[0m`;
}

/** Writes the answer and its age. Their colours do not follow the verdict's: a genuine answer may be negative. */
function answerLines(verification: AnyVerification, color: boolean): string[] {
  const stated = "statement" in verification ? describeSignedStatement(verification) : null;
  const [answer, since] = [stated ?? describeAnswer(verification), describeAge(verification)];
  if (answer === null) return [];
  const isYes = stated === null ? verification.result?.eligible : areAllEligible(verification);
  const answerColor = hasEnded(verification) ? colors.undecidable : isYes ? 32 : 31;
  const line = (text: string, code: number) => `  ${colored(escapeUnprintable(text), color ? code : null)}`;
  const shown = line(answer, answerColor);
  return since === null ? [shown] : [shown, line(since, colors.undecidable)];
}

function areAllEligible(verification: AnyVerification): boolean {
  const rows = ("statement" in verification && verification.statement?.rows) || [];
  return rows.every(({ eligible }) => eligible);
}

function describeStated({ statement }: StatementVerification): string[] {
  if (statement === null) return [];
  const { list, purpose, policyVersion, rows } = statement;
  return [
    ...row("list", list.name, list.reference),
    ...row("purpose", purpose, `policy ${policyVersion}`),
    ...(rows ?? []).flatMap((one) =>
      row(
        `row ${one.row}`,
        one.regNo ?? one.tId ?? "no number",
        one.status,
        one.eligible ? "eligible" : "not eligible",
        ...one.reasons,
        one.nameMatches === false ? "THE LISTED NAME DIFFERS" : null,
      ),
    ),
  ];
}

/** Whether the teacher was eligible, but the licence has ended since the answer. */
function hasEnded({ age, result }: Verification): boolean {
  return result?.eligible === true && (age?.licenseEndedOn ?? null) !== null;
}

function describeResult({ teacher, license, certificate }: EligibilityResult): string[] {
  return [
    ...row("teacher", teacher?.name, teacher?.tId, teacher?.state, teacher?.category),
    ...row("license", license?.status, license?.issueDate, license?.expiryDate),
    ...row("certificate", certificate?.status, certificate?.regNo, certificate?.issueDate),
  ];
}

function describeLog(log: LogEvidence | null, isValid: boolean): string[] {
  if (log === null) return [];
  const { origin, index, size, checkpointAt, precedesCompromise } = log;
  const isWhy = precedesCompromise && isValid;
  return [
    ...row("in the log", `entry ${index} of ${origin}, which had ${formatEntries(size)} on ${checkpointAt}`),
    ...(isWhy ? row("accepted", "because the log had it before its key was compromised") : []),
  ];
}

function describeCheck({ name, ok, detail }: Check): string {
  // The mark "NO" before the name "compromise" would read as "no compromise".
  const mark = ok === null ? "not made" : ok ? "ok" : "FAILED";
  return `  ${mark.padEnd(8)} ${name.padEnd(12)} ${escapeUnprintable(detail)}`;
}

/** The reasons of inputs that were not verified. For these reasons no checks are printed. */
const unverified: ReadonlySet<string | null> = new Set([
  "FILE_UNREADABLE",
  "FOLDER_NESTED",
  "INPUT_TOO_LARGE",
  "NO_ENVELOPE",
  "NOT_AN_ENVELOPE",
]);

function explain({ reason, checks, claimedIssuer }: Verification): string {
  if (reason === null) return "";
  if (claimedIssuer !== null)
    return `  ${reason}: It says it comes from ${escapeUnprintable(claimedIssuer)}, which is another service (nothing proves that it does). Check it there.`;
  const isForm = checks[0]?.ok === false;
  const detail = isForm ? checks[0]?.detail : undefined;
  return `  ${reason}: ${detail ?? refusalReasons[reason].explanation}`;
}

export function formatText(verification: AnyVerification, location: Location, color: boolean): string {
  const { verdict, reason, result, statusList: list } = verification;
  const isGenuine = verdict === "valid";
  // "valid" is not green if the answer is negative or its licence has ended, because green looks like a positive answer.
  const isStated = "statement" in verification;
  const isGood = result?.eligible !== false && !hasEnded(verification) && areAllEligible(verification);
  const isColored = color && (isGood || !isGenuine);
  const word = colored(verdict, isColored ? colors[verdict] : null);
  const lines = [
    `${word}  ${escapeUnprintable(describeLocation(location))}${explain(verification)}`,
    ...(isGenuine ? row("signature", "genuine") : []),
    ...answerLines(verification, isGenuine && color),
    ...row(isStated ? "statementId" : "verificationId", verification.verificationId),
    ...row("verifiedAt", verification.verifiedAt),
    ...row("issuer", verification.issuer),
    ...row("audience", verification.audience),
    ...row("kid", verification.kid),
    ...describeLog(verification.log, isGenuine),
    ...(list === null
      ? []
      : row("status list", `${list.withdrawn ? "withdrawn" : "not withdrawn"} on ${list.signedAt}`)),
    ...verification.warnings.flatMap((one) => row("warning", `${one}: ${warnings[one]}`)),
    ...(result === null ? [] : describeResult(result)),
    ...(isStated ? describeStated(verification) : []),
    ...(unverified.has(reason) ? [] : verification.checks.map(describeCheck)),
  ];
  return `${lines.join("\n")}\n\n`;
}

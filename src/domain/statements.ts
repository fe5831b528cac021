/**
 * Makes statements about whole lists (decision D16.1): one signature for all rows. A list is looked up some rows at a
 * time, so that other calls are answered in between. The commit requires that no record has changed since its lookup.
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { formatCanonicalJson } from "../partner/canonical-json.ts";
import type { ListLabel, Purpose, StatementRow, StatementSummary } from "../partner/contract.ts";
import { ineligibilityReasons, statementJwsType, statementRowHashPrefix } from "../partner/contract.ts";
import type { TeacherReader } from "../store/teachers.ts";
import { type Attestation, redactIdentifier, type StatementPerson, statementStatus } from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import { type CalendarDate, isoFromSeconds } from "./clock.ts";
import { evaluateEligibility } from "./eligibility.ts";
import { base64urlOfText, type Signer } from "./envelopes.ts";
import { TvsError } from "./errors.ts";
import { createRootBuilder } from "./evidence/tree.ts";
import type { StoredAnswer } from "./idempotency.ts";
import type { Policy } from "./policy.ts";
import { echoedIdentifierOf, type Identifier, keyOfIdentifier } from "./teachers/identifier.ts";
import { applyNameCheck, computeEligiblePercentage } from "./teachers/roster.ts";
import { correctTypingErrors } from "./teachers/search-term.ts";
import type { Teacher, TeacherPrecondition, UniqueKey } from "./teachers/teachers.ts";
import { canonicalizeRegNo } from "./teachers/teachers.ts";

export type StatementRequest = {
  readonly purpose: Purpose;
  readonly list: ListLabel;
  readonly teachers: readonly { readonly identifier: Identifier; readonly name: string | null }[];
};

export type ListEvaluationInput = {
  readonly teachers: TeacherReader;
  readonly blindIndex: BlindIndex;
  readonly policy: Policy;
  readonly today: CalendarDate;
};

type EvaluatedList = Pick<StatementRequest, "purpose" | "list"> & {
  /** The rows as JSON texts, in the order of the list. */
  readonly rows: readonly string[];
  readonly rowsRoot: string;
  readonly summary: StatementSummary;
  readonly people: readonly StatementPerson[];
  readonly read: readonly TeacherPrecondition[];
};

type Person = {
  /** The number of the first row that names the person, counted from 1. */
  readonly row: number;
  verdict: StatementRow;
  readonly key: UniqueKey;
  readonly teacher: Teacher | null;
  readonly listedNames: Set<string>;
};

/** The most names under which a list may name one person: with more, a caller could guess the registered name. */
const maxNames = 3;
/** The rows evaluated in one turn of the event loop, for about half a millisecond. Other calls run between turns. */
const rowsInTurn = 24;

/** Decides whether each row's teacher is eligible. @throws TvsError REQUEST_INVALID if a person has over three names */
export async function checkListedTeachers(
  { purpose, list, teachers: listed }: StatementRequest,
  evaluation: ListEvaluationInput,
): Promise<EvaluatedList> {
  const { blindIndex } = evaluation;
  const people = new Map<string, Person>();
  const tree = createRootBuilder(() => {});
  const rows: string[] = [];
  for (let from = 0; from < listed.length; from += rowsInTurn) {
    const some = listed.slice(from, from + rowsInTurn);
    const keys = some.map(({ identifier }) => keyOfIdentifier(identifier, blindIndex));
    const found = await findEach(evaluation.teachers, keys);
    for (const [index, key] of keys.entries()) {
      const teacher = found[index] ?? null;
      const listedName = some[index]?.name ?? null;
      const result = evaluateEligibility(teacher, { ...evaluation, purpose });
      const { eligible, reasons, nameMatches } = applyNameCheck(result, teacher, listedName ?? "");
      const verdict: StatementRow = {
        row: from + index + 1,
        ...(teacher === null ? echoedIdentifierOf(key) : { tId: teacher.tId, regNo: teacher.regNo }),
        ...{ eligible, status: result.status, reasons, nameMatches },
      };
      tree.push(rowLeaf(verdict));
      rows.push(JSON.stringify(verdict));
      const id = personId(key, teacher);
      const person = people.get(id) ?? { row: verdict.row, verdict, key, teacher, listedNames: new Set() };
      people.set(id, person);
      // If several rows are about one person, a row with the registered name decides.
      if (eligible) person.verdict = verdict;
      if (listedName !== null && teacher !== null) person.listedNames.add(listedName);
      if (person.listedNames.size > maxNames) {
        const message = `teachers[${verdict.row - 1}] is listed under ${maxNames} other names already`;
        throw new TvsError("REQUEST_INVALID", message);
      }
    }
    await nextTurn();
  }
  const all = [...people.values()];
  return {
    ...{ purpose, list, rows },
    rowsRoot: Buffer.from(tree.root() ?? []).toString("base64"),
    summary: summaryOf(all, rows.length),
    people: all.flatMap((person) => statedPerson(person, blindIndex)),
    read: all.map(({ teacher, key }) => teacher ?? key),
  };
}

/** Looks up each key. An unknown registration number is looked up again with its typing errors corrected. */
async function findEach(teachers: TeacherReader, keys: readonly UniqueKey[]): Promise<(Teacher | null)[]> {
  const found = await teachers.findEach(keys);
  const retries = keys.flatMap((key, index) => {
    if (found[index] !== null || key.by !== "regNo") return [];
    const value = canonicalizeRegNo(correctTypingErrors(key.value));
    return value === null || value === key.value ? [] : [{ index, key: { by: "regNo", value } as const }];
  });
  if (retries.length === 0) return found;
  const others = await teachers.findEach(retries.map(({ key }) => key));
  for (const [at, { index }] of retries.entries()) found[index] = others[at] ?? null;
  return found;
}

/** Hashes a row as a leaf (RFC 6962, 2.1): a fixed line, then the row as canonical JSON (RFC 8785). */
function rowLeaf(row: StatementRow): Uint8Array {
  return hash("sha256", `\0${statementRowHashPrefix}${formatCanonicalJson(row)}`, "buffer");
}

/** Gives all identifiers of one teacher the same id; an unknown identifier counts as a person of its own. */
function personId({ by, value }: UniqueKey, teacher: Teacher | null): string {
  if (teacher !== null) return String(teacher.id);
  return `${by} ${typeof value === "object" ? Buffer.from(value).toString("hex") : value}`;
}

function summaryOf(people: readonly Person[], listed: number): StatementSummary {
  const distinct = people.length;
  const eligible = people.filter(({ verdict }) => verdict.eligible).length;
  const withReason = (reason: StatementRow["reasons"][number]) =>
    people.filter(({ verdict }) => verdict.reasons.includes(reason)).length;
  const counts = ineligibilityReasons.map((reason) => [reason, withReason(reason)] as const);
  return {
    ...{ listed, distinct },
    found: people.filter(({ teacher }) => teacher !== null).length,
    eligible,
    percentEligible: computeEligiblePercentage(eligible, distinct),
    byReason: Object.fromEntries(counts.filter(([, count]) => count > 0)),
  };
}

/** Makes the stored row about a person, or no row for an unknown identifier that cannot be a NIN. */
function statedPerson({ row, verdict, key, teacher }: Person, index: BlindIndex): StatementPerson[] {
  const { ninIndex } = redactIdentifier(key, teacher, index);
  if (teacher === null && ninIndex === null) return [];
  const { eligible, status } = verdict;
  return [{ row, teacherId: teacher?.id ?? null, ninIndex, eligible, status }];
}

type StatementTerms = Pick<Attestation, "kid" | "policyVersion" | "credential" | "requestId"> & {
  readonly issuer: string;
  readonly audience: string;
  /** The time of signing (`iat`), in whole seconds since the Unix epoch. */
  readonly at: number;
};

/** Signs a statement. @throws the errors of `sign` */
export async function signStatement(
  { purpose, list, summary, rowsRoot, rows }: EvaluatedList,
  { issuer, audience, at, kid, policyVersion, credential, requestId }: StatementTerms,
  sign: Signer["sign"],
): Promise<{ attestation: Attestation; answer: StoredAnswer }> {
  const statementId = uuidv7();
  const content = { purpose, policyVersion, list, summary };
  const claims = { iss: issuer, aud: audience, jti: statementId, iat: at, ...content, rowsRoot };
  const header = base64urlOfText(JSON.stringify({ alg: "RS256", kid, typ: statementJwsType }));
  const input = `${header}.${base64urlOfText(JSON.stringify(claims))}`;
  const [signature = ""] = await sign(kid, [input]);
  const jws = `${input}.${signature}`;
  const outer = JSON.stringify({ statementId, issuedAt: isoFromSeconds(at), issuer, audience, ...content });
  const body = `${outer.slice(0, -1)},"rows":[${rows.join(",")}],"signature":"${jws}","signatureKid":"${kid}"}`;
  const attestation: Attestation = {
    verificationId: statementId,
    partnerId: audience,
    issuedAt: at,
    operation: "roster",
    teacherId: null,
    reference: `list:${list.name}`,
    ninIndex: null,
    status: statementStatus,
    eligible: summary.eligible === summary.distinct,
    context: list.reference === null ? null : JSON.stringify({ reference: list.reference }),
    ...{ kid, purpose, policyVersion, credential, requestId, jws },
  };
  const headers = { "X-Verification-Id": statementId, "X-Signature-Kid": kid };
  return { attestation, answer: { headers, body } };
}

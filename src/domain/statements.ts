/**
 * Statements over whole lists (decision D16.1): one signature for all rows. A list is read some rows at a time, between
 * which other calls are answered; the commit requires the versions that were read.
 */

import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { canonicalJson } from "../partner/canonical-json.ts";
import {
  type Purpose,
  reasons,
  type StatementList,
  type StatementRow,
  type StatementSummary,
  statementRowPrefix,
  statementType,
} from "../partner/contract.ts";
import type { TeacherReader } from "../store/teachers.ts";
import { type Attestation, askedFor, type StatedPerson, statementStatus } from "./attestations.ts";
import type { BlindIndex } from "./blind-index.ts";
import { type CalendarDate, isoSeconds } from "./clock.ts";
import { eligibilityResult } from "./eligibility.ts";
import { base64url, type Signer } from "./envelopes.ts";
import { TvsError } from "./errors.ts";
import { growTree } from "./evidence/tree.ts";
import type { StoredAnswer } from "./idempotency.ts";
import type { Policy } from "./policy.ts";
import { askedNumber, type Identifier, keyOf } from "./teachers/identifier.ts";
import { listedVerdict, percentageOf } from "./teachers/roster.ts";
import { meantTerm } from "./teachers/search-term.ts";
import { canonicalRegNo, type ReadTeacher, type Teacher, type UniqueKey } from "./teachers/teachers.ts";

/** A list that somebody asks about, already checked. */
export type AskedList = {
  readonly purpose: Purpose;
  readonly list: StatementList;
  readonly teachers: readonly { readonly identifier: Identifier; readonly name: string | null }[];
};

export type Judging = {
  readonly teachers: TeacherReader;
  readonly blindIndex: BlindIndex;
  readonly policy: Policy;
  readonly today: CalendarDate;
};

/** A list as it was read and judged, before anybody has signed for it. */
type JudgedList = Pick<AskedList, "purpose" | "list"> & {
  /** JSON, in the order of the list. */
  readonly rows: readonly string[];
  readonly rowsRoot: string;
  readonly summary: StatementSummary;
  readonly people: readonly StatedPerson[];
  readonly read: readonly ReadTeacher[];
};

type Person = {
  /** The first that names them. */
  readonly row: number;
  verdict: StatementRow;
  readonly key: UniqueKey;
  readonly teacher: Teacher | null;
  /** By which they are listed. */
  readonly names: Set<string>;
};

/** Spellings of one person's name at most: whoever tries more wants to learn the registered one. */
const maxNames = 3;
/** They take about half a millisecond, so that most of the loop's time is left for checks. */
const rowsInTurn = 24;

/** Looks up and judges all who are listed. @throws TvsError REQUEST_INVALID for a person under more than a few names */
export async function judgeList(
  { purpose, list, teachers: listed }: AskedList,
  judging: Judging,
): Promise<JudgedList> {
  const people = new Map<string, Person>();
  const tree = growTree(() => {});
  const rows: string[] = [];
  for (let from = 0; from < listed.length; from += rowsInTurn) {
    const some = listed.slice(from, from + rowsInTurn);
    const keys = some.map(({ identifier }) => keyOf(identifier, judging.blindIndex));
    const found = await findMeant(judging.teachers, keys);
    for (const [index, key] of keys.entries()) {
      const teacher = found[index] ?? null;
      const listedName = some[index]?.name ?? null;
      const result = eligibilityResult(teacher, { ...judging, purpose });
      const { eligible, reasons, nameMatches } = listedVerdict(result, teacher, listedName ?? "");
      const judged: StatementRow = {
        row: from + index + 1,
        ...(teacher === null ? askedNumber(key) : { tId: teacher.tId, regNo: teacher.regNo }),
        ...{ eligible, status: result.status, reasons, nameMatches },
      };
      tree.push(rowLeaf(judged));
      rows.push(JSON.stringify(judged));
      const who = nameOf(key, teacher);
      const person = people.get(who) ?? { row: judged.row, verdict: judged, key, teacher, names: new Set() };
      // Whoever is listed twice counts by the row that has the registered name.
      if (judged.eligible) person.verdict = judged;
      people.set(who, person);
      if (listedName !== null && teacher !== null) person.names.add(listedName);
      if (person.names.size > maxNames) {
        const message = `teachers[${judged.row - 1}] is listed under ${maxNames} other names already`;
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
    people: all.flatMap((person) => statedPerson(person, judging.blindIndex)),
    read: all.map(({ teacher, key }) => teacher ?? key),
  };
}

/** Looks up each key, and a number that nobody has as it may be meant: without a full stop at its end. */
async function findMeant(teachers: TeacherReader, keys: readonly UniqueKey[]): Promise<(Teacher | null)[]> {
  const found = await teachers.findEach(keys);
  const places = keys.flatMap((key, place) => {
    if (found[place] !== null || key.by !== "regNo") return [];
    const regNo = canonicalRegNo(meantTerm(key.value));
    return regNo === null || regNo === key.value ? [] : [{ place, regNo }];
  });
  if (places.length === 0) return found;
  const meant = await teachers.findEach(places.map(({ regNo }) => ({ by: "regNo", value: regNo })));
  const others = new Map(places.map(({ place }, at) => [place, meant[at] ?? null]));
  return found.map((teacher, place) => teacher ?? others.get(place) ?? null);
}

/** The hash of a row's leaf (RFC 6962, 2.1): of a fixed line, and of the row as RFC 8785 JSON. */
function rowLeaf(row: StatementRow): Uint8Array {
  return hash("sha256", `\0${statementRowPrefix}${canonicalJson(row)}`, "buffer");
}

/** Who is the same person, however they are named; nobody is as many as there are numbers. */
function nameOf({ by, value }: UniqueKey, teacher: Teacher | null): string {
  if (teacher !== null) return String(teacher.id);
  return `${by} ${typeof value === "object" ? Buffer.from(value).toString("hex") : value}`;
}

function summaryOf(people: readonly Person[], listed: number): StatementSummary {
  const distinct = people.length;
  const eligible = people.filter(({ verdict }) => verdict.eligible).length;
  const withReason = (reason: StatementRow["reasons"][number]) =>
    people.filter(({ verdict }) => verdict.reasons.includes(reason)).length;
  const counts = reasons.map((reason) => [reason, withReason(reason)] as const);
  return {
    ...{ listed, distinct },
    found: people.filter(({ teacher }) => teacher !== null).length,
    eligible,
    percentEligible: percentageOf(eligible, distinct),
    byReason: Object.fromEntries(counts.filter(([, count]) => count > 0)),
  };
}

/** What is kept of a person; nothing of a number that named nobody and cannot be a NIN. */
function statedPerson({ row, verdict, key, teacher }: Person, index: BlindIndex): StatedPerson[] {
  const { ninIndex } = askedFor(key, teacher, index);
  if (teacher === null && ninIndex === null) return [];
  const { eligible, status } = verdict;
  return [{ row, teacherId: teacher?.id ?? null, ninIndex, eligible, status }];
}

/** Who states it to whom, when, and for which call. */
type StatementMaking = {
  readonly issuer: string;
  readonly audience: string;
  /** Whole seconds since the Unix epoch. */
  readonly at: number;
  readonly kid: string;
  readonly policyVersion: string;
  readonly credential: string;
  readonly requestId: string;
};

/** Signs for a list. @throws what the signer throws */
export async function sealStatement(
  judged: JudgedList,
  making: StatementMaking,
  sign: Signer["sign"],
): Promise<{ attestation: Attestation; answer: StoredAnswer }> {
  const { purpose, list, summary, rowsRoot, rows } = judged;
  const { issuer, audience, at, kid, policyVersion } = making;
  const statementId = uuidv7();
  const said = { purpose, policyVersion, list, summary };
  const claims = { iss: issuer, aud: audience, jti: statementId, iat: at, ...said, rowsRoot };
  const header = base64url(JSON.stringify({ alg: "RS256", kid, typ: statementType }));
  const input = `${header}.${base64url(JSON.stringify(claims))}`;
  const [signature = ""] = await sign(kid, [input]);
  const jws = `${input}.${signature}`;
  const outer = JSON.stringify({ statementId, issuedAt: isoSeconds(at), issuer, audience, ...said });
  const body = `${outer.slice(0, -1)},"rows":[${rows.join(",")}],"signature":"${jws}","signatureKid":"${kid}"}`;
  const headers = { "X-Verification-Id": statementId, "X-Signature-Kid": kid };
  return { attestation: evidenceOf(judged, making, { statementId, jws }), answer: { headers, body } };
}

function evidenceOf(
  { purpose, list, summary }: JudgedList,
  { audience, at, kid, policyVersion, credential, requestId }: StatementMaking,
  { statementId, jws }: { statementId: string; jws: string },
): Attestation {
  return {
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
}

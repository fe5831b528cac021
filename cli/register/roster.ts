import { createReadStream } from "node:fs";
import { stringify } from "csv-stringify/sync";
import { v7 as uuidv7 } from "uuid";
import { rosterSchema } from "../../src/api/requests.ts";
import { createConfiguration, retryOnConflict, type Snapshot } from "../../src/domain/configuration.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { readCsv, type TableRecord } from "../../src/domain/import/csv.ts";
import { toUnreadableInputError } from "../../src/domain/import/read.ts";
import type { Encoding } from "../../src/domain/import/text.ts";
import { convertToUtf8, readBeginning, readByteOrderMark } from "../../src/domain/import/text.ts";
import { decryptPrivateKey, signingAlgorithm } from "../../src/domain/keys.ts";
import { currentWindowStarts } from "../../src/domain/quota-windows.ts";
import { checkListedTeachers, type StatementRequest, signStatement } from "../../src/domain/statements.ts";
import {
  checkRosterRow,
  computeEligiblePercentage,
  type RosterDependencies,
  type RosterHeader,
  type RosterRowResult,
  readRosterHeader,
  readRosterRow,
} from "../../src/domain/teachers/roster.ts";
import { validateBySchema } from "../../src/http/request-body.ts";
import { type ListLabel, purposes, type SignedStatement } from "../../src/partner/contract.ts";
import { operand, option, toggle } from "../command.ts";
import { logWriterOf, openEvidenceLog } from "../evidence/open-evidence.ts";
import type { OpenedRegister } from "../open.ts";
import { defineRegisterCommand } from "../operator-command.ts";
import { prepareOptionalOutputFile } from "../safe/output-file.ts";
import { exitCodes, formatListTable, parseChoice, printResult } from "../terminal/output.ts";
import { actorArg } from "./operator-name.ts";
import { fileFormatArgs } from "./teachers-map.ts";

/** The number of rows that are looked up together, which a libSQL server answers in one round trip. */
const rowsAtOnce = 64;
const maxRecordBytes = 64 * 1024;
/** The maximum number of rows of a list. A longer list is refused, because all results are in memory until they are printed. */
const maxRows = 1_000_000;
/** The maximum number of rows of a statement. One more row is collected, so that a longer list is refused and not cut. */
const maxListed = 2_000;

export const rosterCommand = defineRegisterCommand("roster", {
  args: {
    file: operand(),
    purpose: {
      ...option("P", (text, flag) => parseChoice(text, flag, purposes)),
      required: true,
      values: { oneOf: purposes },
    },
    statement: toggle(),
    "list-name": option("NAME"),
    reference: option("R"),
    encoding: fileFormatArgs.encoding,
    ...actorArg,
    out: option("FILE"),
    force: toggle(),
  },
  check: (args) => void readListLabel(args),
  prepare: ({ file, out: path, force }, config) =>
    prepareOptionalOutputFile({ flag: "--out", path, force, config, inputs: file === "-" ? [] : [file] }),
  async act(operator, args, out) {
    const { teachers, blindIndex, settingsInForce, calendar, clock } = operator;
    const { file, purpose, encoding } = args;
    const list = readListLabel(args);
    const today = calendar.dateAt(clock.now());
    const { policy } = settingsInForce;
    const dependencies = { teachers, blindIndex, purpose, policy, today };
    const { results, hasNames, listed } = await checkFile(file, encoding, dependencies);
    if (results.length === 0) throw unreadable(`${nameOf(file)} has no rows below its header`);
    if (list !== null) {
      refuseFaultyRows(file, results);
      const text = await stateOwnList(operator, { purpose, list, teachers: listed });
      await out?.write(`${text}\n`);
      return printStatement(args, JSON.parse(text) as SignedStatement);
    }
    await out?.write(rowsText(results, hasNames));
    const eligible = results.filter((row) => row.eligible).length;
    const percentage = computeEligiblePercentage(eligible, results.length);
    printResult(args, { file, purpose, rows: results.length, eligible, percentage, results }, () => {
      const names = namesText(results.filter((row) => row.nameMatches === false).length);
      const summary = `${eligible} of ${results.length} eligible for ${purpose} (${percentage} %)${names}`;
      return out === undefined ? `${rosterTable(results, hasNames)}\n${summary}` : summary;
    });
    if (eligible < results.length) process.exitCode = exitCodes.refused;
  },
});

type ListArgs = { statement?: boolean | undefined } & Partial<
  Record<"list-name" | "reference" | "out", string | undefined>
>;

/** Reads the options about a statement. @returns null if --statement is not given. @throws TvsError USAGE */
function readListLabel({ statement = false, "list-name": name, reference, out }: ListArgs): ListLabel | null {
  if (!statement && (name !== undefined || reference !== undefined))
    throw new TvsError("USAGE", "--list-name and --reference are for a statement: give --statement as well");
  if (!statement) return null;
  if (name === undefined || out === undefined)
    throw new TvsError("USAGE", "--statement needs --list-name NAME, what it calls the list, and --out FILE");
  return { name, reference: reference ?? null };
}

function namesText(differing: number): string {
  return differing === 0 ? "" : `, ${differing} under another name than the registered one`;
}

/** Refuses a list with faulty rows, because a statement must cover every row. @throws TvsError INPUT_UNREADABLE */
function refuseFaultyRows(file: string, results: readonly RosterRowResult[]): void {
  const bad = results.find(({ error }) => error !== null);
  if (bad === undefined) return;
  throw unreadable(
    `${nameOf(file)}, line ${bad.line}: ${bad.error}; mend or take out the row, then try again`,
  );
}

function printStatement(args: object, statement: SignedStatement): void {
  const { statementId, summary, purpose } = statement;
  const { listed, distinct, eligible, percentEligible, byReason } = summary;
  const names = namesText(byReason.NAME_DIFFERS ?? 0);
  printResult(args, statement, () => {
    const people = `of the ${listed} named by the list, ${distinct} different people`;
    return `${people}; ${eligible} of them eligible for ${purpose} (${percentEligible} %)${names}; statement ${statementId}`;
  });
  if (eligible < distinct) process.exitCode = exitCodes.refused;
}

/** Reads a list and checks its rows. Only the results stay in memory. @throws TvsError INPUT_UNREADABLE */
async function checkFile(file: string, encoding: Encoding | undefined, dependencies: RosterDependencies) {
  const results: RosterRowResult[] = [];
  const listed: StatementRequest["teachers"][number][] = [];
  let header: RosterHeader | undefined;
  let checks: Promise<RosterRowResult>[] = [];
  try {
    for await (const record of readRecords(file, encoding)) {
      if (header === undefined) {
        header = readRosterHeader(record.cells);
        continue;
      }
      const row = readRosterRow(record, header);
      const [identifier] = row.identifiers;
      if (typeof identifier === "object" && listed.length <= maxListed)
        listed.push({ identifier, name: row.name || null });
      checks.push(checkRosterRow(row, dependencies));
      if (checks.length < rowsAtOnce) continue;
      results.push(...(await Promise.all(checks)));
      checks = [];
      if (results.length >= maxRows)
        throw unreadable(`${nameOf(file)} has more than a million rows; split it`);
    }
  } catch (error) {
    await Promise.allSettled(checks);
    throw toUnreadableInputError(nameOf(file), error);
  }
  header ??= readRosterHeader([]);
  results.push(...(await Promise.all(checks)));
  return { results, hasNames: header.positions.has("name"), listed };
}

/** Reads a list's records, without empty lines. @throws UnreadableError for bytes in a wrong encoding */
async function* readRecords(file: string, encoding: Encoding | undefined): AsyncGenerator<TableRecord> {
  const bytes: AsyncIterable<Uint8Array> = file === "-" ? process.stdin : createReadStream(file);
  const { beginning, whole } = await readBeginning(bytes);
  const text = convertToUtf8(whole, encoding ?? readByteOrderMark(beginning) ?? "utf-8");
  for await (const records of readCsv(text, { maxRecordBytes, rules: "lenient" }))
    for (const record of records) if (record.cells.length > 1 || record.cells[0] !== "") yield record;
}

function unreadable(message: string): TvsError {
  return new TvsError("INPUT_UNREADABLE", message);
}

function nameOf(file: string): string {
  return file === "-" ? "standard input" : file;
}

function rowsText(rows: readonly RosterRowResult[], hasNames: boolean): string {
  const columns = { line: "line", regNo: "reg_no", tId: "t_id", name: "name", found: "found" };
  const verdict = { status: "status", eligible: "eligible", reasons: "reasons", error: "error" };
  return stringify(
    rows.map((row) => ({ ...row, reasons: row.reasons.join(" ") })),
    {
      header: true,
      columns: { ...columns, ...verdict, ...(hasNames ? { nameMatches: "name_matches" } : {}) },
      cast: { boolean: String },
      // Keeps spreadsheets from running a name that begins like a formula.
      escape_formulas: true,
    },
  );
}

function rosterTable(rows: readonly RosterRowResult[], hasNames: boolean): string {
  const listed = ({ nameMatches }: RosterRowResult) =>
    nameMatches === null ? null : nameMatches ? "matches" : "DIFFERS";
  return formatListTable(rows, {
    LINE: "line",
    "REG NO": "regNo",
    "T ID": "tId",
    NAME: "name",
    ...(hasNames ? { "LISTED NAME": listed } : {}),
    STATUS: "status",
    ELIGIBLE: ({ eligible }) => (eligible ? "yes" : "no"),
    WHY: ({ error, reasons }) => error ?? reasons.join(", "),
  });
}

/**
 * Signs and commits a statement as the API does for a partner, but charges no quota. The issuer is also the audience.
 * @returns the statement as JSON
 * @throws TvsError USAGE for a list that the API would refuse, REFUSED if no issuer is set, LOG_BEHIND
 */
async function stateOwnList(operator: OpenedRegister, asked: StatementRequest): Promise<string> {
  requireStateable(asked);
  const { settingsInForce: defaults, hasSetIssuer, keyKind } = operator;
  const noIssuer = "no issuer is set: start tvs serve --issuer URL once, then try again";
  // A sandbox needs no configured issuer: the URL at which it listens is its issuer.
  if (!hasSetIssuer && keyKind === "live") throw new TvsError("REFUSED", noIssuer);
  // Throws LOG_BEHIND, as a service does, if the database lacks answers that the pinned checkpoint covers.
  await openEvidenceLog(operator);
  const configuration = await createConfiguration({ ...operator, defaults });
  const text = await retryOnConflict(configuration, (snapshot) => tryStatement(operator, asked, snapshot));
  await logWriterOf(operator).checkpoint();
  return text;
}

function requireStateable({ purpose, list, teachers }: StatementRequest): void {
  const { name, reference } = list;
  const labels = { name, ...(reference === null ? {} : { reference }) };
  const rows = teachers.map(({ identifier, name: listed }) => ({ ...identifier, name: listed ?? "" }));
  try {
    validateBySchema(rosterSchema, { purpose, list: labels, teachers: rows });
  } catch (error) {
    if (!(error instanceof TvsError)) throw error;
    const words = error.message.replace("list.name", "--list-name").replace("list.reference", "--reference");
    throw new TvsError("USAGE", words.replace("teachers must", "the list must"));
  }
}

async function tryStatement(operator: OpenedRegister, asked: StatementRequest, snapshot: Snapshot) {
  const { teachers, attestations, secrets, clock, blindIndex, actor: credential } = operator;
  const { issuer, policy } = snapshot.settings;
  const at = Math.floor(clock.now() / 1000);
  const today = snapshot.calendar.dateAt(at * 1000);
  const judged = await checkListedTeachers(asked, { teachers, blindIndex, policy, today });
  const { kid } = snapshot.keys.active;
  const requestId = uuidv7();
  const making = { issuer, audience: issuer, at, kid, policyVersion: policy.version, credential, requestId };
  const key = await decryptPrivateKey(snapshot.keys.active, secrets);
  const { attestation, answer } = await signStatement(judged, making, async (_kid, inputs) =>
    Promise.all(inputs.map((input) => makeSignature(key, input))),
  );
  const { people, read } = judged;
  const starts = currentWindowStarts(clock.now());
  const used = await attestations.record({
    ...{ revision: snapshot.revision, attestations: [attestation], people, read, idempotency: null },
    charge: { partnerId: issuer, starts, calls: 0, limits: { minute: 0, day: 0 } },
  });
  return used === null ? null : answer.body;
}

async function makeSignature(key: CryptoKey, input: string): Promise<string> {
  const bytes = await crypto.subtle.sign(signingAlgorithm.name, key, Buffer.from(input));
  return Buffer.from(bytes).toString("base64url");
}

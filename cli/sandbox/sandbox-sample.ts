/** The made-up teachers of a sandbox: put in at its first start, and put back by `tvs sandbox reset`. */

import sample from "../../data/sample-registry.csv" with { type: "text" };
import { importRegister } from "../../src/domain/import/import.ts";
import { readPieces } from "../../src/domain/import/read.ts";
import type { ImportResult } from "../../src/domain/import/report.ts";
import { endingSoon, sandboxExtract, sandboxTeachers } from "../../src/domain/sandbox/teachers.ts";
import { importDependencies, type Operator } from "../open.ts";

/**
 * Imports what is not there yet: only the first start costs time. A licence that was to end soon and has ended is made to end soon again.
 */
export async function fillSandbox(operator: Operator): Promise<void> {
  const { teachers, calendar, clock } = operator;
  const [last] = sample.trimEnd().split("\n").slice(-1);
  if (!(await isKnown(operator, last?.split(",")[0])))
    await importText(operator, "sample-registry.csv", sample);
  if (!(await isKnown(operator, sandboxTeachers.at(-1)?.regNo)))
    return void (await importFixtures(operator, sandboxTeachers));
  const soon = await teachers.findStored({ by: "regNo", value: endingSoon.regNo });
  const today = calendar.dateAt(clock.now());
  if (soon?.licenseExpiryDate != null && soon.licenseExpiryDate < today)
    await importFixtures(operator, [endingSoon]);
}

/** Puts all of them back to what they were at the first start. @returns how many had changed */
export async function putTeachersBack(operator: Operator): Promise<number> {
  const results = [
    await importText(operator, "sample-registry.csv", sample),
    await importFixtures(operator, sandboxTeachers),
  ];
  return results.reduce((sum, { inserted, updated }) => sum + inserted + updated, 0);
}

async function isKnown({ teachers }: Operator, regNo = ""): Promise<boolean> {
  return (await teachers.findStored({ by: "regNo", value: regNo })) !== null;
}

function importFixtures(operator: Operator, teachers: typeof sandboxTeachers): Promise<ImportResult> {
  const today = operator.calendar.dateAt(operator.clock.now());
  return importText(operator, "sandbox-teachers.ndjson", sandboxExtract(teachers, today));
}

/** Tells partners nothing: a sandbox is filled and put back, nobody's licence has changed. */
function importText(operator: Operator, name: string, text: string): Promise<ImportResult> {
  const options = { baseline: true, allowChange: true, liftRevocations: true, isSample: true };
  const pieces = readPieces({ name, bytes: inOnePiece(text) }, operator.blindIndex);
  return importRegister({ name, pieces }, importDependencies(operator), options);
}

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

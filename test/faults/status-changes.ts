/** A register of made-up teachers, and status changes to it through the command line, each with its known event. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sleep } from "../harness/eventually.ts";
import { runWell } from "../harness/program.ts";
import type { Register } from "./register.ts";

const teachers = 2_000;
/** Changes come in rounds: one import, and a few commands on a single teacher each. */
const changesInRound = 100;
const singlesInRound = 10;
/** Fewer than there are, so that teachers change several times. */
const changingTeachers = 600;

type Standing = { license: "VALID" | "EXPIRED" | "REVOKED"; isVerified: boolean };

export type Changes = {
  readonly register: Register;
  readonly standings: Standing[];
  /** Events that the changes must cause: how many by teacher and type. */
  readonly expected: Map<string, number>;
  done: number;
};

export function eventKey(tId: unknown, eventType: unknown): string {
  return `${tId} ${eventType}`;
}

export function prepareChanges(register: Register): Changes {
  const standings = Array.from(
    { length: teachers },
    (): Standing => ({ license: "VALID", isVerified: true }),
  );
  return { register, standings, expected: new Map(), done: 0 };
}

/** Imports the whole register as it stands, without events. */
export function importRegister(changes: Changes): Promise<void> {
  return importRows(changes, { rows: changes.standings.map((_, n) => n), flags: ["--baseline"] });
}

export async function makeChanges(changes: Changes, count: number): Promise<void> {
  for (let round = 0; round * changesInRound < count; round++) {
    const first = (round * changesInRound) % changingTeachers;
    const all = Array.from({ length: changesInRound }, (_, n) => first + n);
    const imported = all.slice(singlesInRound);
    for (const n of imported) changeByImport(changes, n);
    await importRows(changes, { rows: imported, flags: ["--allow-change"] });
    changes.done += imported.length;
    for (const n of all.slice(0, singlesInRound)) await changeByCommand(changes, n);
  }
}

/** Waits until so many changes are made, so that kills are spread over all of them. */
export async function reached(
  changes: Changes,
  { goal, changing }: { goal: number; changing: Promise<void> },
): Promise<void> {
  while (changes.done < goal) {
    await Promise.race([changing, sleep(5)]);
  }
}

/** A third is revoked and reinstated, a third expires and is renewed, a third loses its certificate and regains it. */
function changeByImport({ standings, expected }: Changes, n: number): void {
  const standing = standings[n] as Standing;
  if (n % 3 === 2) {
    standing.isVerified = !standing.isVerified;
    expectEvent(expected, n, standing.isVerified ? "certificate.verified" : "certificate.revoked");
  } else if (standing.license === "VALID") {
    standing.license = n % 3 === 0 ? "REVOKED" : "EXPIRED";
    expectEvent(expected, n, n % 3 === 0 ? "license.revoked" : "license.expired");
  } else {
    standing.license = "VALID";
    expectEvent(expected, n, "license.reinstated");
  }
}

async function changeByCommand(changes: Changes, n: number): Promise<void> {
  const { standings, expected, register } = changes;
  const standing = standings[n] as Standing;
  const isRevocation = standing.license === "VALID";
  const action = isRevocation ? "revoke" : "reinstate";
  await runWell(["teachers", action, regNo(n), "--reason", "Found forged"], register);
  standing.license = isRevocation ? "REVOKED" : "VALID";
  expectEvent(expected, n, isRevocation ? "license.revoked" : "license.reinstated");
  changes.done++;
}

function expectEvent(expected: Map<string, number>, n: number, eventType: string): void {
  const key = eventKey(n + 1, eventType);
  expected.set(key, (expected.get(key) ?? 0) + 1);
}

function regNo(n: number): string {
  return `TR/2020/LA/${n}`;
}

async function importRows(
  { register, standings }: Changes,
  { rows, flags }: { rows: readonly number[]; flags: readonly string[] },
): Promise<void> {
  const file = join(register.dataDir, "extract.csv");
  const header =
    "reg_no,t_id,name,source,certificate_status,license_issue_date,license_expiry_date,license_revoked_on,license_revoked_reason";
  const lines = rows.map((n) => line(n, standings[n] as Standing));
  await mkdir(register.dataDir, { recursive: true });
  await writeFile(file, `${header}\n${lines.join("\n")}\n`);
  await runWell(["teachers", "import", file, ...flags], register);
}

function line(n: number, { license, isVerified }: Standing): string {
  const expiry = license === "EXPIRED" ? "2021-12-31" : "2099-12-31";
  const revoked = license === "REVOKED" ? "2025-01-01,Found forged" : ",";
  const certificate = isVerified ? "VERIFIED" : "CLAIMED";
  return `${regNo(n)},${n + 1},Teacher ${n},new_system,${certificate},2020-01-01,${expiry},${revoked}`;
}

/** Makes a register of made-up teachers, changes the status of each once, and records the event that must follow. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sleep } from "../harness/eventually.ts";
import { runWell } from "../harness/program.ts";
import type { Register } from "./register.ts";

export const changeCount = 200;
/** Changes are made in rounds: one import, and ten commands that each change one teacher. */
const [changesInRound, singlesInRound] = [100, 10];

export type Changes = {
  readonly register: Register;
  /** The {@link eventKey} of each change that was made. */
  readonly expected: Set<string>;
  done: number;
};

export const eventKey = (tId: unknown, eventType: unknown) => `${tId} ${eventType}`;

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
const regNo = (n: number) => `TR/2020/LA/${n}`;

/** Imports the teachers before their changes; this import causes no events. */
export function importRegister({ register }: Changes): Promise<void> {
  const lines = numbers(0, changeCount).map((n) => line(n, "VERIFIED,2020-01-01,2099-12-31,,"));
  return importLines(register, lines, "--baseline");
}

export async function makeChanges(changes: Changes): Promise<void> {
  for (let first = 0; first < changeCount; first += changesInRound) {
    const singles = first + singlesInRound;
    await changeByImport(changes, numbers(singles, first + changesInRound));
    for (const n of numbers(first, singles)) {
      await runWell(["teachers", "revoke", regNo(n), "--reason", "Found forged"], changes.register);
      expectEvent(changes, n, "license.revoked");
    }
  }
}

/** Waits until `goal` changes are made, so that kills are spread over all of them. */
export async function untilChanged(
  changes: Changes,
  { goal, changing }: { goal: number; changing: Promise<void> },
): Promise<void> {
  while (changes.done < goal) await Promise.race([changing, sleep(5)]);
}

/** The rows of changed teachers with their events: a third is revoked, a third expires, a third loses its certificate. */
const changedRows = [
  ["VERIFIED,2020-01-01,2099-12-31,2025-01-01,Found forged", "license.revoked"],
  ["VERIFIED,2020-01-01,2021-12-31,,", "license.expired"],
  ["CLAIMED,2020-01-01,2099-12-31,,", "certificate.revoked"],
] as const;
const changedRow = (n: number) => changedRows[n % 3] as (typeof changedRows)[number];

async function changeByImport(changes: Changes, teachers: readonly number[]): Promise<void> {
  const lines = teachers.map((n) => line(n, changedRow(n)[0]));
  await importLines(changes.register, lines, "--allow-change");
  for (const n of teachers) expectEvent(changes, n, changedRow(n)[1]);
}

function expectEvent(changes: Changes, n: number, eventType: string): void {
  changes.expected.add(eventKey(n + 1, eventType));
  changes.done++;
}

const line = (n: number, status: string) => `${regNo(n)},${n + 1},Teacher ${n},new_system,${status}`;

async function importLines({ dataDir, env = {} }: Register, lines: readonly string[], flag: string) {
  const file = join(dataDir, "extract.csv");
  const header =
    "reg_no,t_id,name,source,certificate_status,license_issue_date,license_expiry_date,license_revoked_on,license_revoked_reason";
  await mkdir(dataDir, { recursive: true });
  await writeFile(file, `${header}\n${lines.join("\n")}\n`);
  await runWell(["teachers", "import", file, flag], { dataDir, env });
}

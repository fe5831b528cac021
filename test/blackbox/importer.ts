/** A world into which tests import extracts. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { withinOneSecond } from "../harness/eventually.ts";
import type { Envelope, ImportReport, License, PublicAnswer } from "./contract.ts";
import { csv, type Row, teacher } from "./registry.ts";
import { createWorld, readJson } from "./world.ts";

export const counts = ["rows", "inserted", "updated", "unchanged", "rejected", "warnings", "events"] as const;

export type Reject = { line: number; field: string | null; code: string };

export type Imported = {
  code: number;
  report: ImportReport;
  stdout: string;
  stderr: string;
  /** The report file's text. */
  text: string;
  rejects: Reject[];
};

export type Importer = Awaited<ReturnType<typeof createImporter>>;

export function numbersOf({ report }: Imported): Partial<ImportReport> {
  return Object.fromEntries(counts.map((name) => [name, report[name]]));
}

export const isFound = ({ found }: PublicAnswer) => found;

export async function createImporter() {
  // They look a person up until a change is seen, and soon more often than the public may.
  const world = await createWorld({ rows: [], args: ["--public-per-minute", "100000"] });
  const partner = await world.partner();
  let numbers = 0;

  /** A number that no other row of this file has. */
  const next = () => ++numbers;
  const freshRegNo = () => `IM/PT/2024/${String(next()).padStart(5, "0")}`;
  const fresh = (changes: Partial<Row> = {}): Row => teacher(freshRegNo(), changes);
  const freshNin = () => String(60_000_000_000 + next());

  async function importFile(path: string, ...words: string[]): Promise<Imported> {
    const reportFile = `${path}.report.json`;
    const finished = await world.tvs("teachers", "import", path, "--report", reportFile, "--json", ...words);
    const text = existsSync(reportFile) ? await readFile(reportFile, "utf8") : '{"rejected":[]}';
    const { rejected: rejects } = JSON.parse(text) as { rejected: Reject[] };
    const { code, stdout, stderr } = finished;
    return { code, stdout, stderr, text, rejects, report: finished.json<ImportReport>() };
  }

  async function importText(text: string, ...words: string[]): Promise<Imported> {
    return importFile(await world.file(`extract-${crypto.randomUUID()}.csv`, text), ...words);
  }

  /**
   * Asks the public look-up.
   * @param isIt which answer is waited for: what a command has changed is honoured within one second
   * @returns that one, or the last one
   */
  async function find(term: string, isIt = (_: PublicAnswer) => true): Promise<PublicAnswer> {
    const path = `/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`;
    const ask = async () => readJson<PublicAnswer>(await world.get(path));
    let answer = await ask();
    await withinOneSecond(async () => {
      if (isIt(answer)) return true;
      answer = await ask();
      return isIt(answer);
    });
    return answer;
  }

  async function licenseOf(regNo: string): Promise<License["status"] | undefined> {
    const { result } = await readJson<Envelope>(await partner.check({ regNo }));
    return result.license?.status;
  }

  return {
    world,
    partner,
    next,
    freshRegNo,
    fresh,
    freshNin,
    importFile,
    importText,
    importRows: (rows: readonly Row[], ...words: string[]) => importText(csv(rows), ...words),
    find,
    licenseOf,
  };
}

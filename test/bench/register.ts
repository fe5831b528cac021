import { constants } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../harness/folder.ts";
import { type RunOptions, runJson, runWell, type Service } from "../harness/program.ts";
import type { BenchOptions } from "./bench.ts";
import type { LoadPlan } from "./load.ts";
import type { Program } from "./programs.ts";
import { type Cleanup, dataDirIn, folderUntilCleanup, serve } from "./setup.ts";

/** The register that most figures speak of. */
export const registerSize = 200_000;
const quickRegisterSize = 20_000;

export function registerSizeFor({ isQuick }: Pick<BenchOptions, "isQuick">): number {
  return isQuick ? quickRegisterSize : registerSize;
}

const columns =
  "reg_no,t_id,name,nin,email,phone,state,category,source,certificate_status,certificate_issue_date," +
  "license_issue_date,license_expiry_date,license_revoked_on";

/** A made-up teacher with everything; a few have an expired or a revoked licence, or stand in the old register. */
function teacherLine(n: number): string {
  const contacts = `${20_000_000_000 + n},teacher${n}@example.com,+23480${30_000_000 + n}`;
  const source = n % 20 === 11 ? "legacy,LEGACY_RECORD" : "new_system,VERIFIED";
  const expiry = n % 20 === 3 ? "2024-12-31" : "2099-12-31";
  const revoked = n % 20 === 7 ? "2024-06-01" : "";
  return (
    `TR/2020/LA/${String(n).padStart(6, "0")},${n},Teacher Number ${n},${contacts},Lagos,Secondary,` +
    `${source},2020-03-01,2024-01-01,${expiry},${revoked}`
  );
}

/** A made-up extract of the teachers `first`, `first + 1` and so on. @returns its path */
export async function writeExtract(folder: string, { rows, first = 1 }: { rows: number; first?: number }) {
  const file = join(folder, `extract-${first}.csv`);
  const lines = Array.from({ length: rows }, (_, index) => teacherLine(first + index));
  await writeFile(file, `${[columns, ...lines].join("\n")}\n`);
  return file;
}

/** A data folder with teachers 1 to `teachers` and a partner whose quota is out of the way. */
export type Register = { readonly dataDir: string; readonly apiKey: string; readonly teachers: number };
/** What registers are copied from. */
type Template = Register & { remove(): Promise<void> };
export type ServedRegister = Register & {
  readonly program: Program;
  readonly service: Service;
  readonly url: string;
  readonly pid: number;
};

const templates = new Map<string, Promise<Template>>();

type RegisterPlan = { readonly teachers: number; readonly cleanup: Cleanup };

/**
 * A copy of a register that is made once in a run: an import takes longer than most of what is measured on it.
 * @param program makes it, since another release's may have other tables
 */
export async function makeRegister(program: Program, { teachers, cleanup }: RegisterPlan): Promise<Register> {
  const name = `${teachers} ${program.words.join(" ")}`;
  const made = templates.get(name) ?? makeTemplate(program, teachers);
  templates.set(name, made);
  const template = await made;
  const dataDir = dataDirIn(await folderUntilCleanup(cleanup));
  await cp(template.dataDir, dataDir, { recursive: true, mode: constants.COPYFILE_FICLONE });
  return { teachers, apiKey: template.apiKey, dataDir };
}

async function makeTemplate({ words }: Program, teachers: number): Promise<Template> {
  const { path: folder, remove } = await makeFolder();
  const dataDir = dataDirIn(folder);
  const extract = await writeExtract(folder, { rows: teachers });
  const options = { dataDir, program: words };
  await initRegister(options);
  await runJson(["teachers", "import", extract, "--baseline"], options);
  return { dataDir, apiKey: await addCaller(options), teachers, remove };
}

/** Makes an empty register by the program that is measured: another release's may have other tables. */
export async function initRegister(options: RunOptions): Promise<void> {
  await runWell(["init", "--issuer", "http://127.0.0.1:1", "--name", "Bench"], options);
}

/** Onboards the partner whose quota is out of the way. @returns its API key */
export async function addCaller(options: RunOptions): Promise<string> {
  const quota = ["--per-minute", "10000000", "--per-day", "1000000000"];
  const terms = ["--scopes", "all", "--purposes", "all", ...quota];
  const add = ["partners", "add", "caller", "--name", "Caller", ...terms];
  return (await runJson<{ apiKey: string }>(add, options)).apiKey;
}

/** Removes what `makeRegister` copies from. */
export async function removeTemplates(): Promise<void> {
  for (const made of templates.values()) {
    const template = await made.catch(() => null);
    await template?.remove();
  }
}

/** A register, served by a process of its own. */
export async function serveRegister(program: Program, plan: RegisterPlan): Promise<ServedRegister> {
  const register = await makeRegister(program, plan);
  const service = await serve(program, { dataDir: register.dataDir, cleanup: plan.cleanup });
  return { ...register, program, service, url: service.url, pid: service.pid };
}

/** One for each program that is compared, the one of this source first. */
export async function serveRegisters(
  { programs: [own, ...earlier] }: BenchOptions,
  plan: RegisterPlan,
): Promise<[own: ServedRegister, ...earlier: ServedRegister[]]> {
  const served: [ServedRegister, ...ServedRegister[]] = [await serveRegister(own, plan)];
  for (const program of earlier) served.push(await serveRegister(program, plan));
  return served;
}

/** Whom to ask, as whom, and about whom. */
export function planFor({ url, pid, apiKey, teachers }: ServedRegister) {
  return { url, pid, apiKey, teachers } satisfies Partial<LoadPlan>;
}

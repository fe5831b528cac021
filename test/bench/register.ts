import { constants } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../harness/folder.ts";
import { runJson, type Service } from "../harness/program.ts";
import { type Cleanup, dataDirIn, folderUntilCleanup, serve } from "./setup.ts";

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
export type ServedRegister = Register & { readonly service: Service };

const templates = new Map<number, Promise<Template>>();

/** A copy of a register that is made once in a run: an import takes longer than most of what is measured on it. */
export async function makeRegister(teachers: number, cleanup: Cleanup): Promise<Register> {
  const made = templates.get(teachers) ?? makeTemplate(teachers);
  templates.set(teachers, made);
  const template = await made;
  const dataDir = dataDirIn(await folderUntilCleanup(cleanup));
  await cp(template.dataDir, dataDir, { recursive: true, mode: constants.COPYFILE_FICLONE });
  return { teachers, apiKey: template.apiKey, dataDir };
}

async function makeTemplate(teachers: number): Promise<Template> {
  const { path: folder, remove } = await makeFolder();
  const dataDir = dataDirIn(folder);
  const common = ["--data", dataDir];
  await runJson([
    "teachers",
    "import",
    await writeExtract(folder, { rows: teachers }),
    "--baseline",
    ...common,
  ]);
  const terms = [
    "--scopes",
    "all",
    "--purposes",
    "all",
    "--per-minute",
    "10000000",
    "--per-day",
    "1000000000",
  ];
  const words = ["partners", "add", "caller", "--name", "Caller", ...terms, ...common];
  const { apiKey } = await runJson<{ apiKey: string }>(words);
  return { dataDir, apiKey, teachers, remove };
}

/** Removes what `makeRegister` copies from. */
export async function removeTemplates(): Promise<void> {
  for (const made of templates.values()) {
    const template = await made.catch(() => null);
    await template?.remove();
  }
}

/** A register, served by a process of its own. */
export async function serveRegister(teachers: number, cleanup: Cleanup): Promise<ServedRegister> {
  const register = await makeRegister(teachers, cleanup);
  return { ...register, service: await serve(register.dataDir, cleanup) };
}

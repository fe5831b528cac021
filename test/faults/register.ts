import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runJson, runWell } from "../harness/program.ts";

/** Puts so many teachers into a register, of whom the first has the teacher id 1. */
export async function importTeachers(dataDir: string, count: number): Promise<void> {
  const rows = Array.from(
    { length: count },
    (_, n) => `TR/2020/LA/${n},${n + 1},Teacher ${n},new_system,VERIFIED,2020-01-01,2099-12-31`,
  );
  const header = "reg_no,t_id,name,source,certificate_status,license_issue_date,license_expiry_date";
  const file = join(dataDir, "register.csv");
  await writeFile(file, `${header}\n${rows.join("\n")}\n`);
  await runWell(["teachers", "import", file, "--data", dataDir, "--baseline"]);
}

/** Adds a partner that may do everything, every day. @returns its API key */
export async function addPartner(dataDir: string, id: string, perMinute: number): Promise<string> {
  const { apiKey } = await runJson<{ apiKey: string }>([
    ...["partners", "add", id, "--name", id, "--scopes", "all", "--purposes", "all"],
    ...["--per-minute", String(perMinute), "--per-day", "1000000000", "--data", dataDir],
  ]);
  return apiKey;
}

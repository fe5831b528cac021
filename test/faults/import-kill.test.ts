import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openConnection } from "../../src/store/driver/connection.ts";
import { until } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { csv, row } from "../harness/imports.ts";
import { runTvs } from "../harness/program.ts";
import { makeRegister } from "../harness/service.ts";
import { killed as killedAt } from "./killed.ts";

const count = 30_000;

/** Every fourth row repeats a number, and every seventh is refused: what stands depends on the order. */
const extract = csv(
  Array.from({ length: count }, (_, n) =>
    row(n % 4 === 3 ? n - 1 : n, {
      nin: n % 7 === 0 ? "x" : String(30_000_000_000 + n),
      t_id: String(n + 1),
      certificate_status: n % 2 === 0 ? "VERIFIED" : "CLAIMED",
    }),
  ),
);

/** Starts an import and kills it once something of it is in the database. @returns how far it came */
async function killImport(file: string, dataDir: string): Promise<number> {
  const connection = await openConnection(join(dataDir, "tvs.db"));
  const applied = () => Number(connection.all("SELECT max(applied) AS n FROM imports")[0]?.n ?? 0);
  const words = ["teachers", "import", file, "--data", dataDir];
  await killedAt({ words }, (hasEnded) => until(() => applied() > 0 || hasEnded()));
  const reached = applied();
  connection.close();
  return reached;
}

/** What a register holds, without the ids and times that no two imports share. */
async function contentOf(dataDir: string): Promise<unknown[]> {
  const connection = await openConnection(join(dataDir, "tvs.db"));
  const queries = [
    `SELECT id, reg_no, t_id, certificate_status, announced_status, version, hex(nin_index) IS NOT '' AS nin
      FROM teachers ORDER BY id`,
    `SELECT teacher_id, action, license_from, license_to, certificate_from, certificate_to, active_from, active_to
      FROM history ORDER BY teacher_id, id`,
    "SELECT teacher_id, event_type, json_extract(content, '$.data') AS data FROM events ORDER BY teacher_id, id",
    "SELECT applied, inserted, updated, unchanged, rejected, warnings, events, fields FROM imports",
    "PRAGMA integrity_check",
  ];
  const content = queries.map((sql) => connection.all(sql));
  connection.close();
  return content;
}

test("an import that is killed and given again leaves what one leaves that nobody disturbed", async () => {
  await withTempDir(async (folder) => {
    const file = join(folder, "extract.csv");
    await writeFile(file, extract);
    const [killed, whole] = [join(folder, "killed"), join(folder, "whole")];
    const importInto = (dataDir: string) => runTvs(["teachers", "import", file, "--data", dataDir, "--json"]);
    for (const dataDir of [killed, whole]) await makeRegister(dataDir);
    const reached = await killImport(file, killed);
    expect([reached > 0, reached < count]).toEqual([true, true]);
    await importInto(killed);
    await importInto(whole);
    const [resumed, undisturbed] = [await contentOf(killed), await contentOf(whole)];
    expect(resumed[4]).toEqual([{ integrity_check: "ok" }]);
    expect(resumed).toEqual(undisturbed);
  });
}, 120_000);

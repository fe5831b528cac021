import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runJson, runTvs, runWell } from "../harness/program.ts";
import { makeRegister } from "../harness/service.ts";
import { noServer, startServer } from "../harness/sqld.ts";
import { durationOf, killed, roundsOf } from "./killed.ts";

/**
 * Kills `tvs migrate` with SIGKILL at random moments, to a file and to a server in turn, looks who may use the register
 * then, and runs the same command again.
 */
const teachers = 20_000;

test("a move that is killed never leaves the register in use twice, and the same command ends it", () =>
  withTempDir(async (folder) => {
    const register = join(folder, "register");
    await makeTeachers(register);
    /** How long a whole move takes, once it is known. */
    const durationMs: { file?: number; server?: number } = {};
    for (let round = 0; round < roundsOf(1); round++) {
      const kind = round % 2 === 1 && noServer === undefined ? "server" : "file";
      durationMs[kind] ??= await withCopy(register, join(folder, kind), kind, ({ move }) =>
        durationOf(() => runWell(move)),
      );
      // The first part is the start of the process, in which nothing can go wrong.
      const waitMs = durationMs[kind] * (0.2 + 0.9 * Math.random());
      await withCopy(register, join(folder, String(round)), kind, async ({ move, from, to }) => {
        await killed({ words: move }, () => sleep(waitMs));
        const [old, moved] = [await isInUse(from), await isInUse(to)];
        expect(old && moved).toBe(false);
        if (!moved) await runTvs(move);
        expect([await isInUse(from), await isInUse(to), await countTeachers(to)]).toEqual([
          false,
          true,
          teachers,
        ]);
      });
    }
  }));

async function makeTeachers(dataDir: string): Promise<void> {
  await makeRegister(dataDir);
  const driver = await openEmbedded({ file: join(dataDir, "tvs.db") });
  const sql = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${teachers})
    INSERT INTO teachers (reg_no, name, source, certificate_status, announced_status, version, updated_at)
    SELECT 'A/B/C/' || i, 'Ada Obi', 'legacy', 'CLAIMED', 'NOT_FOUND', 1, 1 FROM n`;
  await driver.batch([{ sql, args: [] }]);
  // The whole of it stands in one file, to be copied.
  await driver.query("PRAGMA wal_checkpoint(TRUNCATE)");
  await driver.close();
}

/** Words of a command line: what moves the register, and the options that mean its two places. */
type Places = {
  readonly move: readonly string[];
  readonly from: readonly string[];
  readonly to: readonly string[];
};

/** Acts over a copy of the register, and an empty place of that kind. */
async function withCopy<T>(
  register: string,
  folder: string,
  kind: "file" | "server",
  act: (places: Places) => Promise<T>,
): Promise<T> {
  const data = join(folder, "data");
  cpSync(register, data, { recursive: true });
  const server = kind === "server" ? await startServer() : null;
  try {
    const url = server?.url ?? `file:${join(folder, "new.db")}`;
    const from = ["--data", data];
    // The master key lies where the file was.
    cpSync(join(register, "master.key"), join(folder, "master.key"));
    return await act({ move: ["migrate", ...from, "--to", url], from, to: [...from, "--database", url] });
  } finally {
    await server?.stop();
  }
}

async function isInUse(place: readonly string[]): Promise<boolean> {
  return (await runTvs(["status", ...place])).code === 0;
}

async function countTeachers(place: readonly string[]): Promise<number> {
  return (await runJson<{ teachers: { total: number } }>(["status", ...place])).teachers.total;
}

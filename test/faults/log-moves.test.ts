import { expect, test } from "bun:test";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "../harness/eventually.ts";
import { attestSome, newestNote } from "../harness/evidence-log.ts";
import { withTempDir } from "../harness/folder.ts";
import { runTvs, runWell } from "../harness/program.ts";
import { noServer, startServer } from "../harness/sqld.ts";
import { tried } from "../harness/trial.ts";
import { durationOf, killed, limitFor, roundsOf } from "./killed.ts";

/** Of the log whose database is replaced by another one in every way that there is. */
const origin = "verify.example.gov/log";

const headOf = (dataDir: string) => readFileSync(join(dataDir, "log.checkpoint"), "utf8");
const placeOf = (note: string) => note.split("\n").slice(0, 2).join(" ");

/** The newest checkpoint as a command signs it, of a log that an audit finds whole. */
async function signedAndWhole(dataDir: string): Promise<string> {
  const { stdout } = await runWell(["log", "checkpoint"], { dataDir });
  await runWell(["log", "audit"], { dataDir });
  expect(stdout.trimEnd()).toBe(headOf(dataDir).trimEnd());
  return placeOf(stdout);
}

test(
  "a restore that is killed, and the opening of the epoch that is due, leave one log that goes on",
  tried("kills-restore", (trial) =>
    withTempDir(async (folder) => {
      const [made, dataDir, backup] = [join(folder, "made"), join(folder, "data"), join(folder, "backup.db")];
      await attestSome(made, 2);
      await runWell(["backup", backup], { dataDir: made });
      await attestSome(made, 3);
      await newestNote(made);
      const again = () => {
        rmSync(dataDir, { recursive: true, force: true });
        cpSync(made, dataDir, { recursive: true });
      };
      again();
      const [restore, sign] = [
        ["restore", backup, "--force"],
        ["log", "checkpoint"],
      ];
      const durations = [
        await durationOf(() => runWell(restore, { dataDir })),
        await durationOf(() => runWell(sign, { dataDir })),
      ];
      for (let round = 0; round < roundsOf(6); round++) {
        again();
        const isOfRestore = round % 2 === 0;
        if (!isOfRestore) await runWell(restore, { dataDir });
        const waitMs = (0.4 + 0.65 * Math.random()) * (durations[isOfRestore ? 0 : 1] ?? 0);
        const words = isOfRestore ? restore : sign;
        await killed({ words, env: { TVS_DATA: dataDir } }, () => sleep(waitMs));
        // The old database as it was, or the restored one in an epoch of its own: which follows the two leaves that are left.
        const allowed = isOfRestore ? [`${origin} 5`, `${origin}/2 1`] : [`${origin}/2 1`];
        expect(allowed).toContain(await signedAndWhole(dataDir));
        expect(await signedAndWhole(dataDir)).toBe(placeOf(headOf(dataDir)));
        trial.count("kills");
      }
    }),
  ),
  limitFor(180_000),
);

test.skipIf(noServer !== undefined)(
  "a register that moves to a server and back goes on in the same log, and is not behind it",
  () =>
    withTempDir(async (folder) => {
      const [dataDir, last] = [join(folder, "data"), join(folder, "last")];
      await attestSome(dataDir, 3);
      const note = await newestNote(dataDir);
      const server = await startServer({ folder });
      try {
        await runWell(["migrate", "--to", server.url], { dataDir });
        const over = ["--database", server.url];
        expect((await runWell(["log", "checkpoint", ...over], { dataDir })).stdout.trimEnd()).toBe(
          note.trimEnd(),
        );
        expect((await runTvs(["log", "audit", ...over], { dataDir })).code).toBe(0);
        mkdirSync(last, { mode: 0o700 });
        await runWell(["migrate", "--to", `file:${last}/tvs.db`, ...over], { dataDir });
        for (const name of ["master.key", "log.checkpoint"])
          copyFileSync(join(dataDir, name), join(last, name));
        await attestSome(last, 1);
        expect(await signedAndWhole(last)).toBe(`${origin} 4`);
      } finally {
        await server.stop();
      }
    }),
);

import { expect, test } from "bun:test";
import type { SignedStatement } from "../../src/partner/contract.ts";
import { createKeySet } from "../../src/partner/key-set.ts";
import { verifyStatement } from "../../src/partner/verify-statement.ts";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runTvs, startService } from "../harness/program.ts";
import { tried } from "../harness/trial.ts";
import { broken, damageOf, limitFor, roundsOf } from "./killed.ts";
import { addPartner, importTeachers, openDatabase } from "./register.ts";

const issuer = "https://teachers.example";
const listed = 400;
const callers = 3;

/** A list whose last row names nobody, so that it has as many people as rows. */
const body = JSON.stringify({
  purpose: "SCHOOL_EMPLOYMENT_VERIFICATION",
  list: { name: "A school" },
  teachers: Array.from({ length: listed }, (_, n) => ({ tId: n + 1 })),
});

/** What a database says of statements that were half done. */
const halfDone = `SELECT
  (SELECT count(*) FROM attestations WHERE endpoint = 'roster' AND ${listed - 1} !=
    (SELECT count(*) FROM statement_people WHERE attestation_id = attestations.id)) AS incomplete,
  (SELECT count(*) FROM statement_people WHERE attestation_id NOT IN (SELECT id FROM attestations)) AS orphans,
  (SELECT count(*) FROM attestations) * ${listed} - (SELECT used FROM quota_windows WHERE kind = 'day') AS unpaid,
  (SELECT count(*) FROM attestations) - (SELECT count(*) FROM idempotency) AS unkept,
  (SELECT count(*) FROM attestations) AS stated`;

test(
  "a service that is killed while it states has stated wholly or not at all, and repeats what it has stated",
  tried("kills-statements", (trial) =>
    withTempDir(async (dataDir) => {
      const start = () => startService({ dataDir, args: ["--threads", "2", "--issuer", issuer] });
      await importTeachers({ dataDir }, listed - 1);
      const apiKey = await addPartner({ dataDir }, "board", 100_000_000);
      let service = await start();
      const answers = new Map<string, string>();
      let [isOver, differing] = [false, 0];
      const ask = async (key: string) => {
        const headers = { Authorization: `Bearer ${apiKey}`, "Idempotency-Key": key };
        const sent = { method: "POST", headers, body, signal: AbortSignal.timeout(15_000) };
        const response = await fetch(`${service.url}/v1/inter-agency/rosters`, sent).catch(() => null);
        const text = response?.status === 200 ? await response.text().catch(() => null) : null;
        if (text === null) return sleep(10);
        if ((answers.get(key) ?? text) !== text) differing++;
        answers.set(key, text);
      };
      const load = Array.from({ length: callers }, async (_, caller) => {
        // Each key comes twice: the first call may have been cut off.
        for (let n = 0; !isOver; n++) await ask(`${caller}-${Math.floor(n / 2)}`);
      });
      for (let round = 0; round < roundsOf(3); round++) {
        for (const before = answers.size; answers.size < before + callers; ) await sleep(5);
        await sleep(Math.random() * 200);
        await service.stop("SIGKILL");
        service = await trial.healed(start);
        trial.count("kills");
      }
      isOver = true;
      await Promise.all(load);
      expect(await service.stop()).toBe(0);

      const database = await openDatabase({ dataDir });
      const [found] = await database.query(halfDone);
      const { stated, ...faults } = found as Record<string, number>;
      expect({ ...broken(faults), damage: await damageOf(database) }).toEqual({ damage: "" });
      const jws = new Set(
        (await database.query("SELECT jws FROM attestations")).map((row) => String(row.jws)),
      );
      await database.close();
      expect([differing, Number(stated) >= answers.size]).toEqual([0, true]);
      const { stdout: keyHistory } = await runTvs(["keys", "history"], { dataDir });
      trial.count("statements that left", answers.size);
      const options = { keys: await createKeySet({ keyHistory, issuer }), issuer, audience: "board" };
      for (const text of answers.values()) {
        expect(await verifyStatement(text, options)).toMatchObject({ valid: true });
        expect(jws.has((JSON.parse(text) as SignedStatement).signature)).toBe(true);
      }
      expect((await runTvs(["log", "audit"], { dataDir })).code).toBe(0);
    }),
  ),
  limitFor(120_000),
);

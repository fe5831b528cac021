import { expect, test } from "bun:test";
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";
import { eventually, sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runWell, startService } from "../harness/program.ts";
import { durationOf, killed, roundsOf } from "./killed.ts";
import { addPartner, importTeachers, openDatabase } from "./register.ts";

/**
 * Kills services, and commands that withdraw and give back, with SIGKILL at random moments, and holds every list that a
 * service hands out against the database: what was committed before a service began is in its first list, and what a
 * command has done is in the lists of every thread before its time is over.
 */
const api = "/v1/inter-agency";
const teachers = 12;
/** Within which a list shows a change (decision D15.7 promises far less; a machine may stand still meanwhile). */
const promisedMs = 60_000;

const numberOf = (n: number) => `TR/2020/LA/${n}`;

/** The claims that the service signs about all teachers. */
async function claims(url: string, apiKey: string) {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const ask = async (n: number) => {
    const path = `${api}/lookup/by-reg-no/${encodeURIComponent(numberOf(n))}`;
    const { signature } = (await (await fetch(`${url}${path}`, { headers })).json()) as { signature: string };
    return getStatusListFromJWT(signature);
  };
  return Promise.all(Array.from({ length: teachers }, (_, n) => ask(n)));
}

/** Who is withdrawn by the list, by place. Each request is on a connection of its own, and so on any thread. */
async function listed(url: string, places: Awaited<ReturnType<typeof claims>>): Promise<string> {
  const response = await fetch(`${url}${api}/status/0`, { headers: { Connection: "close" } });
  const list = getListFromStatusListJWT(await response.text());
  return places.map(({ idx }) => list.getStatus(idx)).join("");
}

async function committed(dataDir: string): Promise<string> {
  const database = await openDatabase({ dataDir });
  const sql = "SELECT reg_no, license_revoked_on IS NOT NULL AS gone FROM teachers";
  const rows = await database.query(sql);
  await database.close();
  const gone = new Map(rows.map((row) => [String(row.reg_no), Number(row.gone)]));
  return Array.from({ length: teachers }, (_, n) => gone.get(numberOf(n))).join("");
}

test(
  "no list of a service that is killed under changes is late, nor after it began again",
  () =>
    withTempDir(async (dataDir) => {
      await importTeachers({ dataDir }, teachers);
      const apiKey = await addPartner({ dataDir }, "asker", 1_000_000);
      const args = ["--threads", "2", "--status-list", "on", "--issuer", "https://teachers.example"];
      const start = () => startService({ dataDir, args });
      let service = await start();
      const places = await claims(service.url, apiKey);
      const words = (n: number, isGone: boolean) =>
        isGone
          ? ["teachers", "reinstate", numberOf(n), "--data", dataDir]
          : ["teachers", "revoke", numberOf(n), "--reason", "under kills", "--yes", "--data", dataDir];
      const commandMs = await durationOf(() => runWell(words(0, false)));
      for (let round = 0; round < roundsOf(4); round++) {
        const { url } = service;
        // One that is done, and shows in whichever thread answers.
        const n = (round * 2 + 1) % teachers;
        await runWell(words(n, (await committed(dataDir))[n] === "1"));
        const done = await committed(dataDir);
        for (let thread = 0; thread < 4; thread++)
          expect(await eventually(async () => (await listed(url, places)) === done, promisedMs)).toBe(true);
        // One that is killed, and the service soon behind it, while lists are made.
        const other = (n + 1) % teachers;
        const change = words(other, done[other] === "1");
        const dying = killed({ words: change }, () => sleep(commandMs * (0.5 + Math.random())));
        const reading = listed(url, places).catch(() => "");
        await dying;
        await service.stop("SIGKILL");
        await reading;
        const left = await committed(dataDir);
        service = await start();
        expect(await listed(service.url, places)).toBe(left);
      }
      expect(await claims(service.url, apiKey)).toEqual(places);
      expect(await service.stop()).toBe(0);
    }),
  120_000,
);

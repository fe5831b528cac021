import { expect, test } from "bun:test";
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";
import { startCluster } from "../harness/cluster.ts";
import { eventually, sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runWell, startService } from "../harness/program.ts";
import { noServer } from "../harness/sqld.ts";
import { type Trial, tried } from "../harness/trial.ts";
import { durationOf, killed, limitFor, roundsOf } from "./killed.ts";
import { addPartner, importTeachers, openDatabase, type Register } from "./register.ts";

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
  if (!response.ok) return `refused with ${response.status}`;
  const list = getListFromStatusListJWT(await response.text());
  return places.map(({ idx }) => list.getStatus(idx)).join("");
}

async function committed(register: Register): Promise<string> {
  const database = await openDatabase(register);
  const sql = "SELECT reg_no, license_revoked_on IS NOT NULL AS gone FROM teachers";
  const rows = await database.query(sql);
  await database.close();
  const gone = new Map(rows.map((row) => [String(row.reg_no), Number(row.gone)]));
  return Array.from({ length: teachers }, (_, n) => gone.get(numberOf(n))).join("");
}

/** What serves a register, and dies. */
type Services = {
  readonly trial: Trial;
  readonly register: Register;
  /** Where each of them is. */
  urls(): readonly string[];
  /** Kills one of them and starts it again. */
  kill(): Promise<void>;
};

async function judge({ trial, register, urls, kill }: Services): Promise<void> {
  const apiKey = await addPartner(register, "asker", 1_000_000);
  const known = async () => (await Promise.all(urls().map((url) => isKnown(url, apiKey)))).every(Boolean);
  expect(await eventually(known)).toBe(true);
  const newest = () => urls().at(-1) ?? "";
  const places = await claims(newest(), apiKey);
  const change = (n: number, isGone: boolean) =>
    isGone
      ? ["teachers", "reinstate", numberOf(n), "--reason", "under kills"]
      : ["teachers", "revoke", numberOf(n), "--reason", "under kills", "--yes"];
  const commandMs = await durationOf(() => runWell(change(0, false), register));
  for (let round = 0; round < roundsOf(4); round++) {
    // One that is done, and shows wherever it is asked for.
    const n = (round * 2 + 1) % teachers;
    await runWell(change(n, (await committed(register))[n] === "1"), register);
    const done = await committed(register);
    for (const url of [...urls(), ...urls()])
      expect(await eventually(async () => (await listed(url, places)) === done, promisedMs)).toBe(true);
    // One that is killed, and a service behind it, while lists are made.
    const other = (n + 1) % teachers;
    const env = { TVS_DATA: register.dataDir, ...register.env };
    const words = change(other, done[other] === "1");
    const reading = urls().map((url) => listed(url, places).catch(() => ""));
    await killed({ words, env }, () => sleep(commandMs * (0.5 + Math.random())));
    await trial.healed(kill);
    trial.count("kills", 2);
    trial.count("lists held against the register", 3 * urls().length + 1);
    await Promise.all(reading);
    const left = await committed(register);
    // Who began after the change shows it at once; the others still may, for a second, have looked before.
    expect(await listed(newest(), places)).toBe(left);
    for (const url of urls())
      expect(await eventually(async () => (await listed(url, places)) === left, promisedMs)).toBe(true);
  }
  expect(await claims(newest(), apiKey)).toEqual(places);
}

const isKnown = async (url: string, apiKey: string) =>
  (await fetch(`${url}${api}/lookup/by-tid/1`, { headers: { "x-agency-api-key": apiKey } })).status === 200;

const lists = ["--status-list", "on"];

test(
  "no list of a service that is killed under changes is late, nor after it began again",
  tried("kills-status-lists", (trial) =>
    withTempDir(async (dataDir) => {
      await importTeachers({ dataDir }, teachers);
      const args = ["--threads", "2", ...lists, "--issuer", "https://teachers.example"];
      const start = () => startService({ dataDir, args });
      let service = await start();
      await judge({
        trial,
        register: { dataDir },
        urls: () => [service.url],
        async kill() {
          await service.stop("SIGKILL");
          service = await start();
        },
      });
      expect(await service.stop()).toBe(0);
    }),
  ),
  limitFor(120_000),
);

test.skipIf(noServer !== undefined)(
  "nor is one of several nodes over a server, of which one is killed at a time, and the server too",
  tried("kills-status-lists", async (trial) => {
    const cluster = await startCluster({ nodes: 2, args: ["--threads", "1", ...lists] });
    try {
      const { register, server } = cluster;
      await importTeachers(register, teachers);
      const nodes = [...cluster.nodes];
      await judge({
        trial,
        register,
        urls: () => nodes.map(({ url }) => url),
        async kill() {
          const [node] = nodes.splice(0, 1) as [(typeof nodes)[number]];
          await node.stop("SIGKILL");
          await server.restart();
          await node.start();
          nodes.push(node);
        },
      });
    } finally {
      await cluster.close();
    }
  }),
  limitFor(120_000),
);

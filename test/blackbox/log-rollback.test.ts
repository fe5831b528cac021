import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { verifyCheckpoint } from "../../src/partner/log-checkpoint.ts";
import { leafHashOfAttestation, rootOfInclusionProof } from "../../src/partner/merkle-proof.ts";
import { Refusal } from "../../src/partner/reasons.ts";
import { readVerifierKey } from "../../src/partner/signed-note.ts";
import { leafOf } from "../fixtures/log-notes.ts";
import { waitForAnswer } from "../harness/eventually.ts";
import { type Service, testTimeoutMs } from "../harness/program.ts";
import type { Envelope } from "./contract.ts";
import { api, issuer, readJson, type World, withStoppedWorld } from "./world.ts";

setDefaultTimeout(testTimeoutMs);

const origin = `${new URL(issuer).host}/log`;
const args = ["--public-per-minute", "100000"];

type LogKey = { origin: string; reason: string | null; previous: string | null };
type Inclusion = { leafIndex: number; treeSize: number; hashes: string[]; checkpoint: string };
type RestoredLog = {
  isNew: boolean;
  origin: string;
  previousOrigin: string | null;
  previousSize: number | null;
  lost: number;
};

type Log = {
  readonly world: World;
  readonly database: string;
  readonly pinned: string;
  /** Starts the service, makes so many calls, and stops the service. */
  attest(calls: number): Promise<Envelope[]>;
};

const withLog = (run: (log: Log) => Promise<void>) =>
  withStoppedWorld({ args }, async (world, partner) => {
    const ask = async (tId: number) => {
      const answer = await partner.get(`/lookup/by-tid/${tId}`);
      expect(answer.status).toBe(200);
      return readJson<Envelope>(answer);
    };
    await run({
      world,
      database: join(world.dataDir, "tvs.db"),
      pinned: join(world.dataDir, "log.checkpoint"),
      attest: (calls) =>
        world.serving(async () => {
          const envelopes: Envelope[] = [];
          for (let tId = 1; tId <= calls; tId++) envelopes.push(await ask(tId));
          return envelopes;
        }),
    });
  });

const logKeys = async ({ world }: Log) => (await world.tvsJson<LogKey[]>("log", "key")).reverse();

const keysOf = async ({ url }: Service) =>
  (await (await fetch(`${url}${api}/log/key`)).text()).trimEnd().split("\n");

const ask = ({ url }: Service, { signature }: Envelope) =>
  fetch(`${url}${api}/log/inclusion/${leafOf(signature).toString("hex")}`);

/** Verifies the proof of an envelope with the keys of the service. @returns the log's origin and the leaf's index */
async function prove(service: Service, envelope: Envelope): Promise<{ log: string; index: number }> {
  const answer = await waitForAnswer(
    () => ask(service, envelope),
    ({ status }) => status === 200,
  );
  const { leafIndex: index, treeSize: size, hashes, checkpoint } = (await answer.json()) as Inclusion;
  const key = (await keysOf(service)).find((one) => one.startsWith(`${checkpoint.split("\n")[0]}+`)) ?? "";
  const verifierKey = await readVerifierKey(key);
  const opened = await verifyCheckpoint(checkpoint, verifierKey === null ? [] : [verifierKey]);
  if (opened instanceof Refusal) throw new Error(opened.reason);
  const path = hashes.map((hash) => new Uint8Array(Buffer.from(hash, "base64")));
  const leafHash = await leafHashOfAttestation(envelope.signature);
  expect(await rootOfInclusionProof({ leafHash, index, size, hashes: path })).toEqual(opened.root);
  expect(opened.size).toBe(size);
  return { log: opened.origin, index };
}

/** Expects that the first log proves the old envelopes, the second log the fresh ones, and no log the lost ones. */
async function expectProofs(
  service: Service,
  of: Record<"old" | "fresh" | "lost", Envelope[]>,
): Promise<void> {
  for (const [index, envelope] of of.old.entries())
    expect(await prove(service, envelope)).toEqual({ log: origin, index });
  for (const [n, envelope] of of.fresh.entries())
    expect(await prove(service, envelope)).toEqual({ log: `${origin}/2`, index: n + of.old.length });
  for (const envelope of of.lost) expect((await ask(service, envelope)).status).toBe(404);
}

const parts = ["", "-wal", "-shm"];

/** Copies a closed database. @returns a function that puts the copy back */
function keepCopy({ database }: Log): () => void {
  const copied = parts.filter((end) => existsSync(database + end));
  for (const end of copied) copyFileSync(database + end, `${database}.old${end}`);
  return () => {
    for (const end of parts) rmSync(database + end, { force: true });
    for (const end of copied) renameSync(`${database}.old${end}`, database + end);
  };
}

async function requireWhole({ world }: Log): Promise<void> {
  const { code, stdout, stderr } = await world.tvs("log", "audit");
  expect({ code, says: stdout + stderr }).toEqual({ code: 0, says: expect.any(String) });
}

async function requireRefused({ world, pinned }: Log, reason: RegExp): Promise<void> {
  const kept = readFileSync(pinned, "utf8");
  for (const words of [
    ["serve", "--port", "0", "--issuer", issuer, ...args],
    ["log", "checkpoint"],
  ]) {
    const { code, stdout, stderr } = await world.tvs(...words);
    const lines = stderr
      .trimEnd()
      .split("\n")
      .filter((line) => !line.startsWith("{"));
    expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: "" });
    expect(lines.at(-1)).toMatch(reason);
  }
  expect(readFileSync(pinned, "utf8")).toBe(kept);
}

const sizeOf = (note: string) => Number(note.split("\n")[1]);

test("a service refuses to run on an old copy of its database until the operator accepts the loss", () =>
  withLog(async (log) => {
    const old = await log.attest(3);
    const putBack = keepCopy(log);
    const lost = await log.attest(4);
    expect(sizeOf(readFileSync(log.pinned, "utf8"))).toBe(7);
    putBack();
    await requireRefused(log, /7 entries of verify\.example\.gov\/log were signed for, and it has 3/);

    const reason = "the disk was put back to yesterday";
    const opened = await log.world.tvs("log", "new", "--accept-loss", "--yes", "--reason", reason, "--json");
    expect(opened.json<Record<string, unknown>>()).toMatchObject({
      origin: `${origin}/2`,
      reason,
      previousOrigin: origin,
      previousSize: 7,
      size: 3,
    });
    expect(opened.stderr).toContain("LOG_KEY_MISSING");
    const fresh = await log.attest(1);
    await log.world.serving(async (service) => {
      expect((await keysOf(service)).map((key) => key.split("+")[0])).toEqual([`${origin}/2`, origin]);
      await expectProofs(service, { old, fresh, lost });
    });
    await requireWhole(log);
  }));

test("a restored backup that lacks signed entries begins a new log, and the restore reports the loss", () =>
  withLog(async (log) => {
    const old = await log.attest(3);
    const { world } = log;
    const backup = join(world.dataDir, "..", "backup.db");
    const facts = { logOrigin: origin, logEntries: 3 };
    expect(await world.tvsJson<object>("backup", backup)).toMatchObject(facts);
    expect(await world.tvsJson<object>("backup", "verify", backup)).toMatchObject(facts);
    const lost = await log.attest(4);
    const kept = readFileSync(log.pinned, "utf8");
    const restore = () => world.tvsJson<{ log: RestoredLog; notes: string[] }>("restore", backup, "--force");
    const printed = await restore();
    expect(printed.log).toEqual({
      isNew: true,
      origin: `${origin}/2`,
      previousOrigin: origin,
      previousSize: 7,
      lost: 4,
    });
    expect(printed.notes.join("\n")).toContain(
      `the backup has 3 entries of ${origin}, checkpoints were signed for 7 entries of ${origin}, and 4 of them are not in the backup`,
    );

    // New attestations get the ids of the lost ones.
    const fresh = await log.attest(4);
    expect((await logKeys(log)).map(({ previous }) => previous)).toEqual([null, kept]);
    await log.world.serving(async (service) => {
      await expectProofs(service, { old, fresh, lost });
    });
    await requireWhole(log);
    // After a second restore of the same backup the second log is lost too. The third log gets a new name.
    expect((await restore()).log).toMatchObject({
      isNew: true,
      origin: `${origin}/3`,
      previousOrigin: `${origin}/2`,
      previousSize: 7,
    });
    await log.attest(1);
    expect((await logKeys(log)).map((key) => key.origin)).toEqual([origin, `${origin}/3`]);
    await requireWhole(log);
  }));

/**
 * Kills a process before each of its writes, over a database file and over a server with a second node. After the next
 * run no covered entry is lost, each checkpoint names its predecessor, and the audit finds nothing.
 */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { continueLogAfterRestore } from "../../../cli/evidence/restored-log.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { beginNextLog } from "../../../src/domain/evidence/checkpoint.ts";
import {
  ensureFirstLog,
  findPredecessorLine,
  makePredecessorLine,
  requireCheckpointHead,
} from "../../../src/domain/evidence/log.ts";
import { makeRetentionSettings, pruneAttestations } from "../../../src/domain/evidence/retention.ts";
import type { Driver, Transaction } from "../../../src/store/driver/driver.ts";
import { openDatabaseFile } from "../../../src/store/driver/file.ts";
import { applySchema } from "../../../src/store/driver/schema.ts";
import { openPinnedCheckpoint } from "../../../src/store/evidence/pinned-checkpoint.ts";
import { driverKinds, withDatabase } from "../../harness/drivers.ts";
import { aPinnedCheckpoint } from "../../harness/evidence.ts";
import { withTempDir } from "../../harness/folder.ts";
import { masterKey, secrets } from "../../harness/samples.ts";
import { reportTries } from "../../harness/trial.ts";
import { aNode, attestTo, auditDatabase, copyOf, notesIn, tampered } from "./audited-register.ts";

/** Creates the life of a process that dies before its step number `left`. No later step happens. */
function createLife(left: number) {
  let steps = left;
  return {
    isDead: () => steps < 0,
    step(): void {
      if (steps-- <= 0) {
        steps = -1;
        throw new Error("killed");
      }
    },
  };
}

type Life = ReturnType<typeof createLife>;

/** Wraps a driver so that each batch of a transaction, and each commit, is a step of a life. */
function mortal(driver: Driver, { step }: Life): Driver {
  const mayDie =
    <A extends unknown[], R>(run: (...args: A) => R) =>
    (...args: A) => {
      step();
      return run(...args);
    };
  const inside = ({ query, batch, finish }: Transaction): Transaction => ({
    query: mayDie(query),
    batch: mayDie(batch),
    finish: mayDie(finish),
  });
  const write: Driver["write"] = (work, waitMs) =>
    driver.write(async (tx) => {
      const done = await work(inside(tx));
      step();
      return done;
    }, waitMs);
  return { ...driver, write, batch: (statements, waitMs) => write((tx) => tx.finish(statements), waitMs) };
}

type Pinned = ReturnType<typeof aPinnedCheckpoint>;

/** Makes the parts of one process with its own pinned checkpoint. Each write is a step of a life. */
function mortalNode(driver: Driver, pinned: Pinned, life: Life) {
  const write = (note: string) => {
    life.step();
    return pinned.write(note);
  };
  return aNode(mortal(driver, life), { ...pinned, write });
}

type Node = ReturnType<typeof aNode>;

function applyRetention({ age, retaining }: Node) {
  age(49);
  return pruneAttestations(retaining);
}

/** Makes 45 attestations under two checkpoints, and five attestations without a leaf. */
async function prepare(driver: Driver, pinned: Pinned): Promise<void> {
  await applySchema(driver);
  const { dependencies, stores, writer } = aNode(driver, pinned);
  await ensureFirstLog(dependencies);
  await stores.settings.write(makeRetentionSettings("90d", secrets));
  await attestTo(driver, 1, 40);
  await writer.checkpoint();
  await attestTo(driver, 41, 5);
  await writer.checkpoint();
  await attestTo(driver, 46, 5);
}

/** Expects each checkpoint to name its predecessor, and all checkpoints from before the kill to be stored. */
async function expectWhole(driver: Driver, seen: readonly string[], pins: readonly Pinned[]): Promise<void> {
  const kept = await notesIn(driver);
  expect(kept).toEqual(expect.arrayContaining([...seen]));
  expect(kept.map((note) => findPredecessorLine(requireCheckpointHead(note)) ?? "")).toEqual(
    [null, ...kept.slice(0, -1)].map(makePredecessorLine),
  );
  for (const { note } of pins) {
    expect(note).toBe(kept.at(-1) ?? "");
    expect(await auditDatabase(driver, note)).toMatchObject({ found: 0, leaves: 50 });
  }
}

const writings: Readonly<Record<string, (node: Node) => Promise<unknown>>> = {
  "an append and a checkpoint": ({ writer }) => writer.checkpoint(),
  retention: applyRetention,
  "a new log": async ({ dependencies, writer }) => {
    await beginNextLog(dependencies, "a test");
    await writer.checkpoint();
  },
};

for (const kind of driverKinds)
  describe.skipIf(kind.unavailable !== undefined)(`over ${kind.name}`, () => {
    for (const [name, act] of Object.entries(writings))
      test(
        `a kill before any write of ${name} loses nothing, and the next run completes the work`,
        () =>
          withDatabase(kind, async (driver) => {
            let steps = 0;
            for (let isOver = false; !isOver; steps++) {
              await wipe(driver);
              // Over a server the second node continues after the kill. A database file has only one node at a time.
              const [own, other] = [aPinnedCheckpoint(), aPinnedCheckpoint()];
              await prepare(driver, own);
              await aNode(driver, other).writer.reconcile();
              reportTries({ kills: 1 });
              const life = createLife(steps);
              await act(mortalNode(driver, own, life)).catch(() => {});
              isOver = !life.isDead();
              const seen = await notesIn(driver);
              const survivor = aNode(driver, other);
              if (kind.kind === "remote") {
                await survivor.writer.reconcile();
                await survivor.writer.checkpoint();
              }
              const next = aNode(driver, own);
              await next.writer.checkpoint();
              await survivor.writer.reconcile();
              await expectWhole(driver, seen, [own, other]);
              if (name !== "retention") continue;
              await applyRetention(next);
              await expectWhole(driver, seen, [own, other]);
              expect(await next.store.attested(0, 1)).toMatchObject([{ id: 50 }]);
            }
            expect(steps).toBeGreaterThan(3);
          }),
        60_000,
      );
  });

/** Drops all tables. */
async function wipe(driver: Driver): Promise<void> {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
  for (const { name } of await driver.query(sql))
    await driver.batch([{ sql: `DROP TABLE ${name}`, args: [] }]);
}

test(
  "a kill before any write of a restore leaves the old database, or a restored database that the next run completes",
  () =>
    withTempDir(async (folder) => {
      const config = readCommandConfig({ data: folder, "master-key": masterKey }, {});
      const old = join(folder, "old.db");
      const driver = await openDatabaseFile({ file: old });
      const memory = aPinnedCheckpoint();
      await prepare(driver, memory);
      const deletion = "DELETE FROM attestations WHERE id > 45";
      const backup = await tampered({ file: old, pinned: null }, [deletion]);
      await aNode(driver, memory).writer.checkpoint();
      const pinned = openPinnedCheckpoint(join(folder, "log.checkpoint"));
      await pinned.write(memory.note ?? "");
      const before = await notesIn(driver);
      for (let [steps, isOver] = [0, false]; !isOver; steps++) {
        const { file } = await copyOf(backup);
        const copy = await openDatabaseFile({ file });
        const life = createLife(steps);
        const acting = { actor: "a test", clock: aNode(copy).clock };
        const settled = await continueLogAfterRestore(mortal(copy, life), config, acting).catch(() => null);
        isOver = !life.isDead();
        expect(pinned.read()).toBe(memory.note);
        // Before the copy replaces the database, a kill leaves the old database unchanged.
        expect(await auditDatabase(driver, pinned.read())).toMatchObject({ found: 0, leaves: 50 });
        expect(await notesIn(driver)).toEqual(before);
        if (isOver) {
          // After the replacement, a kill leaves the previous log's checkpoint pinned until the next run.
          expect(settled?.log).toMatchObject({ isNew: true, lost: 5 });
          const healed = aNode(copy, memory);
          await healed.writer.reconcile();
          await healed.writer.checkpoint();
          expect(requireCheckpointHead(memory.note ?? "").origin).toBe("verify.example.org/log/2");
          expect(await auditDatabase(copy, memory.note)).toMatchObject({ found: 0, leaves: 45 });
        }
        await copy.close();
      }
      await driver.close();
    }),
  60_000,
);

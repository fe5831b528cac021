import { expect, test } from "bun:test";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { addTried } from "../harness/trial.ts";
import { startFaultyReceiver } from "./faulty-receiver.ts";
import { broken, damageOf, limitFor, roundsOf } from "./killed.ts";
import { openDatabase } from "./register.ts";
import { importRegister, makeChanges, prepareChanges, reached } from "./status-changes.ts";
import { addSubscribers, judgeWebhooks, settle } from "./subscribers.ts";

/**
 * Kills a serving process with SIGKILL again and again while statuses change and the receivers fail one time in three,
 * and then compares what they acknowledged with what has changed.
 */
const args = ["--allow-private-webhooks"];
const changeCount = 200;

test(
  "a sender that is killed and started again tells every partner of every change, and of nothing else",
  () =>
    withTempDir(async (dataDir) => {
      const receiver = await startFaultyReceiver();
      const register = { dataDir };
      const kills = roundsOf(3);
      try {
        const changes = prepareChanges(register);
        await importRegister(changes);
        let service = await startService({ dataDir, args });
        await addSubscribers(register, receiver);
        const changing = makeChanges(changes, changeCount);
        // The kills stand in the way of a failure's report; what fails here is thrown below.
        changing.catch(() => {});
        for (let kill = 0; kill < kills; kill++) {
          await reached(changes, { goal: ((kill + Math.random()) * changeCount) / kills, changing });
          await sleep(Math.random() * 300);
          await service.stop("SIGKILL");
          service = await startService({ dataDir, args });
        }
        await changing;
        await settle(register);
        await service.stop();
        const database = await openDatabase(register);
        const damage = await damageOf(database);
        const { counts, faults } = await judgeWebhooks(database, changes, receiver);
        await database.close();
        expect(broken({ ...faults, damage })).toEqual({});
        const { events, pairs, requests, failed, cutOff, duplicates } = counts;
        addTried({ kills, changes: events, requests });
        expect({ changes: changes.done, events, pairs }).toEqual({ changes: 200, events: 200, pairs: 340 });
        // The receivers did fail, and a failure or a kill costs a request more.
        expect(failed).toBeGreaterThan(50);
        expect(requests).toBe(pairs + failed + duplicates);
        expect(cutOff).toBeLessThanOrEqual(failed);
      } finally {
        receiver.close();
      }
    }),
  limitFor(90_000),
);

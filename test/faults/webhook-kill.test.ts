import { expect, test } from "bun:test";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { reportTries } from "../harness/trial.ts";
import { startFaultyReceiver } from "./faulty-receiver.ts";
import { foundFaults, integrityErrorOf, roundCount, timeLimit } from "./killed.ts";
import { openDatabase } from "./register.ts";
import { type Changes, changeCount, importRegister, makeChanges, untilChanged } from "./status-changes.ts";
import { addSubscribers, compareWebhooks, untilDelivered } from "./subscribers.ts";

/**
 * Kills a service with SIGKILL repeatedly while teachers' statuses change and the receiver fails one time in three. Then
 * compares the acknowledged events with the changes.
 */
const args = ["--allow-private-webhooks"];

test(
  "a sender that is killed and restarted delivers each change to each partner, and nothing else",
  () =>
    withTempDir(async (dataDir) => {
      const receiver = await startFaultyReceiver();
      const register = { dataDir };
      const kills = roundCount(3);
      try {
        const changes: Changes = { register, expected: new Set(), done: 0 };
        await importRegister(changes);
        let service = await startService({ dataDir, args });
        await addSubscribers(register, receiver);
        const changing = makeChanges(changes);
        // An error is thrown by `await changing` below; here it must not be unhandled.
        changing.catch(() => {});
        for (let kill = 0; kill < kills; kill++) {
          await untilChanged(changes, { goal: ((kill + Math.random()) * changeCount) / kills, changing });
          await sleep(Math.random() * 300);
          await service.stop("SIGKILL");
          service = await startService({ dataDir, args });
        }
        await changing;
        await untilDelivered(register);
        await service.stop();
        const database = await openDatabase(register);
        const damage = await integrityErrorOf(database);
        const { counts, faults } = await compareWebhooks(database, changes, receiver);
        await database.close();
        expect(foundFaults({ ...faults, damage })).toEqual({});
        const { events, pairs, requests, failed, cutOff, duplicates } = counts;
        reportTries({ kills, changes: events, requests });
        expect([changes.done, events, pairs]).toEqual([changeCount, changeCount, 340]);
        // The receiver did fail. Each failure caused one more request, and a kill may cause a duplicate.
        expect(failed).toBeGreaterThan(50);
        expect(requests).toBe(pairs + failed + duplicates);
        expect(cutOff).toBeLessThanOrEqual(failed);
      } finally {
        receiver.close();
      }
    }),
  timeLimit(90_000),
);

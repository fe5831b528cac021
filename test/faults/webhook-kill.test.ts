import { expect, test } from "bun:test";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { reportTries } from "../harness/trial.ts";
import { startFaultyReceiver } from "./faulty-receiver.ts";
import { integrityErrorOf, roundCount, timeLimit } from "./killed.ts";
import {
  changeCount,
  compareWebhooks,
  makeChanges,
  prepareChanges,
  untilDelivered,
} from "./notifications.ts";
import { openDatabase } from "./register.ts";

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
        const made: string[] = [];
        let service = await startService({ dataDir, args });
        await prepareChanges(register, receiver);
        const changing = makeChanges(register, made);
        // An error is thrown by `await changing` below; here it must not be unhandled.
        changing.catch(() => {});
        for (let kill = 0; kill < kills; kill++) {
          // The kills are spread over all changes.
          const goal = ((kill + Math.random()) * changeCount) / kills;
          while (made.length < goal) await Promise.race([changing, sleep(5)]);
          await sleep(Math.random() * 300);
          await service.stop("SIGKILL");
          service = await startService({ dataDir, args });
        }
        await changing;
        await untilDelivered(register);
        await service.stop();
        const database = await openDatabase(register);
        expect(await integrityErrorOf(database)).toBe("");
        const pairs = await compareWebhooks(database, made, receiver);
        await database.close();
        const { received } = receiver;
        reportTries({ kills, changes: made.length, requests: received.length });
        expect([made.length, pairs]).toEqual([changeCount, 340]);
        // The receiver has failed often enough for the test to be meaningful.
        expect(received.filter((one) => !one.isAcknowledged).length).toBeGreaterThan(50);
      } finally {
        receiver.close();
      }
    }),
  timeLimit(90_000),
);

import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { startFaultyReceiver } from "./faulty-receiver.ts";
import { damageOf, printFindings } from "./killed.ts";
import { openDatabase } from "./register.ts";
import { type Changes, importRegister, makeChanges, prepareChanges } from "./status-changes.ts";
import { addSubscribers, judgeWebhooks, settle } from "./subscribers.ts";

/**
 * Kills a serving process with SIGKILL again and again while statuses change and the receivers fail one time in
 * three, and then compares what they acknowledged with what has changed. Run alone: `bun test/faults/webhook-kill.ts 20`.
 */
const args = ["--allow-private-webhooks"];

export function killSender(kills: number, changeCount: number) {
  return withTempDir((dataDir) => killSenderOf(dataDir, kills, changeCount));
}

async function killSenderOf(dataDir: string, kills: number, changeCount: number) {
  const receiver = await startFaultyReceiver();
  const register = { dataDir };
  try {
    const changes = prepareChanges(register);
    await importRegister(changes);
    let service = await startService({ dataDir, args });
    await addSubscribers({ register, receiver, url: service.url });
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
    return { changes: changes.done, ...counts, faults: { ...faults, damage } };
  } finally {
    receiver.close();
  }
}

/** Waits until so many changes are made, so that the kills are spread over all of them. */
async function reached(
  changes: Changes,
  { goal, changing }: { goal: number; changing: Promise<void> },
): Promise<void> {
  while (changes.done < goal) {
    await Promise.race([changing, sleep(5)]);
  }
}

if (import.meta.main) {
  printFindings(await killSender(Number(process.argv[2] ?? 20), Number(process.argv[3] ?? 2_000)));
}

import { join } from "node:path";
import { createStores, type Stores } from "../../cli/open.ts";
import { planWrite } from "../../src/domain/teachers/store.ts";
import { type Driver, statement } from "../../src/store/driver/driver.ts";
import { openFile } from "../../src/store/driver/file.ts";
import { makeSchema } from "../../src/store/driver/schema.ts";
import { openRemote } from "../../src/store/server/remote.ts";
import { lagos } from "../harness/clock.ts";
import { anApiKey, aPartner, planImport } from "../harness/samples.ts";
import { noServer, startServer } from "../harness/sqld.ts";
import type { Bench } from "./bench.ts";
import { type Cleanup, folderUntilCleanup, withCleanup } from "./setup.ts";

const question =
  "What does a long watch list cost a change of one teacher, beside as many verified teachers?";
const watched = 100_000;
const registered = 500;
/** Numbers in one act while the list is filled. */
const atOnce = 2_000;
const partnerId = "watcher";
const regNoOf = (n: number) => `LA/2019/PRI/${String(n).padStart(6, "0")}`;

/** One partner with an endpoint, who watches as many teachers as it has verified: only its filter changes in between. */
export const watchedBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const table = options.figures.about(question);
    const drivers = { "a file": await openDatabase(cleanup), "a libSQL server": await openServer(cleanup) };
    for (const [name, driver] of Object.entries(drivers)) {
      if (driver === null) continue;
      const stores = await fill(driver);
      const changes = options.isQuick ? 50 : 500;
      for (let round = 0; round <= options.rounds; round++) {
        const took = { verified: 0, watched: 0 };
        // Every few changes the other filter: what else the machine does falls on both.
        for (let change = 0; change < changes; change++)
          for (const teachers of change % 2 === 0
            ? (["verified", "watched"] as const)
            : (["watched", "verified"] as const)) {
            await stores.partners.update({ partnerId, told: { teachers } });
            took[teachers] += await changeOne(stores, change % registered);
          }
        // The first round warms up.
        if (round === 0) continue;
        table.add(`a change in ${name}, verified`, { unit: "ms" }, took.verified / changes);
        table.add(`a change in ${name}, watched`, { unit: "ms" }, took.watched / changes);
        table.add(`a change in ${name}, watched ÷ verified`, { unit: "times" }, took.watched / took.verified);
      }
    }
  });

async function openDatabase(cleanup: Cleanup): Promise<Driver> {
  const driver = await openFile({ file: join(await folderUntilCleanup(cleanup), "tvs.db") });
  cleanup(() => driver.close());
  return driver;
}

async function openServer(cleanup: Cleanup): Promise<Driver | null> {
  if (noServer !== undefined) return null;
  const { url, stop } = await startServer();
  cleanup(stop);
  const driver = await openRemote({ url });
  cleanup(() => driver.close());
  return driver;
}

async function fill(driver: Driver): Promise<Stores> {
  await makeSchema(driver);
  const stores = createStores(driver);
  await stores.partners.add({ ...aPartner(partnerId), watchLimit: watched }, anApiKey(partnerId, "key"));
  await stores.webhooks.set({ partnerId, url: "https://hooks.example/", secret: new Uint8Array(32), at: 1 });
  const numbers = Array.from({ length: watched }, (_, n) => regNoOf(n));
  await stores.teachers.apply(numbers.slice(0, registered).map((regNo) => planImport(regNo, {}, Date.now())));
  for (let from = 0; from < watched; from += atOnce)
    await stores.watches.change(partnerId, { add: numbers.slice(from, from + atOnce), remove: [] });
  const attested = `INSERT INTO attestations (verification_id, partner_id, issued_at, kid, endpoint, purpose, policy_version,
      teacher_id, reference, status, eligible, credential, request_id, jws)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
    SELECT 'v' || i, ?1, 1, 'k', 'batch', 'p', '1', i, 'r', 'VALID', 1, 'c', 'q', 'j' FROM n`;
  await driver.batch([statement(attested, [partnerId, watched])]);
  return stores;
}

/** @returns how long the commit of a teacher's change took, with its event, whom that is told and the delivery, in ms */
async function changeOne({ teachers }: Stores, n: number): Promise<number> {
  const stored = await teachers.findStored({ by: "regNo", value: regNoOf(n) });
  if (stored === null) throw new Error("not in the register");
  const certificateStatus = stored.certificateStatus === "VERIFIED" ? "NOT_FOUND" : "VERIFIED";
  const write = planWrite(
    stored,
    { ...stored, certificateStatus },
    { action: "import", actor: "bench", calendar: lagos, at: Date.now() },
  );
  const startMs = performance.now();
  const [applied] = await teachers.apply([write]);
  const took = performance.now() - startMs;
  if (applied !== true || write.events.length !== 1) throw new Error("not one event");
  return took;
}

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SigningKey } from "../../src/domain/keys.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { fixtureKey, ringFiles } from "../harness/keys.ts";
import { countOf, seedOf, tried } from "../harness/trial.ts";
import { interleave } from "./interleaving.ts";
import type { Tally } from "./witness.ts";

/** How many interleavings a driver gets; `TVS_INTERLEAVINGS` names another number, for a long run. */
const counts = { embedded: 16, remote: 6 } as const;
const first = seedOf();
const at = Date.parse("2026-02-01T00:00:00Z");

describeDrivers("servers over one database", (kind, database) => {
  const drivers: Driver[] = [];
  let keys: SigningKey[] = [];
  const count = countOf("TVS_INTERLEAVINGS", counts[kind.kind]);

  beforeAll(async () => {
    keys = await Promise.all(ringFiles.map((name) => fixtureKey(name, at)));
    for (let n = 0; n < 3; n++) drivers.push(await database.another());
  });
  afterAll(async () => {
    for (const driver of drivers) await driver.close();
  });

  test(
    `keep every promise in ${count} interleavings of two and three, from seed ${first} on`,
    tried("interleavings", async (trial) => {
      const tally: Tally = {
        answered: 0,
        batches: 0,
        asSecond: 0,
        replayed: 0,
        refused: 0,
        spent: 0,
        notStored: 0,
        gaveUp: 0,
      };
      for (let seed = first; seed < first + count; seed++) {
        const some = drivers.slice(0, seed % 2 === 0 ? 2 : 3);
        await interleave(seed, { admin: database.driver(), drivers: some, keys, tally });
      }
      for (const [what, times] of Object.entries(tally))
        if (what !== "gaveUp") expect([what, times > 0]).toEqual([what, true]);
      trial.count("interleavings", count);
      trial.count("signed answers", tally.answered + tally.batches);
      trial.count("commits that found something changed", tally.notStored);
    }),
    6 * 3_600_000,
  );
});

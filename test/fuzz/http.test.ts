/** Sends requests drawn from the OpenAPI document, valid and invalid, and checks every answer. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { readSeed, readTryCount, reportTries } from "../harness/trial.ts";
import { type DrawnRequest, requestArbitrary } from "./http-requests.ts";
import { faultOf } from "./http-verdict.ts";
import { type FuzzedWorld, openFuzzedWorld } from "./http-world.ts";

/** The most requests of one partner. */
const sequence = 48;
/** Requests that run at the same time and share commits. */
const atOnce = 8;
/** The most partners of one service, which is then replaced, because many attestations make it slow. */
const sequencesOfWorld = 400;
const sequences = fc.array(requestArbitrary, { minLength: 1, maxLength: sequence, size: "max" });

test("every random request gets an answer that the OpenAPI document describes, and never a 5xx", async () => {
  const requests = readTryCount("TVS_REQUESTS", 600);
  let tried = 0;
  for (let seed = readSeed(); tried < requests; seed++) {
    const world = await openFuzzedWorld();
    const count = () => tried++;
    const whole = fc.asyncProperty(sequences, (all) => run(world, all, count));
    const numRuns = Math.min(sequencesOfWorld, Math.ceil((requests - tried) / (sequence / 2)));
    const outcome = await fc.check(whole, { seed, numRuns, endOnFailure: true });
    await world.close();
    if (outcome.failed) {
      const ofWorld = (sequencesOfWorld * sequence) / 2;
      const again = `TVS_SEED=${seed} TVS_REQUESTS=${ofWorld} npm test -- test/fuzz/http.test.ts`;
      throw new Error(`${again}\n${String(outcome.errorInstance)}`);
    }
  }
  reportTries({ requests: tried });
  expect(tried).toBeGreaterThanOrEqual(requests);
}, 3_600_000);

async function run(world: FuzzedWorld, all: readonly DrawnRequest[], count: () => void): Promise<void> {
  const partner = await world.begin();
  for (let from = 0; from < all.length; from += atOnce)
    await Promise.all(
      all.slice(from, from + atOnce).map(async (asked) => {
        const sent = partner.fillIn(asked);
        const [response, text] = await world.ask(sent);
        count();
        partner.learn(response, text);
        const fault = await faultOf(sent, response, text);
        if (fault !== null)
          throw new Error(`${fault}\n${JSON.stringify({ ...sent, body: sent.body?.toString("latin1") })}`);
      }),
    );
}

import { expect, test } from "bun:test";
import { checkpointOfAll } from "../../cli/evidence/open-evidence.ts";
import { keepIdempotencyMs } from "../../src/domain/idempotency.ts";
import { forgottenWindows, openWindows } from "../../src/domain/quota-windows.ts";
import { untilRotatable } from "../../src/domain/rotation.ts";
import { aClock } from "../harness/clock.ts";
import { runTvs } from "../harness/command.ts";
import { numbers } from "../harness/random.ts";
import { rejection } from "../harness/rejection.ts";
import { aSigningKey } from "../harness/samples.ts";
import { known, openTestService } from "../harness/service.ts";
import { withStores } from "../harness/store.ts";
import { countOf, seedOf, tell } from "../harness/trial.ts";

/** A service whose clock is set back and forward, by minutes and at times by days: so many services, drawn by TVS_SEED. */
const services = Math.ceil(countOf("TVS_SEEDS", 100) / 50);
const seed = seedOf();
const steps = 30;
const limits = { minute: 3, day: 40 } as const;
const minuteMs = 60_000;
const path = "/v1/inter-agency/eligibility-check";
const body = { identifier: { regNo: known.regNo }, purpose: "SCHOOL_EMPLOYMENT_VERIFICATION" };

test("a clock that is set gives no quota back, runs no key twice, and leaves the log whole", async () => {
  const wrong: string[] = [];
  for (let n = 0; n < services; n++) wrong.push(...(await step(seed + n)));
  tell("faults-limits", { tried: { "clock steps": services * steps }, wrong: wrong.length });
  expect(wrong, `TVS_SEED=${seed} npm test -- test/faults/clock-steps.test.ts`).toEqual([]);
}, 3_600_000);

type Kept = { readonly text: string; readonly at: number };

/** @returns what was wrong in one service, in words */
async function step(drawn: number): Promise<string[]> {
  const [draw, clock, wrong] = [numbers(drawn), aClock("2026-03-01T09:30:00Z"), [] as string[]];
  const { operator, service, call, close } = await openTestService({ clock });
  const terms = { partnerId: "full", perMinute: limits.minute, perDay: limits.day };
  await operator.stores.partners.update(terms);
  await service.configuration.refresh();
  const [used, answers] = [new Map<string, number>(), new Map<string, Kept>()];
  const ask = async (key: string) => {
    const windows = openWindows(clock.now());
    const response = await call(path, { as: "full", body, headers: { "Idempotency-Key": key } });
    const text = await response.text();
    if (response.status !== 200 && response.status !== 429) wrong.push(`seed ${drawn}: ${response.status}`);
    if (response.status !== 200) return;
    const kept = answers.get(key);
    // What is too old by the clock as it is runs anew.
    const isReplay = kept !== undefined && clock.now() - kept.at <= keepIdempotencyMs;
    // A replay costs the minute alone.
    const kinds = isReplay ? (["minute"] as const) : (["minute", "day"] as const);
    for (const kind of kinds) {
      const window = `${kind} of ${new Date(windows[kind]).toISOString()}`;
      used.set(window, (used.get(window) ?? 0) + 1);
      if ((used.get(window) ?? 0) > limits[kind]) wrong.push(`seed ${drawn}: more than its quota, ${window}`);
    }
    if (isReplay && kept.text !== text) wrong.push(`seed ${drawn}: ${key} ran twice`);
    if (!isReplay) answers.set(key, { text, at: clock.now() });
  };
  let [base, place] = [clock.now(), 0];
  for (let n = 0; n < steps; n++) {
    // What the housekeeping forgets, it forgets by the clock that it has.
    await operator.stores.quotaStore.prune(forgottenWindows(clock.now()));
    for (let calls = draw(5); calls >= 0; calls--) await ask(`key ${draw(40)}`);
    if (draw(2) === 0) await checkpointOfAll(operator);
    if (draw(20) === 0) base += 86_400_000;
    place = draw(50) * minuteMs;
    clock.set(new Date(base + place).toISOString());
  }
  clock.set(new Date(base + place).toISOString());
  await checkpointOfAll(operator);
  const { code, stdout } = await runTvs(["log", "audit"], { dataDir: operator.dataDir });
  if (code !== 0) wrong.push(`seed ${drawn}: ${stdout}`);
  await close();
  return wrong;
}

test("a clock that is set back makes no pending key older", () =>
  withStores(async ({ keys, nodes }) => {
    const [day, hour] = [24 * 60 * minuteMs, 60 * minuteMs];
    await keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
    // It was published by a clock that was a day ahead.
    const next = { ...aSigningKey("C", "pending"), createdAt: 2 * day, publishedAt: 2 * day };
    await keys.rotate({ active: "A", pending: "B", next, at: 2 * day });
    const isRotatable = async (now: number) =>
      (await rejection(untilRotatable({ keys, nodes }, { immediately: false, now }))) === undefined;
    const times = [day, 2 * day + hour, 3 * day - 1, 3 * day];
    expect(await Promise.all(times.map(isRotatable))).toEqual([false, false, false, true]);
  }));

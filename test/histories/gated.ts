/** Some servers over one database, whose every read, commit and reply waits for the seed to let it go. */
import type { SigningKey } from "../../src/domain/keys.ts";
import type { CallWrites } from "../../src/store/calls.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { createGate } from "../domain/gate.ts";
import { openServer } from "../domain/servers.ts";
import { aClock } from "../harness/clock.ts";
import { numbers } from "../harness/random.ts";
import { secrets } from "../harness/samples.ts";
import { type ChangeKind, createOperator } from "./operator.ts";
import { begin, drawAsk, type Part } from "./part.ts";

/** No two partners of a process have the same number: some databases are used by several tests. */
let added = 0;

/** More at once leave too many orders to try. */
const maxOpen = 8;

export type Gated = {
  readonly admin: Driver;
  readonly drivers: readonly Driver[];
  readonly keys: readonly SigningKey[];
  /** What changes. */
  readonly kinds: readonly ChangeKind[];
  readonly calls: number;
  /** How answered calls are written, where that is not as usual. */
  readonly writes?: CallWrites;
};

/** Plays one history of two partners. @returns what they saw */
export async function playGated(
  seed: number,
  { admin, drivers, keys, kinds, calls, writes }: Gated,
): Promise<Part[]> {
  const random = numbers(seed);
  const clock = aClock("2026-03-01T12:00:40.000Z");
  const [active, pending, ...spare] = keys as [SigningKey, SigningKey, ...SigningKey[]];
  await admin.batch([{ sql: "DELETE FROM signing_keys", args: [] }]);
  await createKeyStore(admin).create({ ...active, state: "active", activatedAt: clock.now() }, pending);
  let ticks = 0;
  const around = { random, secrets, calls: calls / 2, now: clock.now, tick: () => ++ticks };
  const operator = createOperator(admin, { ...around, nextKey: async () => spare.shift() });
  await operator.begin();
  for (let n = 0; n < 2; n++) await operator.addPart(++added);
  const gate = createGate(random);
  const servers = await Promise.all(drivers.map((driver) => openServer(driver, { clock, gate, writes })));
  const one = <T>(list: readonly T[]) => list[random(list.length)] as T;
  let [begun, open] = [0, 0];

  function start(): void {
    const part = one(operator.parts);
    const ask = drawAsk(part, random);
    const ended = begin(part, ask, around);
    open++;
    const sent = { ...ask, requestId: `call-${seed}-${begun++}` };
    void one(servers)
      .send(sent)
      .then(
        ({ headers, ...reply }) => ended({ ...reply, header: (name) => headers[name] ?? null }),
        ({ code }: { code?: string }) => {
          const status = code?.startsWith("CREDENTIAL_") ? 401 : 500;
          ended({ status, body: String(code), header: () => null });
        },
      )
      .finally(() => open--);
  }

  for (;;) {
    await gate.settled();
    if (begun === calls && gate.waiting() === 0) break;
    const dice = random(20);
    if (begun < calls && (gate.waiting() === 0 || (dice < 4 && open < maxOpen))) start();
    else if (dice === 4) await operator.change(kinds);
    else if (dice === 5 && random(4) === 0) one(servers).refresh();
    else if (dice === 6 && random(6) === 0) clock.add(15_000);
    else if (gate.waiting() > 0) await gate.release();
  }
  if (open > 0) throw new Error(`seed ${seed}: calls without an answer: ${open}`);
  return operator.parts;
}

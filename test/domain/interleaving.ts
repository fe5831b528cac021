import { mintApiKey } from "../../src/domain/credentials.ts";
import type { SigningKey } from "../../src/domain/keys.ts";
import { openWindows } from "../../src/domain/quota-windows.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { aClock, type TestClock } from "../harness/clock.ts";
import { numbers } from "../harness/random.ts";
import { secrets } from "../harness/samples.ts";
import { createGate } from "./gate.ts";
import {
  createOperator,
  person,
  personCount,
  purposes,
  type Question,
  refusedPurpose,
  type TestOperator,
} from "./register-model.ts";
import { openServer, type Reply, type Server } from "./servers.ts";
import { type Call, createWitness, type Tally } from "./witness.ts";

const callCount = 26;
const changeCount = 12;
const sharedKeys = ["k1", "k2", "k3"];

type Random = (below: number) => number;
/** What all choices of an interleaving are made by, and of. */
type Setting = {
  readonly seed: number;
  readonly random: Random;
  readonly clock: TestClock;
  /** Each partner's credentials. */
  readonly apiKeys: ReadonlyMap<string, readonly { readonly text: string; readonly keyId: string }[]>;
};

/** One interleaving of some servers over one database, all of it decided by its seed. @throws Error for what must not be */
export async function interleave(
  seed: number,
  {
    admin,
    drivers,
    keys,
    tally,
  }: { admin: Driver; drivers: readonly Driver[]; keys: readonly SigningKey[]; tally: Tally },
): Promise<void> {
  const random = numbers(seed);
  const clock = aClock("2026-03-01T12:00:40.000Z");
  const operator = await createOperator(admin, { seed, clock, keys });
  const apiKeys = await addPartners(operator, { seed, random, clock });
  const setting = { seed, random, clock, apiKeys };
  const witness = createWitness(admin, { seed, clock, operator, partnerIds: [...apiKeys.keys()], tally });
  const gate = createGate(random, witness.onCommit);
  const servers: Server[] = [];
  for (const driver of drivers) servers.push(await openServer(driver, clock, gate));
  await witness.begin();

  const draw = createCalls(setting);
  const calls: Call[] = [];
  let changes = 0;

  function start(step: number): void {
    const call = draw(calls.length, step);
    calls.push(call);
    witness.began(call);
    void pick(servers, random)
      .send(call)
      .catch(refusalOf)
      .then((reply) => {
        call.reply = reply;
        witness.ended(call);
      });
  }

  for (let step = 1; ; step++) {
    await gate.settled();
    const isOver = calls.length === callCount && gate.waiting() === 0;
    const open = calls.filter(({ reply }) => reply === undefined).length;
    if (isOver && open === 0) break;
    if (isOver) throw new Error(`seed ${seed}: calls without an answer: ${open}`);
    const dice = random(20);
    if (calls.length < callCount && (dice < 3 || gate.waiting() === 0)) start(step);
    else if (dice === 3 && changes < changeCount) {
      changes++;
      await change(operator, setting, step);
    } else if (dice === 4) pick(servers, random).refresh();
    else if (dice === 5 && random(4) === 0) clock.add(15_000);
    else if (gate.waiting() > 0) await gate.release();
  }
  await witness.atTheEnd(calls);
}

function pick<T>(list: readonly T[], random: Random): T {
  return list[random(list.length)] as T;
}

function refusalOf(error: { code?: string }): Reply {
  return {
    status: error.code?.startsWith("CREDENTIAL_") ? 401 : 500,
    headers: {},
    body: String(error),
    partnerId: null,
  };
}

/** Two partners with two credentials each; a batch costs one of them its items, and the other one call. */
async function addPartners(
  operator: TestOperator,
  { seed, random, clock }: Omit<Setting, "apiKeys">,
): Promise<Setting["apiKeys"]> {
  const apiKeys = new Map<string, { text: string; keyId: string }[]>();
  for (const batchCost of ["item", "call"] as const) {
    const partnerId = `p${seed}-${batchCost}`;
    const minted = [0, 1].map(() => mintApiKey(partnerId, { kind: "live", secrets, now: clock.now() - 1 }));
    const terms = { batchCost, perMinute: 6 + random(8), perDay: 10 + random(14) };
    const records = minted.map(({ record }) => record);
    await operator.addPartner(partnerId, terms, records);
    apiKeys.set(
      partnerId,
      minted.map(({ text, record }) => ({ text, keyId: record.keyId })),
    );
  }
  return apiKeys;
}

/** @returns makes the next call up, of a number and at a step */
function createCalls({ seed, random, clock, apiKeys }: Setting): (place: number, step: number) => Call {
  const one = <T>(list: readonly T[]) => pick(list, random);
  /** What stands under each shared key, so that most of those who use it again say the same. */
  const bodies = new Map<string, Question[]>();

  function questionsOf(count: number, allowed: boolean): Question[] {
    return Array.from({ length: count }, () => {
      const { regNo, tId, nin } = person(seed, 1 + random(personCount));
      const identifier = one([{ regNo }, { tId }, { nin }]);
      return { identifier, purpose: allowed ? one(purposes) : refusedPurpose };
    });
  }

  return (place, step) => {
    const partnerId = one([...apiKeys.keys()]);
    const operation = random(3) === 0 ? "batch" : "eligibility-check";
    const { text: apiKey, keyId } = one(apiKeys.get(partnerId) ?? []);
    const presented = [{ partnerId, keyId }];
    // Some present a credential of the other partner too.
    const other = random(3) === 0 ? [...apiKeys.keys()].find((id) => id !== partnerId) : undefined;
    const second = other === undefined ? undefined : one(apiKeys.get(other) ?? []);
    if (other !== undefined && second !== undefined)
      presented.push({ partnerId: other, keyId: second.keyId });
    const idempotencyKey = random(2) === 0 ? one(sharedKeys) : undefined;
    const name = `${partnerId} ${operation} ${idempotencyKey}`;
    let questions = questionsOf(operation === "batch" ? 2 + random(3) : 1, random(12) > 0);
    if (idempotencyKey !== undefined && random(8) > 0) questions = bodies.get(name) ?? questions;
    if (idempotencyKey !== undefined) bodies.set(name, bodies.get(name) ?? questions);
    return {
      requestId: `call-${seed}-${place}`,
      operation,
      apiKey,
      headerKey: second?.text,
      presented,
      idempotencyKey,
      body: random(15) === 0 ? {} : operation === "batch" ? { items: questions } : questions[0],
      partnerId,
      questions,
      minute: openWindows(clock.now()).minute,
      startStep: step,
    };
  };
}

/** Something that an operator does. */
async function change(operator: TestOperator, { random, apiKeys }: Setting, step: number): Promise<void> {
  const one = <T>(list: readonly T[]) => pick(list, random);
  const n = 1 + random(personCount);
  const partnerId = one([...apiKeys.keys()]);
  const { keyId } = one(apiKeys.get(partnerId) ?? []);
  const acts = [
    () => operator.put(n, { licenseRevokedOn: "2026-02-01" }),
    () => operator.put(n, { licenseExpiryDate: "2026-02-02" }),
    () => operator.put(n, { licenseExpiryDate: "2027-02-02" }),
    () => operator.put(n, { licenseRevokedOn: null, name: `Corrected ${step}` }),
    () => operator.put(4 + random(3), { certificateStatus: one(["VERIFIED", "CLAIMED"]) }),
    () => operator.setPolicy(),
    () => operator.setPartner(partnerId, { perMinute: random(16) }),
    () => operator.setPartner(partnerId, { perDay: random(26) }),
    () => operator.setPartner(partnerId, { scopes: one([["eligibility"], ["eligibility", "batch"]]) }),
    () => operator.disable(partnerId, step),
    () => operator.enable(partnerId),
    () => operator.enable(partnerId),
    () => operator.enable(partnerId),
    () => (random(3) === 0 ? operator.revokeKey(keyId, step) : operator.setPolicy()),
    () => operator.rotate(step, false),
    () => operator.rotate(step, true),
  ];
  await one(acts)();
}

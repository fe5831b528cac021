import { createPrivateKey } from "node:crypto";
import type fc from "fast-check";
import { createStores } from "../../cli/open.ts";
import { retentionSettings } from "../../src/domain/evidence/retention-mark.ts";
import { storedSettings } from "../../src/domain/settings.ts";
import { setWebhook } from "../../src/domain/webhooks.ts";
import { aSignedAttestation } from "../domain/evidence/audited-register.ts";
import { attest } from "../harness/evidence.ts";
import { readKey } from "../harness/keys.ts";
import { numbers } from "../harness/random.ts";
import { anApiKey, aPartner, planImport, secrets } from "../harness/samples.ts";
import type { openDatabase, SharedDatabase } from "./database.ts";
import { createProcesses, type Service, settings } from "./processes.ts";
import { createWitness, describeLog, expectWhole, missingYet } from "./promises.ts";
import { createWorld, type Machine, type Process } from "./world.ts";

/** What happens besides what takes turns by itself, each as often as it stands here. */
export const moves = [
  ...[
    "live",
    "live",
    "live",
    "live",
    "live",
    "live",
    "live",
    "live",
    "go",
    "go",
    "go",
    "go",
    "pass",
    "attest",
    "attest",
  ],
  ...["announce", "announce", "announce", "rush", "rush", "rush", "rush", "close", "close", "kill", "kill"],
  ...[
    "kill command",
    "start",
    "start",
    "start",
    "stop",
    "stand",
    "stand",
    "wake",
    "wake",
    "clock",
    "faults",
    "faults",
  ],
  ...["faults", "cut", "cut", "mend", "mend", "mend"],
] as const;

export type Move = { readonly move: string; readonly n: number };

/** A run, drawn by chance: everything that happens in it follows from this. */
export type Plan = {
  readonly chance: number;
  readonly machines: number;
  /** Before which move a season goes by, after which what was attested before is too old to be kept; null for none. */
  readonly seasonAt: number | null;
  readonly clocksWrong: boolean;
  readonly moves: readonly Move[];
};

/** Just before midnight in the service's time zone, on the day after the first attestation was made. */
const startsAt = Date.parse("2026-05-02T22:58:00Z");
const [yesterday, today] = ["2026-05-01", "2026-05-02"];
const seasonMs = 100 * 86_400_000;
const passes = [500, 1_000, 2_000, 4_000, 11_000, 40_000];
const rates = [0, 2, 5, 10, 30];
const maxEpochs = 4;
/** By then everything has healed, in simulated time. */
const healingMs = 300_000;
const signer = { kid: "k", privateKey: createPrivateKey(readKey("active")) };
/** Signing one takes longer than a run. */
const attestations = new Map<number, ReturnType<typeof aSignedAttestation>>();

function attestation(n: number) {
  const known = attestations.get(n) ?? aSignedAttestation(n, signer);
  attestations.set(n, known);
  return known;
}

/** What a register holds before the first node starts: a partner with a webhook, and licences that end. */
async function fill(database: SharedDatabase): Promise<{ expired: string[] }> {
  const { driver } = database;
  const stores = createStores(driver);
  await stores.settings.write({ ...storedSettings(settings), ...retentionSettings("90d", secrets) });
  await stores.partners.add(aPartner("agency"), anApiKey("agency", "key"));
  const clock = { now: () => startsAt };
  await setWebhook(
    { ...stores, secrets, clock },
    { partnerId: "agency", url: "https://8.8.8.8/hook", check: async () => {} },
  );
  const ends = [yesterday, today];
  const expired = ["A/B/C/1", "A/B/C/2", "A/B/C/3"];
  const writes = expired.map((regNo, at) => {
    const changes = { licenseExpiryDate: ends[at % 2] ?? "", certificateStatus: "NOT_FOUND" } as const;
    return planImport(regNo, changes, startsAt - 5 * 86_400_000);
  });
  await stores.teachers.apply(writes);
  return { expired };
}

export type Counts = { steps: number; faults: number; deaths: number };

/** Lets some nodes run over one database as a plan and a scheduler decide. @throws Error for what must not be */
export async function simulate(
  opened: Awaited<ReturnType<typeof openDatabase>>,
  { plan, scheduler }: { plan: Plan; scheduler: fc.Scheduler },
  sum: Counts,
): Promise<void> {
  const random = numbers(plan.chance);
  const allowedMs = plan.clocksWrong ? 200_000 : 5_000;
  const database = opened.begin(startsAt, (statements, process) => witness(statements, process));
  const witness = createWitness(database.read, database.now, allowedMs);
  const { expired } = await fill(database);
  const world = createWorld(database, { scheduler, random });
  const received = new Map<string, number>();
  let isReceiving = true;
  const processes = createProcesses(world, database, (deliveryId) => {
    const times = (received.get(deliveryId) ?? 0) + 1;
    received.set(deliveryId, times);
    return { status: isReceiving || times > 2 ? 200 : 503 };
  });
  const machines = Array.from({ length: plan.machines }, (_, at): Machine => {
    return { name: `m${at + 1}`, aheadMs: 0, isCutOff: false, stands: false, note: null, due: null };
  });
  const services = new Map<Machine, Service>();
  const commands = new Set<Process>();
  let [attested, epochs, taught] = [0, 1, 10];
  /** What was attested before the season went by. */
  let grownOld: number | null = null;

  const isServing = (machine: Machine) => services.get(machine)?.isAlive === true;
  const start = (machine: Machine) => {
    if (!isServing(machine)) services.set(machine, processes.start(machine));
  };

  /** Calls are answered, whoever answers them. */
  const answer = (count: number) => {
    const later = grownOld === null ? 0 : seasonMs / 1_000;
    return attest(
      database.driver,
      Array.from({ length: count }, () => attestation(++attested + later)),
    );
  };

  /** Some seconds in which most of what is asked for is done. */
  async function live(seconds: number, most: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await world.pass(1_000);
      await world.release(most);
    }
  }

  /** Several sign for what was attested a moment ago, and for what is attested meanwhile. */
  async function rush(n: number): Promise<void> {
    for (let signing = 0; signing < 2; signing++) {
      await answer(1 + (n % 2));
      commands.add(processes.signCheckpoint(machines[(n + signing) % machines.length] as Machine));
      await world.release(n % 9);
    }
  }

  async function make(move: string, n: number): Promise<void> {
    const machine = machines[n % machines.length] as Machine;
    const service = services.get(machine);
    const acts: Record<string, () => unknown> = {
      go: () => world.release(1 + (n % 25)),
      live: () => live(1 + (n % 7), 2 + (n % 17)),
      pass: () => world.pass(passes[n % passes.length] ?? 0),
      attest: () => answer(1 + (n % 3)),
      announce: () =>
        createStores(database.driver).teachers.apply(
          Array.from({ length: 1 + (n % 3) }, () =>
            planImport(`A/B/C/${++taught}`, { certificateStatus: "NOT_FOUND" }, database.now()),
          ),
        ),
      close: () => epochs < maxEpochs && ++epochs && commands.add(processes.closeEpoch(machine)),
      rush: () => rush(n),
      kill: () => service !== undefined && world.kill(service),
      "kill command": () => {
        for (const command of commands) world.kill(command);
        commands.clear();
      },
      start: async () => {
        // With what is being sent meanwhile by those that run.
        await make("announce", n);
        await live(2, 4);
        for (const one of machines) start(one);
      },
      stop: () => service?.isAlive && void service.stop().catch(() => world.kill(service)),
      stand: () => {
        machine.stands = true;
      },
      wake: () => world.wake(machine),
      clock: () => {
        machine.aheadMs = (random(7) - 3) * (plan.clocksWrong ? 15_000 : 300);
      },
      faults: () => {
        world.trouble.rate = rates[n % rates.length] ?? 0;
        isReceiving = n % 3 > 0;
      },
      cut: () => {
        machine.isCutOff = true;
      },
      mend: () => {
        machine.isCutOff = false;
      },
    };
    await acts[move]?.();
    await world.settled();
    const flaw = database.flaw();
    if (flaw !== null) throw flaw;
  }

  /** All that was attested is to be deleted now, while the log goes on in another epoch. */
  async function season(): Promise<void> {
    grownOld = attested;
    world.leap(seasonMs);
    await make("close", plan.chance);
    await live(2, 9);
  }

  /** Nothing fails any more, and whoever has died is started again. */
  async function heal(): Promise<void> {
    world.trouble.rate = 0;
    isReceiving = true;
    for (const machine of machines) {
      Object.assign(machine, { aheadMs: 0, isCutOff: false });
      world.wake(machine);
    }
    while (scheduler.count() > 0) await make("go", 24);
    world.trouble.isOver = true;
    // The operator does not wait for hours until what failed is due again.
    const { webhooks } = createStores(database.driver);
    await webhooks.enable("agency");
    await webhooks.makeDue("agency", database.now());
    let missing: string | null = "nothing was looked at";
    for (let passed = 0; missing !== null || database.now() < startsAt + 130_000; passed += 5_000) {
      if (passed > healingMs) throw new Error(`${missing} after ${healingMs / 1_000} s without a fault`);
      for (const machine of machines) start(machine);
      await world.pass(5_000);
      await make("nothing", 0);
      missing = missingYet(database.read, {
        notes: machines.map(({ note }) => note),
        prunedTo: grownOld ?? 0,
        expired,
      });
    }
  }

  try {
    for (const machine of machines) start(machine);
    for (const [at, { move, n }] of plan.moves.entries()) {
      if (at === plan.seasonAt) await season();
      await make(move, n);
    }
    if (plan.seasonAt !== null && grownOld === null) await season();
    await heal();
    const head = machines[0]?.note ?? null;
    await expectWhole(database, createStores(database.driver), { head, received, expired });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${describeLog(database.read)}`, { cause: error });
  } finally {
    for (const process of [...services.values(), ...commands]) process.isAlive = false;
    world.end();
    for (const name of ["steps", "faults", "deaths"] as const) sum[name] += world.counts[name];
  }
}

import {
  checkpointOfAll,
  evidenceBuilderOf,
  goOnInNextEpoch,
  openLog,
} from "../../cli/evidence/open-evidence.ts";
import { createStores, type Operator } from "../../cli/open.ts";
import { admitNode, runNode } from "../../cli/serve/node.ts";
import type { Exchange } from "../../src/delivery/exchange.ts";
import { startSender } from "../../src/delivery/sender.ts";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { startFollowing } from "../../src/domain/evidence/schedule.ts";
import { newNodeMemory, openNodeMemory } from "../../src/domain/node-memory.ts";
import { lagos } from "../harness/clock.ts";
import { aSettings, secrets } from "../harness/samples.ts";
import type { SharedDatabase } from "./database.ts";
import type { Machine, Process, World } from "./world.ts";

export const settings = { ...aSettings, issuer: "https://verify.example" };

/** What an endpoint answers to an attempt. */
export type Receive = (deliveryId: string) => { readonly status: number };

/** A `tvs serve` that runs. */
export type Service = Process & { readonly nodeId: string; stop(): Promise<void> };

/** What a process may fail by while databases and clocks do: it is tried again, or somebody starts it again. */
const passing = ["STORE_FULL", "STORE_BUSY", "STORE_UNAVAILABLE", "STORE_CONSTRAINT", "CLOCK_WRONG"] as const;

/** What runs on machines over a world's database. */
export function createProcesses(world: World, database: SharedDatabase, receive: Receive) {
  let started = 0;

  function onError(process: Process, error: unknown): void {
    const isPassing = passing.some((code) => isTvsError(error, code));
    if (!isPassing) database.found(new Error(`${process.name} fails: ${error}`, { cause: error }));
  }

  /** A command's view of the register, or a service's, as `openOperator` makes it. */
  function operatorOf(process: Process): Operator {
    const { machine } = process;
    const driver = world.driverOf(process);
    const clock = world.clockOf(process);
    const stores = createStores(driver, { acting: { actor: "simulation", clock } });
    const dueEpoch = {
      read: () => machine.due,
      write: () => Promise.reject(new Error("nothing is restored")),
      remove() {
        if (process.isAlive) machine.due = null;
      },
    };
    const about = {
      settingsInForce: settings,
      blindIndex: createBlindIndex(secrets.blindIndexKey),
      calendar: lagos,
      config: { masterKeyFile: "simulated" },
      actor: "simulation",
    };
    const known = { logHead: world.headOf(process), dueEpoch };
    return { ...stores, stores, driver, clock, secrets, ...known, ...about } as unknown as Operator;
  }

  /** The same parts, in the same order, as `openService` has. */
  async function serve(service: Service): Promise<() => Promise<void>> {
    const operator = operatorOf(service);
    const { nodeId, machine } = service;
    const keys = { pending: { kid: "pending" } };
    const configuration = {
      current: () => ({ revision: 1, keys, calendar: lagos }),
    } as unknown as Configuration;
    const onLogError = (error: unknown) => onError(service, error);
    await admitNode(operator, nodeId);
    await openLog(operator);
    const node = await runNode(operator, {
      nodeId,
      url: `http://${machine.name}.example`,
      consolePort: null,
      configuration,
      memory: openNodeMemory(newNodeMemory(1)),
      onLogError,
    });
    const following = { builder: evidenceBuilderOf(operator), clock: operator.clock, onError: onLogError };
    const stopFollowing = startFollowing(following);
    const clock = { ...operator.clock, now: () => operator.clock.now() - node.clockAheadMs() };
    const exchange = {
      deliver: async ({ headers }: { headers: Readonly<Record<string, string>> }) => {
        const deliveryId = headers["X-AGENCY-Delivery-Id"] ?? "";
        const answer = await world
          .exchange(service, `to send ${deliveryId}`, () => receive(deliveryId))
          .catch(() => null);
        const error = answer === null ? "CONNECTION_LOST" : answer.status === 200 ? null : "BAD_STATUS";
        return { status: answer?.status ?? null, error, retryAfterSeconds: null, durationMs: 1 } as const;
      },
    } as unknown as Exchange;
    const sender = startSender({
      ...{
        outbox: operator.stores.outbox,
        nodeId,
        exchange,
        secrets,
        clock,
        version: "1",
        onError: onLogError,
      },
      allowPrivate: () => false,
      random: () => world.random(1_000) / 1_000,
      limits: { pollMs: 2_000 },
    });
    return async () => {
      await sender.close();
      await Promise.all([node.leave(), stopFollowing()]);
    };
  }

  function run(machine: Machine, what: string, act: (operator: Operator) => Promise<unknown>): Process {
    const process = {
      name: `${machine.name} ${what} ${++started}`,
      machine,
      isAlive: true,
      isService: false,
    };
    void act(operatorOf(process))
      .catch((error) => onError(process, error))
      .finally(() => {
        process.isAlive = false;
      });
    return process;
  }

  return {
    start(machine: Machine): Service {
      const number = ++started;
      const nodeId = `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
      const service: Service = {
        name: `${machine.name} serve ${number}`,
        machine,
        isAlive: true,
        isService: true,
        nodeId,
        stop: () => stopped(),
      };
      const running = serve(service);
      async function stopped(): Promise<void> {
        await (await running)();
        service.isAlive = false;
      }
      running.catch((error) => {
        world.kill(service);
        onError(service, error);
      });
      return service;
    },
    /** `tvs log epoch`. */
    closeEpoch: (machine: Machine) =>
      run(machine, "log epoch", async (operator) => {
        // It refuses where there is no log.
        const isBegun = (await operator.evidence.epochs()).length > 0 || machine.note !== null;
        if (isBegun) await goOnInNextEpoch(operator, "a test");
      }),
    /** `tvs log checkpoint`. */
    signCheckpoint: (machine: Machine) => run(machine, "log checkpoint", checkpointOfAll),
  };
}

import type { Bench, BenchOptions } from "./bench.ts";
import { connectionCounts, fullConnections } from "./checks.ts";
import type { LoadPlan } from "./load.ts";
import { addClientShare, type Measured, measureLoad } from "./measured.ts";
import { inTurn } from "./programs.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegisters } from "./register.ts";
import { startServer, warmUpSeconds, withCleanup } from "./setup.ts";

type EmptyServer = { readonly name: string; readonly url: string; readonly pid: number };
type Shape = Pick<LoadPlan, "connections" | "seconds">;
const question = "What does a public look-up cost, beside an answer in which nothing is done?";

/** Public look-ups, beside an empty answer of the runtime's own server and of `node:http` on the same runtime. */
export const lookupsBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const served = await serveRegisters(options, { teachers: registerSizeFor(options), cleanup });
    const empty: EmptyServer[] = [
      {
        name: "empty answer, the runtime's own server",
        ...(await startServer(["./empty.ts", "runtime"], cleanup)),
      },
      { name: "empty answer, node:http", ...(await startServer(["./empty.ts", "node"], cleanup)) },
    ];
    const seconds = options.isQuick ? 1 : 2;
    const warmUp = { connections: fullConnections, seconds: warmUpSeconds(options) };
    for (const one of served) await measureLoad({ ...planFor(one), kind: "lookup", ...warmUp });
    for (const one of empty) await measureLoad(emptyPlan(one, warmUp));
    for (let round = 0; round < options.rounds; round++)
      for (const connections of connectionCounts) {
        // As for the rivals of a check: a quick run shows that they run.
        const beside = options.isQuick && connections !== fullConnections ? [] : empty;
        await measureRound(options, { served, empty: beside, round, shape: { connections, seconds } });
      }
  });

function emptyPlan({ url, pid }: Pick<EmptyServer, "url" | "pid">, shape: Shape): LoadPlan {
  return { url, pid, kind: "empty", apiKey: "", teachers: 1, ...shape };
}

async function measureRound(
  options: BenchOptions,
  {
    served,
    empty,
    round,
    shape,
  }: { served: readonly ServedRegister[]; empty: readonly EmptyServer[]; round: number; shape: Shape },
): Promise<void> {
  const table = options.figures.about(question);
  const at = shape.connections === 1 ? "1 connection" : `${shape.connections} connections`;
  const answers = new Map<boolean, Measured>();
  for (const one of inTurn(served, round)) {
    const { isEarlier } = one.program;
    const measured = await measureLoad({ ...planFor(one), ...shape, kind: "lookup" });
    answers.set(isEarlier, measured);
    add(options, { name: `look-up, ${at}`, measured, isEarlier });
  }
  for (const { name, url, pid } of empty) {
    const measured = await measureLoad(emptyPlan({ url, pid }, shape));
    add(options, { name: `${name}, ${at}`, measured, isEarlier: false });
    for (const [isEarlier, { cpuSeconds }] of answers) {
      const terms = { unit: "times", isEarlier };
      table.add(`look-up ÷ ${name}, ${at}: CPU each`, terms, cpuSeconds / measured.cpuSeconds);
    }
  }
}

function add(
  { figures }: BenchOptions,
  { name, measured, isEarlier }: { name: string; measured: Measured; isEarlier: boolean },
): void {
  const table = figures.about(question);
  table.add(name, { unit: "answers/s", isEarlier }, measured.perSecond);
  table.add(`${name}: server CPU each`, { unit: "µs", isEarlier }, measured.cpuSeconds * 1e6);
  table.add(`${name}: p99`, { unit: "ms", isEarlier }, measured.p99Ms);
  addClientShare(table, { name: `${name}: the load client`, measured, isEarlier });
}

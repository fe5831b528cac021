/** What an answer costs, beside an empty one of the runtime's own server and of `node:http` on the same runtime. */
import type { BenchOptions } from "./bench.ts";
import { connectionCounts, fullConnections } from "./checks.ts";
import type { LoadPlan } from "./load.ts";
import { addClientShare, type Measured, measureLoad } from "./measured.ts";
import { inTurn } from "./programs.ts";
import { type Cleanup, startServer, warmUpSeconds } from "./setup.ts";

type Shape = Pick<LoadPlan, "connections" | "seconds">;

/** Something that is asked of a service. */
export type Asked = {
  /** What a figure calls its answer. */
  readonly name: string;
  readonly plan: Omit<LoadPlan, keyof Shape>;
  readonly isEarlier: boolean;
};

type EmptyServer = { readonly name: string; readonly url: string; readonly pid: number };

async function startEmptyServers(cleanup: Cleanup): Promise<EmptyServer[]> {
  return [
    {
      name: "empty answer, the runtime's own server",
      ...(await startServer(["./empty.ts", "runtime"], cleanup)),
    },
    { name: "empty answer, node:http", ...(await startServer(["./empty.ts", "node"], cleanup)) },
  ];
}

function emptyPlan({ url, pid }: EmptyServer, shape: Shape): LoadPlan {
  return { url, pid, kind: "empty", apiKey: "", teachers: 1, ...shape };
}

/** Measures all that is asked, and empty answers, in rounds. */
export async function measureBesideEmpty(
  options: BenchOptions,
  { question, asked, cleanup }: { question: string; asked: readonly Asked[]; cleanup: Cleanup },
): Promise<void> {
  const empty = await startEmptyServers(cleanup);
  const seconds = options.isQuick ? 1 : 2;
  const warmUp = { connections: fullConnections, seconds: warmUpSeconds(options) };
  for (const { plan } of asked) await measureLoad({ ...plan, ...warmUp });
  for (const one of empty) await measureLoad(emptyPlan(one, warmUp));
  for (let round = 0; round < options.rounds; round++)
    for (const connections of connectionCounts) {
      // As for the rivals of a check: a quick run shows that they run.
      const beside = options.isQuick && connections !== fullConnections ? [] : empty;
      const shape = { connections, seconds };
      await measureRound(options, { question, asked: inTurn(asked, round), empty: beside, shape });
    }
}

async function measureRound(
  options: BenchOptions,
  {
    question,
    asked,
    empty,
    shape,
  }: { question: string; asked: readonly Asked[]; empty: readonly EmptyServer[]; shape: Shape },
): Promise<void> {
  const table = options.figures.about(question);
  const at = shape.connections === 1 ? "1 connection" : `${shape.connections} connections`;
  const answers: (Asked & { readonly measured: Measured })[] = [];
  function add({ name, isEarlier }: Pick<Asked, "name" | "isEarlier">, measured: Measured): void {
    table.add(`${name}, ${at}`, { unit: "answers/s", isEarlier }, measured.perSecond);
    table.add(`${name}, ${at}: server CPU each`, { unit: "µs", isEarlier }, measured.cpuSeconds * 1e6);
    table.add(`${name}, ${at}: p99`, { unit: "ms", isEarlier }, measured.p99Ms);
    addClientShare(table, { name: `${name}, ${at}: the load client`, measured, isEarlier });
  }
  for (const one of asked) {
    const measured = await measureLoad({ ...one.plan, ...shape });
    answers.push({ ...one, measured });
    add(one, measured);
  }
  for (const server of empty) {
    const measured = await measureLoad(emptyPlan(server, shape));
    add({ name: server.name, isEarlier: false }, measured);
    for (const { name, isEarlier, measured: own } of answers) {
      const terms = { unit: "times", isEarlier };
      table.add(`${name} ÷ ${server.name}, ${at}: CPU each`, terms, own.cpuSeconds / measured.cpuSeconds);
    }
  }
}

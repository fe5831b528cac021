import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BunPlugin } from "bun";
import { build, hostTarget, projectFolder, readTarget } from "../../.ci/build.ts";
import type { Bench } from "./bench.ts";
import type { LoadPlan } from "./load.ts";
import { type Measured, measureSettled } from "./measured.ts";
import { inTurn, type Program } from "./programs.ts";
import { planFor, registerSizeFor, type ServedRegister, serveRegister } from "./register.ts";
import { folderUntilCleanup, warmUpSeconds, withCleanup } from "./setup.ts";

type Shape = Pick<LoadPlan, "kind" | "connections" | "items">;
type Edit = { readonly file: string; readonly from: string; readonly to: string };

/** What makes the program quicker and longer, what it is for, and what its source is without it. */
type Mechanism = Edit & { readonly name: string; readonly shapes: readonly Shape[] };

const checks: readonly Shape[] = [
  { kind: "check", connections: 64 },
  { kind: "check", connections: 4 },
];
const lookups: readonly Shape[] = [
  { kind: "lookup", connections: 64 },
  { kind: "lookup", connections: 4 },
];
const batches: readonly Shape[] = [
  { kind: "batch", connections: 4, items: 100 },
  { kind: "batch", connections: 1, items: 20 },
];

export const mechanisms: readonly Mechanism[] = [
  {
    name: "one thread while few call",
    shapes: [...checks, ...lookups],
    file: "src/domain/settings.ts",
    from: 'hint: "auto|always",\n    usual: "auto",',
    to: 'hint: "auto|always",\n    usual: "always",',
  },
  {
    name: "gathering",
    shapes: checks,
    file: "src/store/driver/commits.ts",
    from: "const isGathering = () => queuedWeight < maxWeight && isMoreComing();",
    to: "const isGathering = () => queuedWeight < maxWeight && isMoreComing() && false;",
  },
  {
    name: "shared snapshots",
    shapes: [...lookups, ...checks],
    file: "src/store/driver/read-view.ts",
    from: "if (!isOpen) begin();",
    to: "if (isOld()) requireSameFile();",
  },
  {
    name: "signing boards",
    shapes: batches,
    file: "cli/serve/open-server.ts",
    from: "...signing, shared });",
    to: "...signing });",
  },
  {
    name: "eight signatures at once",
    shapes: [...checks, ...batches],
    file: "src/domain/settings.ts",
    from: 'hint: signingEngines.join("|"),\n    usual: "auto",',
    to: 'hint: signingEngines.join("|"),\n    usual: "openssl",',
  },
  {
    // A map of each thread's own, which counts no more than its share and grows as long as the minute lasts.
    name: "count-min sketch",
    shapes: lookups,
    file: "src/domain/address-limit.ts",
    from: "const counters = openCounters(memory);\n  const placesOf = createPlaces(secretOf(memory));",
    to: `openCounters(memory); createPlaces(secretOf(memory));
  let counts = new Map<string, number>();
  let countsIn = 0;
  const placesOf = (key: string) => [key];
  const counters = {
    halfOf(minute: number) { if (minute !== countsIn) { counts = new Map(); countsIn = minute; } return ""; },
    used: ([at = ""]: string[]) => counts.get(at) ?? 0,
    take([at = ""]: string[], _limit: number) {
      const before = counts.get(at) ?? 0;
      counts.set(at, before + 1);
      return before;
    },
  };`,
  },
];

/** A file's text without a mechanism. @throws Error when it is not, once, what the mechanism was known by */
export function without({ name, file, from, to }: Mechanism, text: string): string {
  if (text.split(from).length !== 2) throw new Error(`bench: ${name} is not in ${file} as worth.ts knows it`);
  return text.replace(from, () => to);
}

/** This program and, in turns, the same without one mechanism: by how much more each answer costs. */
export const worthBench: Bench = (options) =>
  withCleanup(async (cleanup) => {
    const folder = await folderUntilCleanup(cleanup);
    for (const mechanism of mechanisms)
      await withCleanup(async (ended) => {
        const outfile = join(folder, mechanism.name.replaceAll(" ", "-"));
        await build(readTarget(hostTarget()), outfile, [leaveOut(mechanism)]);
        const plan = { teachers: registerSizeFor(options), cleanup: ended };
        const [own] = options.programs;
        const full = await serveRegister(own, plan);
        const less = await serveRegister({ ...own, words: [outfile] } satisfies Program, plan);
        const seconds = warmUpSeconds(options);
        for (const one of [full, less]) await measureSettled(loadOf(one, mechanism.shapes[0], seconds));
        for (let round = 0; round < options.rounds; round++)
          for (const shape of mechanism.shapes) {
            const cost = new Map<ServedRegister, Measured>();
            for (const one of inTurn([full, less], round))
              cost.set(one, await measureSettled(loadOf(one, shape, options.isQuick ? 1 : 3)));
            addRatios(options, { mechanism, shape, full: cost.get(full), less: cost.get(less) });
          }
      });
  });

function leaveOut(mechanism: Mechanism): BunPlugin {
  const path = join(projectFolder, mechanism.file);
  return {
    name: mechanism.name,
    setup(builder) {
      builder.onLoad({ filter: /\.ts$/ }, (loaded) =>
        loaded.path === path
          ? { contents: without(mechanism, readFileSync(path, "utf8")), loader: "ts" }
          : undefined,
      );
    },
  };
}

function loadOf(served: ServedRegister, shape: Shape | undefined, seconds: number): LoadPlan {
  return { ...planFor(served), kind: "check", connections: 1, ...shape, seconds };
}

function addRatios(
  { figures }: Parameters<Bench>[0],
  {
    mechanism,
    shape,
    full,
    less,
  }: {
    mechanism: Mechanism;
    shape: Shape;
    full: Measured | undefined;
    less: Measured | undefined;
  },
): void {
  if (full === undefined || less === undefined) return;
  const table = figures.about("What is a mechanism worth? The same program without it ÷ with it");
  const items = shape.items === undefined ? "" : ` of ${shape.items}`;
  const name = `${mechanism.name}: ${shape.kind}${items}, ${shape.connections} at once`;
  const terms = { unit: "times", isEarlier: false };
  table.add(`${name}: server CPU each`, terms, less.cpuSeconds / full.cpuSeconds);
  table.add(`${name}: p50`, terms, less.p50Ms / full.p50Ms);
}

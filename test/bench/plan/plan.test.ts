import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { topics } from "../../../src/manual.ts";
import { type Costs, measured } from "./costs.ts";
import { createPlaces, createTimeline } from "./events.ts";
import type { Layout } from "./layout.ts";
import { makePlan, server } from "./plan.ts";
import { planText } from "./shown.ts";
import { simulate } from "./simulation.ts";

// Two seconds of one core, which may have other things to do.
setDefaultTimeout(60_000);

const nothing = { base: 0, row: 0, doubling: 0 };
/** A machine on which all is free but what a test is about. */
const free: Costs = {
  ...measured,
  signature: 0,
  handOver: 0,
  check: 0,
  lookup: 0,
  askRead: nothing,
  askCommit: nothing,
  read: nothing,
  commit: nothing,
  hold: nothing,
  beat: { commit: 0, hold: 0 },
};

function layout(changes: Partial<Layout>, nodes = 1): Layout {
  const home = { nodes, roundTrip: 0.0005, checksPerSecond: 0, lookupsPerSecond: 0, connections: 64 };
  return {
    costs: free,
    seed: 1,
    teachers: 2e6,
    server,
    threads: 4,
    regions: [home],
    checks: 6_000,
    ...changes,
  };
}

describe("the model", () => {
  test("gives the same outcome for the same layout, and another for another seed", () => {
    const one = layout({ costs: measured });
    expect(simulate(one)).toEqual(simulate(one));
    expect(simulate({ ...one, seed: 2 })).not.toEqual(simulate(one));
  });

  test("signs with every thread of every node, and with no more", () => {
    const costs = { ...free, signature: 0.01 };
    const { perSecond, uses } = simulate(layout({ costs }, 2));
    expect(perSecond / (8 / 0.01)).toBeCloseTo(1, 1);
    expect(uses.nodes).toBeCloseTo(1, 1);
  });

  test("commits one at a time, whatever the number of nodes", () => {
    const hold = { ...nothing, row: 0.001 };
    const [one, four] = [1, 4].map((nodes) =>
      simulate(layout({ costs: { ...free, hold, commit: hold } }, nodes)),
    );
    for (const outcome of [one, four]) expect((outcome?.perSecond ?? 0) / 1_000).toBeCloseTo(1, 1);
  });

  test("lets acts gather while a commit is on its way, so that few requests carry many checks", () => {
    const hold = { ...nothing, base: 0.01 };
    const { checksInCommit, perSecond } = simulate(layout({ costs: { ...free, hold, commit: hold } }));
    expect(checksInCommit).toBeGreaterThan(4);
    expect(perSecond / (100 * checksInCommit)).toBeCloseTo(1, 1);
  });

  test("charges a reader with the pages that are not in memory", () => {
    const slow = { ...server, memoryBytes: 1e9, pageRead: 0.01 };
    const regions: Layout["regions"] = [{ nodes: 1, roundTrip: 0, checksPerSecond: 5, lookupsPerSecond: 0 }];
    const {
      regions: [home],
    } = simulate(layout({ teachers: 200e6, server: slow, regions, checks: 300 }));
    expect(home?.p50 ?? 0).toBeGreaterThan(0.019);
  });

  test("serves as many at once as there are places, and the others in their order", () => {
    const timeline = createTimeline();
    const places = createPlaces(timeline, 2);
    const served: [number, number][] = [];
    for (const who of [1, 2, 3]) places.use(1, () => served.push([who, timeline.now()]));
    timeline.run(() => false);
    expect(served).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
    ]);
    expect(places.taken()).toBe(3);
  });
});

test("the manual says of growth what the committed costs give", () => {
  const page = topics.find(({ name }) => name === "growth")?.text ?? "";
  expect(page).toContain(planText(makePlan(), "markdown"));
});

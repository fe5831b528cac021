import { expect, test } from "bun:test";
import { noServer } from "../harness/sqld.ts";
import { broken } from "./killed.ts";
import { killOverFile, killOverServer } from "./log-kill.ts";
import type { LogKillFindings } from "./log-kill-findings.ts";

function requireTruth({ answered, checkpoints, verified, faults }: LogKillFindings): void {
  expect(broken(faults)).toEqual({});
  expect([answered > 50, checkpoints > 2, verified > 0]).toEqual([true, true, true]);
}

test("a service that is killed while it signs for its log never shows two that contradict each other", async () => {
  requireTruth(await killOverFile(3, 2));
}, 120_000);

// Each of three nodes once, and then the server; for longer: bun test/faults/log-kill.ts 50 nodes.
test.skipIf(noServer !== undefined)(
  "nor do nodes over a server that are killed, and it with them",
  async () => {
    requireTruth(await killOverServer(4));
  },
  180_000,
);

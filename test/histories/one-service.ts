/** A history of one service, which is killed and started again. */
import { expect } from "bun:test";
import { newMasterKey } from "../../src/domain/secrets.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { countOf, tell } from "../harness/trial.ts";
import { playServing } from "./services.ts";

/** @param trial by which it tells what came of it. @param args of `serve` */
export function playOneService(trial: string, args: readonly string[]): Promise<void> {
  return withTempDir(async (dataDir) => {
    const masterKey = newMasterKey();
    const env = { TVS_MASTER_KEY: masterKey, TVS_ISSUER: "https://teachers.example" };
    const start = () => startService({ dataDir, env, args: [...args] });
    let service = start();
    try {
      await service;
      const serving = {
        ...{ register: { dataDir, env }, masterKey, isSure: true },
        url: async () => (await service).url,
        async fail() {
          const killed = await service;
          service = killed.stop("SIGKILL").then(start);
          await service;
        },
      };
      const asked = { operations: countOf("TVS_OPERATIONS", 1_200) * 0.45, faults: countOf("TVS_KILLS", 1) };
      const { operations, lostReplies, healedMs, found } = await playServing(serving, asked);
      tell(trial, {
        tried: { operations, "lost replies": lostReplies, kills: healedMs.length },
        wrong: found.length,
        healedMs,
      });
      expect(found).toEqual([]);
    } finally {
      await (await service).stop();
    }
  });
}

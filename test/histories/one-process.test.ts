import { expect, test } from "bun:test";
import { generateMasterKey } from "../../src/domain/secrets.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { readTryCount } from "../harness/trial.ts";
import { playRounds } from "./services.ts";

test(
  "the answers of a service are linearizable while kills end and restart it",
  () =>
    withTempDir(async (dataDir) => {
      const masterKey = generateMasterKey();
      const env = { TVS_MASTER_KEY: masterKey, TVS_ISSUER: "https://teachers.example" };
      const start = () => startService({ dataDir, env });
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
        const operations = readTryCount("TVS_OPERATIONS", 1_200) * 0.9;
        const faults = readTryCount("TVS_KILLS", 2);
        expect(await playRounds(serving, { operations, faults })).toEqual([]);
      } finally {
        await (await service).stop();
      }
    }),
  7_200_000,
);

import { expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newMasterKey } from "../../src/domain/secrets.ts";
import { inTime, until } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runJson, runTvs, runWell, type Service, startService } from "../harness/program.ts";
import { noServer, startServer } from "../harness/sqld.ts";
import { addPartner, type Register } from "./register.ts";

/** What runs while its database is put back to an earlier state. */
const issuer = ["--issuer", "https://teachers.example"];
const origin = "teachers.example/log";

async function attest({ url }: Service, apiKey: string): Promise<void> {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const { status } = await fetch(`${url}/v1/inter-agency/lookup/by-tid/1`, { headers });
  expect(status).toBe(200);
}

/** As soon as the service knows the partner, and its database answers. */
const untilAttested = (service: Service, apiKey: string) =>
  until(() =>
    attest(service, apiKey).then(
      () => true,
      () => false,
    ),
  );

const shownBy = async ({ url }: Service) =>
  (await (await fetch(`${url}/v1/inter-agency/log/checkpoint`)).text()).split("\n").slice(0, 2).join(" ");

/** Has a command sign for everything, and waits until the service keeps that checkpoint too. */
async function signedAndKept(register: Register, serviceDir: string): Promise<string> {
  const { stdout } = await runWell(["log", "checkpoint"], register);
  const file = join(serviceDir, "log.checkpoint");
  await until(() => existsSync(file) && readFileSync(file, "utf8").trimEnd() === stdout.trimEnd());
  return stdout;
}

const refusal =
  /the database is behind its evidence log: 2 entries of teachers\.example\/log were signed for, and it has 1/;

async function requireNoStart({ dataDir, env = {} }: Register): Promise<void> {
  const { code, stderr } = await runTvs(["serve", "--port", "0", ...issuer], { dataDir, env });
  expect([code, stderr]).toEqual([1, expect.stringMatching(refusal)]);
}

test.skipIf(noServer !== undefined)(
  "a node stops when its server was put back to an earlier state, and starts again once the loss is accepted",
  () =>
    withTempDir(async (folder) => {
      const server = await startServer({ folder });
      const env = { TVS_DATABASE: server.url, TVS_MASTER_KEY: newMasterKey() };
      const [register, node] = [{ dataDir: join(folder, "operator"), env }, join(folder, "node")];
      const [data, saved] = [join(folder, "data"), join(folder, "saved")];
      const start = () => startService({ dataDir: node, env, args: issuer });
      try {
        let service = await start();
        const apiKey = await addPartner(register, "agency", 1e6);
        await untilAttested(service, apiKey);
        await signedAndKept(register, node);
        await server.kill();
        cpSync(data, saved, { recursive: true });
        await server.restart();
        await untilAttested(service, apiKey);
        await signedAndKept(register, node);

        await server.kill();
        rmSync(data, { recursive: true });
        renameSync(saved, data);
        await server.restart();
        expect(await inTime(service.exited, service.stderr)).toBe(1);
        expect(service.stderr()).toMatch(refusal);
        await requireNoStart({ dataDir: node, env });

        await runWell(["log", "epoch", "--reason", "the server was put back"], register);
        service = await start();
        await attest(service, apiKey);
        await runWell(["log", "checkpoint"], register);
        expect(await shownBy(service)).toBe(`${origin}/2 2`);
        expect(await service.stop()).toBe(0);
      } finally {
        await server.stop();
      }
    }),
  120_000,
);

test(
  "a service that runs goes over to an epoch that an operator has opened",
  () =>
    withTempDir(async (dataDir) => {
      const register = { dataDir };
      const service = await startService({ dataDir, args: issuer });
      const apiKey = await addPartner(register, "agency", 1e6);
      await untilAttested(service, apiKey);
      await runWell(["log", "checkpoint"], register);
      const opened = await runJson<{ key: string }>(["log", "epoch", "--reason", "a key was seen"], register);
      await until(async () => (await shownBy(service)) === `${origin}/2 1`);
      const keys = await (await fetch(`${service.url}/v1/inter-agency/log/key`)).text();
      expect(keys.split("\n")[0]).toBe(opened.key);
      await attest(service, apiKey);
      expect(await service.stop()).toBe(0);
      const head = readFileSync(join(dataDir, "log.checkpoint"), "utf8");
      expect(head.split("\n").slice(0, 2)).toEqual([`${origin}/2`, "2"]);
    }),
  120_000,
);

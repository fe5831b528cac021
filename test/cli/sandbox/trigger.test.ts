/** A partner's engineer in the sandbox: the real service, and `tvs trigger` as a process of its own. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { prepareSandbox } from "../../../cli/sandbox/sandbox.ts";
import { revokeApiKey } from "../../../src/domain/credentials.ts";
import { verifyWebhook } from "../../../src/partner/verify-webhook.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { withEndpoint } from "../../harness/endpoint.ts";
import { until } from "../../harness/eventually.ts";
import { sharedFolder, withTempDir } from "../../harness/folder.ts";
import { type Service, startService, testTimeoutMs } from "../../harness/program.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister } from "../../harness/service.ts";
import { openSite } from "../../pages/site.ts";

setDefaultTimeout(testTimeoutMs);

const dataDir = sharedFolder();
let service: Service;

beforeAll(async () => {
  service = await startService({ dataDir, args: ["--sandbox"] });
});
afterAll(async () => expect(await service?.stop()).toBe(0));

const tvs = (line: string) => runTvs(line.split(" "), { dataDir });
const json = <T>(line: string) => runJson<T>(line.split(" "), { dataDir });

test("tvs trigger in a sandbox causes an event, which a receiver on localhost gets with a valid signature", () =>
  withEndpoint(
    () => ({ status: 204 }),
    async ({ url, received }) => {
      const local = url.replace("127.0.0.1", "localhost");
      const set = `partners webhook set demo ${local} --sandbox`;
      const { secret } = await json<{ secret: string }>(set);
      expect(await json(set)).toMatchObject({ secret });
      type Caused = { eventId: string; deliveries: { deliveryId: string }[] };
      const caused = await json<Caused>("trigger license.revoked");
      expect(caused.deliveries).toHaveLength(1);
      await until(() => received.length > 0);
      const [{ headers, body } = { headers: {}, body: "" }] = received;
      expect(JSON.parse(body)).toMatchObject({
        eventId: caused.eventId,
        eventType: "license.revoked",
        data: { regNo: "TR/2019/LA/000012", licenseStatus: "REVOKED" },
      });
      const signature = String(headers["x-agency-signature"]);
      expect((await verifyWebhook({ rawBody: body, signature, secret })).valid).toBe(true);
      const shown = `webhooks show ${caused.deliveries[0]?.deliveryId} --sandbox`;
      await until(async () => (await json<{ state: string }>(shown)).state === "delivered");
    },
  ));

test("a sandbox refuses webhooks over http and to private addresses, except to the machine on which the sandbox runs", async () => {
  for (const url of ["http://10.0.0.1:3000", "http://localhost.example:3000", "https://10.0.0.1"])
    await expectRefusal(tvs(`partners webhook set demo ${url} --sandbox`), 1);
});

test("tvs sandbox reset restores the teachers, the event filter and the watch list, and removes the webhook", async () => {
  const apiKey = /tvs_test_[0-9A-Za-z]{61}/.exec(service.stdout())?.[0] ?? "";
  const call = async (path: string, method = "GET") => {
    const url = `${service.url}/v1/inter-agency/${path}`;
    return (await fetch(url, { method, headers: { "x-agency-api-key": apiKey } })).text();
  };
  const status = async () => JSON.parse(await call("lookup/by-tid/1001")).result.status;
  await tvs("partners webhook set demo http://localhost:9 --sandbox");
  expect(await json("trigger license.revoked 1001")).toMatchObject({ told: ["demo"] });
  expect(await status()).toBe("REVOKED");
  await call("watch/TR/2019/LA/000001", "PUT");
  expect(await call("watch")).toContain('["TR/2019/LA/000001"]');
  await json("partners set demo --teachers watched --sandbox");
  expect(await json("sandbox reset")).toMatchObject({ endpoint: "removed" });
  expect(await json("partners show demo --sandbox")).toMatchObject({ eventFilter: { teachers: "all" } });
  expect(await call("watch")).toContain('"data":[]');
  expect(await status()).toBe("VALID");
  expect(await json("sandbox reset")).toEqual({ teachers: 0, endpoint: "none" });
});

test("a starting sandbox replaces a revoked demo key, and keeps the new key at the next start", async () => {
  const site = await openSite();
  const keyAtStart = async () => (await prepareSandbox(site.operator, site.url)).demo.apiKey;
  try {
    expect(await keyAtStart()).toBe(site.demo.apiKey);
    const [key] = await site.operator.partners.apiKeys();
    await revokeApiKey(site.operator.partners, key?.keyId ?? "", Date.now());
    const next = await keyAtStart();
    expect(next).not.toBe(site.demo.apiKey);
    expect(await keyAtStart()).toBe(next);
  } finally {
    await site.close();
  }
});

test.each(["trigger license.revoked", "sandbox reset"])(
  "tvs %s on a live register is refused and changes nothing",
  (line) =>
    withTempDir(async (dataDir) => {
      await makeRegister(dataDir);
      const database = join(dataDir, "tvs.db");
      const names = () => readdirSync(dataDir).filter((name) => !/-(?:wal|shm)$/.test(name));
      const before = [names(), readFileSync(database).toBase64()];
      const words = [...line.split(" "), "--data", dataDir];
      await expectRefusal(runTvs(words), 2, "only a live register");
      await expectRefusal(runTvs([...words, "--database", `file:${database}`]), 1, "is for a sandbox only");
      expect([names(), readFileSync(database).toBase64()]).toEqual(before);
    }),
);

test("tvs trigger creates no register if none exists", async () => {
  const nowhere = join(dataDir, "nowhere");
  expect((await runTvs(["trigger", "license.revoked", "--data", nowhere])).code).toBe(2);
  expect(existsSync(nowhere)).toBe(false);
});

import { expect, test } from "bun:test";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkAttestationRetention, checkEvidenceLog } from "../../../cli/doctor/log.ts";
import { logWriterOf } from "../../../cli/evidence/open-evidence.ts";
import { openService } from "../../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import type { NamedFinding } from "../../../src/domain/checks.ts";
import { makeRetentionSettings } from "../../../src/domain/evidence/retention.ts";
import type { Driver } from "../../../src/store/driver/driver.ts";
import { createLogStore } from "../../../src/store/evidence/log.ts";
import { attest } from "../../harness/evidence.ts";
import { withTempDir } from "../../harness/folder.ts";
import { anAttestation, masterKey, secrets } from "../../harness/samples.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";

const now = Date.parse("2026-03-01T09:30:00Z");
const hourMs = 3_600_000;

type Look = (name: string, issuer?: string) => Promise<NamedFinding | undefined>;

/** Makes a register with attestations and a checkpoint over them, and checks its log by name. */
async function withLog(
  attestations: number,
  act: (world: { folder: string; driver: Driver; look: Look }) => Promise<void>,
): Promise<void> {
  await withTempDir(async (folder) => {
    const issuer = "https://verify.example";
    const config = readCommandConfig({ data: folder, issuer }, {});
    await makeRegister(folder);
    const { operator, service, close } = await openService(config);
    const { driver, stores } = operator;
    const { kid } = service.configuration.current().keys.active;
    const issuedAt = Math.floor(Date.now() / 1_000);
    for (let n = 1; n <= attestations; n++) await attest(driver, [anAttestation(n, { kid, issuedAt })]);
    await logWriterOf(operator, stores.evidence).checkpoint();
    // A running service would pin the checkpoint again.
    await close();
    await withTestContext(folder, async (opened) => {
      const look: Look = async (name, as = issuer) => {
        const store = createLogStore(opened.driver);
        const checks = await checkEvidenceLog(await store.figures(), store, { config, issuer: as });
        return checks.find((check) => check.name === name);
      };
      await act({ folder, driver: opened.driver, look });
    });
  });
}

test("tvs doctor shows the log's name and its pinned checkpoint", () =>
  withLog(2, async ({ folder, look }) => {
    expect(await look("log")).toMatchObject({ result: "ok", found: "verify.example/log, 2 leaves" });
    expect(await look("log-pinned")).toMatchObject({ result: "ok", found: join(folder, "log.checkpoint") });
    const advice = expect.stringContaining("other.example/x/log");
    expect(await look("log", "https://other.example/x")).toMatchObject({ result: "warn", advice });
  }));

test("tvs doctor reports a pinned checkpoint that is missing, unreadable, newer than the database, of another log, or writable by others", () =>
  withLog(2, async ({ folder, look, driver }) => {
    const file = join(folder, "log.checkpoint");
    const { note = "" } = (await createLogStore(driver).newest()) ?? {};
    const found = async (text: string) => {
      await writeFile(file, text);
      const { result, found } = (await look("log-pinned")) ?? {};
      return `${result}: ${found?.replace(folder, "")}`;
    };
    await chmod(file, 0o666);
    expect(await look("log-pinned")).toMatchObject({ result: "warn", advice: `chmod 600 ${file}` });
    const behind = "fail: the database is behind /log.checkpoint:";
    const ahead = `${behind} 3 entries of verify.example/log were signed for, and it has 2`;
    expect(await found(note.replace("\n2\n", "\n3\n"))).toBe(ahead);
    const another = note.replaceAll("verify.example", "other.example");
    expect(await found(another)).toBe(`${behind} it has no log other.example/log`);
    expect(await found("no checkpoint")).toStartWith("fail: ");
    await rm(file);
    expect(await look("log-pinned")).toMatchObject({ result: "warn", found: `${file} is missing` });
    await driver.batch([{ sql: "UPDATE log_tiles SET hashes = zeroblob(64) WHERE level = 0", args: [] }]);
    expect(await found(note)).toBe(`${behind} its newest entry is another`);
  }));

const kept = (retention: string) => makeRetentionSettings(retention, secrets);

test.each<[string, Record<string, string>, age: number | null, result: string, found: string]>([
  ["a retention that the operator set passes", kept("7y"), null, "ok", "attestations are kept: 7y"],
  ["a register without a retention passes", {}, null, "ok", "attestations are kept: forever"],
  ["an attestation that is due passes", kept("90d"), 91, "ok", "attestations are kept: 90d"],
  ["an attestation overdue by a day causes a warning", kept("90d"), 92, "warn", "attestation 7 is from"],
  [
    "a retention without a MAC causes a warning",
    { ...kept("7y"), keep_attestations: "90d" },
    null,
    "warn",
    "nothing is deleted",
  ],
])("tvs doctor checks the retention of attestations: %s", (_name, settings, age, result, found) => {
  const config = readCommandConfig({ "master-key": masterKey }, {});
  const oldest = age === null ? null : { id: 7, issuedAt: now - age * 24 * hourMs };
  const check = checkAttestationRetention(new Map(Object.entries(settings)), config, { oldest, now });
  expect(check).toMatchObject({ result, found: expect.stringContaining(found) });
});

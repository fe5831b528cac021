import { expect, test } from "bun:test";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkDiskSpace, checkTempDirectory, checkTlsCertificate } from "../../../cli/doctor/machine.ts";
import { makeSigningFinding } from "../../../cli/doctor/service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { openConnection } from "../../../src/store/driver/connection.ts";
import { makeCertificate } from "../../harness/certificates.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { root } from "../../harness/repository.ts";
import { aSigningKey } from "../../harness/samples.ts";
import { withTestContext } from "../../harness/service.ts";

type Check = { name: string; result: string; found: string; advice: string | null };

async function doctor(dataDir: string, flags: string[] = [], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runTvs(["doctor", "--json", ...flags], { dataDir, env });
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  const of = (name: string) => checks.find((check) => check.name === name);
  return { code, stderr, ok, checks, of };
}

async function healthy(dataDir: string): Promise<void> {
  await chmod(dataDir, 0o700);
  await withTestContext(dataDir, async () => {});
}

const change = (dataDir: string, sql: string) =>
  withTestContext(dataDir, ({ driver }) => driver.batch([{ sql, args: [] }]));

const checkNames = [
  "runtime configuration data-directory file-modes disk master-key database-engine schema",
  "integrity service clock signing-keys register import losses webhooks-held webhook-endpoints",
  "webhooks quotas credentials log issuer site retention private-webhooks webhook-receivers",
  "signing temp-directory file-descriptors tls proxy client-certificates time-sync",
].flatMap((line) => line.split(" "));

test("tvs doctor finds no failure on a healthy machine", () =>
  withTempDir(async (dataDir) => {
    await healthy(dataDir);
    const { code, ok, checks, of } = await doctor(dataDir, ["--full"]);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(checks.map((check) => check.name)).toEqual(checkNames);
    for (const name of "data-directory master-key schema integrity clock database-engine".split(" "))
      expect(of(name)).toMatchObject({ name, result: "ok", advice: null });
    // A busy machine may sign slowly, which is only a warning.
    expect(of("signing")?.result).not.toBe("fail");
    // A new pending key cannot be promoted yet, which needs no advice.
    expect(of("signing-keys")).toMatchObject({ result: "ok", advice: null });
    expect(of("signing-keys")?.found).toMatch(/may be promoted from \d{4}-.*Z on$/);
    expect((await runTvs(["doctor"], { dataDir })).stdout).toMatch(/^ok +master-key /m);
  }));

test("tvs doctor warns if signing is so slow that a batch takes longer than a caller waits", () => {
  const engine = { name: "webcrypto" as const, description: "WebCrypto" };
  const signer = { engine, reason: null, lacksCryptoMb: false };
  expect(makeSigningFinding(signer, 100)).toMatchObject({ result: "ok", advice: null });
  expect(makeSigningFinding(signer, 99)).toMatchObject({
    result: "warn",
    found: "WebCrypto, 99 RSA-2048 signatures a second",
    advice: "give the service more processor time",
  });
  expect(makeSigningFinding({ ...signer, lacksCryptoMb: true }, 100).found).toEndWith("with libcrypto-mb11");
});

test("tvs doctor creates neither a data folder nor a database", () =>
  withTempDir(async (folder) => {
    const dataDir = join(folder, "none");
    const { code, ok, of, stderr } = await doctor(dataDir);
    expect({ code, ok }).toEqual({ code: 2, ok: false });
    expect(stderr).toBe(`tvs: there is no register at ${dataDir}; tvs init makes one\n`);
    expect(of("runtime")?.result).toBe("ok");
    expect(of("data-directory")?.result).toBe("warn");
    expect(of("database")?.result).toBe("fail");
    await mkdir(dataDir);
    await doctor(dataDir);
    expect(await readdir(dataDir)).toEqual([]);
  }));

test("tvs doctor reports files that others can read, settings that serve would refuse, and a pending key that can be promoted", () =>
  withTempDir(async (dataDir) => {
    await healthy(dataDir);
    await change(
      dataDir,
      `UPDATE signing_keys SET published_at = ${aSigningKey("old", "pending").createdAt}`,
    );
    const key = join(dataDir, "master.key");
    await chmod(dataDir, 0o755);
    await chmod(key, 0o640);
    const { code, of } = await doctor(dataDir, [], { TVS_TLS_CERT: "cert.pem" });
    expect(code).toBe(1);
    expect(of("master-key")).toMatchObject({ result: "fail", advice: `chmod 600 ${key}` });
    expect(of("data-directory")).toMatchObject({ result: "warn", advice: `chmod 700 ${dataDir}` });
    const found = "one active, one pending that may be promoted";
    expect(of("signing-keys")).toMatchObject({ result: "ok", found });
    const refused = { result: "fail", advice: expect.stringContaining("--tls-key") };
    expect(of("configuration")).toMatchObject(refused);
  }));

test("tvs doctor fails if the master key is missing, unreadable, or belongs to another database", () =>
  withTempDir(async (dataDir) => {
    await healthy(dataDir);
    const key = join(dataDir, "master.key");
    const found = async () => (await doctor(dataDir)).of("master-key");
    const other = Buffer.alloc(32, 7).toString("base64url");
    const wrong = await doctor(dataDir, [], { TVS_MASTER_KEY: other });
    const notTheOne = { result: "fail", found: expect.stringContaining("not the one") };
    expect(wrong.of("master-key")).toMatchObject(notTheOne);
    expect(JSON.stringify(wrong)).not.toContain(other);
    await writeFile(key, other);
    expect((await found())?.result).toBe("fail");
    await writeFile(key, "rubbish");
    expect((await found())?.result).toBe("fail");
    await rm(key);
    expect(await found()).toMatchObject({ result: "fail", found: expect.stringContaining("is missing") });
  }));

test("tvs doctor fails if the database is an empty file, damaged, or another program's", () =>
  withTempDir(async (dataDir) => {
    const file = join(dataDir, "tvs.db");
    await writeFile(file, "");
    expect((await doctor(dataDir)).of("database")).toMatchObject({ result: "fail" });
    expect(await Bun.file(file).text()).toBe("");
    const foreign = await openConnection(file);
    foreign.exec("CREATE TABLE notes (text)");
    foreign.close();
    expect((await doctor(dataDir)).of("database")?.found).toContain("another program");
    for (const name of await readdir(dataDir)) await rm(join(dataDir, name), { force: true });
    await healthy(dataDir);
    const rows = "WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 2000)";
    await change(dataDir, `INSERT INTO settings ${rows} SELECT 'probe ' || i, hex(zeroblob(100)) FROM s`);
    await withTestContext(dataDir, ({ driver }) => driver.query("PRAGMA wal_checkpoint(TRUNCATE)"));
    const bytes = new Uint8Array(await Bun.file(file).arrayBuffer());
    bytes.fill(0xff, bytes.length - 40_000, bytes.length - 20_000);
    await writeFile(file, bytes);
    const { code, checks } = await doctor(dataDir);
    expect(code).toBe(1);
    const failed = checks.filter(({ result }) => result === "fail").map(({ name }) => name);
    expect(failed.join()).toMatch(/integrity|database/);
  }));

test("tvs doctor fails if the clock is earlier than stored times, or a newer program made the schema", () =>
  withTempDir(async (dataDir) => {
    await healthy(dataDir);
    await change(dataDir, `UPDATE signing_keys SET created_at = ${Date.now() + 3_600_000}`);
    const behind = { result: "fail", advice: expect.stringContaining("NTP") };
    expect((await doctor(dataDir)).of("clock")).toMatchObject(behind);
    await change(dataDir, "INSERT INTO schema_steps VALUES (1000)");
    expect((await doctor(dataDir)).of("schema")).toMatchObject({ result: "fail" });
  }));

test("tvs doctor fails if the database has a trigger that tvs did not make, and other commands refuse the database", () =>
  withTempDir(async (dataDir) => {
    await healthy(dataDir);
    const trigger = "CREATE TRIGGER undo AFTER UPDATE OF license_revoked_on ON teachers BEGIN";
    await change(dataDir, `${trigger} UPDATE teachers SET license_revoked_on = NULL WHERE id = NEW.id; END`);
    const { code, of } = await doctor(dataDir, ["--full"]);
    expect({ code, schema: of("schema")?.result }).toEqual({ code: 1, schema: "fail" });
    expect(of("schema")?.found).toContain("the trigger undo is not one that tvs makes");
    const reason = /^tvs: the schema of the database was changed by another program.* the trigger undo .*\n$/;
    await expectRefusal(runTvs(["keys", "list"], { dataDir }), 1, reason);
  }));

test("tvs doctor warns of an empty register, held webhooks and private addresses until the operator corrects them", () =>
  withTempDir(async (dataDir) => {
    const remember = (values: Record<string, string>) =>
      withTestContext(dataDir, ({ stores: { settings } }) => settings.write(values));
    await remember({ hold_webhooks: "true", allow_private_webhooks: "on" });
    const before = (await doctor(dataDir)).of;
    for (const name of ["register", "issuer", "webhooks-held", "private-webhooks"])
      expect(before(name)).toMatchObject({ name, result: "warn" });
    const sample = join(root, "data/sample-registry.csv");
    await runTvs(["teachers", "import", sample, "--baseline"], { dataDir });
    await runTvs(["webhooks", "release"], { dataDir });
    const issuer = { issuer: "https://verify.example.gov", issuer_set: "true" };
    await remember({ ...issuer, allow_private_webhooks: "off" });
    const after = (await doctor(dataDir)).of;
    for (const name of ["register", "issuer", "webhooks-held", "private-webhooks"])
      expect(after(name)).toMatchObject({ name, result: "ok" });
  }));

test("tvs doctor counts leftover copies of the database engine, and warns if another user owns the current copy", () =>
  withTempDir(async (folder) => {
    const uid = process.getuid?.() ?? -1;
    const check = (as: number) => checkTempDirectory({ BUN_TMPDIR: folder }, as);
    expect(check(uid)).toMatchObject({ result: "ok", found: folder });
    await writeFile(join(folder, `.bun-${uid}-f62bf34fc664bb18.node`), "ours");
    expect(check(uid)).toMatchObject({ result: "ok", found: folder });
    for (const name of [".eec1cf2621c2cb9b-0.node", ".eec1cf262a1b13c1-0.node"])
      await writeFile(join(folder, name), Buffer.alloc(1024 * 1024));
    expect(check(uid).found).toBe(`${folder}: 2 leftover copies of the database engine, 2 MiB`);
    expect(check(uid).advice).toContain("TMPDIR");
    const other = uid + 1;
    await writeFile(join(folder, `.bun-${other}-f62bf34fc664bb18.node`), "not the other's");
    expect(check(other).result).toBe("warn");
    expect(check(other).found).toContain(`user ${uid} owns the name it should have, .bun-${other}-`);
  }));

const now = Date.parse("2026-06-15T00:00:00Z");
type Made = Awaited<ReturnType<typeof makeCertificate>>;
const ending = (notAfter: string) => {
  const dates = { notBefore: new Date("2026-01-01"), notAfter: new Date(notAfter) };
  return makeCertificate({ commonName: "service", ...dates });
};

test("tvs doctor checks when the TLS chain expires, whether the private key fits, and who can read that key", () =>
  withTempDir(async (folder) => {
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const ends = ["2027-01-01", "2026-07-01", "2026-06-01"];
    const [good, soon, over] = (await Promise.all(ends.map(ending))) as [Made, Made, Made];
    const check = () => checkTlsCertificate({ port: 0, certFile, keyFile }, now);
    const cases: [cert: string, key: string, result: string][] = [
      [good.certPem, good.keyPem, "ok"],
      [soon.certPem, soon.keyPem, "warn"],
      [over.certPem, over.keyPem, "fail"],
      [`${good.certPem}\n${over.certPem}`, good.keyPem, "fail"],
      [good.certPem, soon.keyPem, "fail"],
      ["nothing", good.keyPem, "fail"],
    ];
    for (const [cert, key, result] of cases) {
      await writeFile(certFile, cert);
      await writeFile(keyFile, key, { mode: 0o600 });
      expect([cert, check().result]).toEqual([cert, result as "ok"]);
    }
    await writeFile(certFile, good.certPem);
    await chmod(keyFile, 0o644);
    expect(check()).toMatchObject({ result: "warn", advice: `chmod 600 ${keyFile}` });
    await rm(keyFile);
    expect(check().result).toBe("fail");
    expect(checkTlsCertificate(undefined, now).result).toBe("ok");
  }));

test.each([
  [0, "fail", "the service refuses partners until then"],
  [10 * 2 ** 20, "fail", "writes are about to be refused"],
  [500 * 2 ** 20, "warn", "before the next import or backup"],
  [5 * 2 ** 30, "ok", null],
] as const)(
  "tvs doctor gives the expected result and advice for a disk with %d free bytes",
  (bytes, result, advice) => {
    const check = checkDiskSpace(readCommandConfig({ data: "/" }, {}), () => bytes);
    expect([check.result, check.advice]).toEqual([result, advice && expect.stringContaining(advice)]);
  },
);

import { beforeAll, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseApiKeyId } from "../../../src/domain/credentials.ts";
import { eventTypes } from "../../../src/partner/contract.ts";
import { makeCertificate } from "../../harness/certificates.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { storeQuotaUse } from "../../harness/evidence.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";
import { runOnTerminal } from "../terminal/terminal.ts";

const dataDir = sharedFolder();

beforeAll(async () => {
  await withTestContext(dataDir, async () => {});
});

const terms = [
  ...["--name", "An Agency", "--scopes", "all", "--purposes", "all"],
  ...["--per-minute", "60", "--per-day", "1000"],
];

const run = (...args: string[]) => runTvs(["partners", ...args], { dataDir });
const json = (...args: string[]) =>
  runJson<ReturnType<typeof JSON.parse>>(["partners", ...args], { dataDir });

test("tvs partners add prints the partner's record and its API key, which show and list do not print", async () => {
  const purposes = ["EMPLOYER_BACKGROUND_CHECK"];
  const may = ["--scopes", "batch, eligibility", "--purposes", ...purposes, "--batch-cost", "item"];
  const quotas = ["--per-minute", "5", "--per-day", "9"];
  const added = await json("add", "ministry", "--name", "Ministry", ...may, ...quotas);
  expect(added).toMatchObject({
    ...{ partnerId: "ministry", name: "Ministry", scopes: ["eligibility", "batch"], purposes },
    ...{ perMinute: 5, perDay: 9, batchCost: "item", disabledAt: null },
  });
  expect(parseApiKeyId(added.apiKey, "live")).toBe(added.keyId);
  expect(added.createdAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  for (const args of [["show", "ministry"], ["list"], ["key", "list", "ministry"]])
    for (const form of [[], ["--json"]])
      expect((await run(...args, ...form)).stdout).not.toContain(added.apiKey);
});

test("tvs partners add prints the URL of the getting-started page only if an issuer is set", async () => {
  const folder = join(dataDir, "without-issuer");
  const add = async (id: string) =>
    (await runOnTerminal(["partners", "add", id, ...terms], { dataDir: folder })).text.replace(/\s+/g, "");
  await makeRegister(folder);
  const unknown = await add("early");
  expect(unknown).toContain("whoseissuerisnotknownyet");
  expect(unknown).not.toContain("http://");
  const issuer = "https://verify.example.org";
  await withTestContext(folder, ({ settings }) => settings.write({ issuer, issuer_set: "true" }));
  expect(await add("late")).toContain(`${issuer}/v1/inter-agency/getting-started`);
});

test("tvs partners add refuses an existing partner id, and leaves that partner unchanged", async () => {
  await json("add", "taken", ...terms);
  const again = run("add", "taken", ...terms.with(1, "Another"));
  await expectRefusal(again, 1, 'partner "taken" already exists');
  expect((await json("show", "taken")).name).toBe("An Agency");
});

test.concurrent.each([
  ["an unknown scope", terms.with(3, "all,eligibility"), "--scopes"],
  ["a quota that is not a number", terms.with(7, "many"), "--per-minute"],
  ["an empty name", terms.with(1, " "), "--name"],
  ["a missing quota", terms.slice(0, 8), "--per-day"],
  ["an unknown batch cost", [...terms, "--batch-cost", "free"], "--batch-cost"],
])("tvs partners add with %s is refused with the option's name", async (_, flags, named) => {
  await expectRefusal(run("add", "unmade", ...flags), 2, named);
  expect((await run("show", "unmade")).code).toBe(1);
});

test("tvs partners set changes only the given options", async () => {
  await json("add", "changing", ...terms);
  const changed = await json("set", "changing", "--per-minute", "7", "--batch-cost", "item");
  expect(changed).toMatchObject({ perMinute: 7, perDay: 1000, batchCost: "item", name: "An Agency" });
  expect((await json("set", "changing", "--scopes", "batch")).scopes).toEqual(["batch"]);
  expect(await json("show", "changing")).toMatchObject({ perMinute: 7, scopes: ["batch"] });
});

test("tvs partners set changes the event filter and the watch limit, and records nothing if no value changes", async () => {
  const usual = { watchLimit: 100_000, eventFilter: { events: [...eventTypes], teachers: "all" } };
  expect(await json("add", "filtered", ...terms)).toMatchObject(usual);
  const own = ["--watch-limit", "5", "--teachers", "watched"];
  expect(await json("add", "alsoFiltered", ...terms, ...own)).toMatchObject({ watchLimit: 5 });
  const changes = [...own, "--events", "license.revoked"];
  for (let n = 0; n < 2; n++) await json("set", "filtered", ...changes);
  const eventFilter = { events: ["license.revoked"], teachers: "watched" };
  const shown = await json("show", "filtered");
  const detail = "watchLimit 5; events license.revoked; teachers watched";
  expect(shown).toMatchObject({ watchLimit: 5, eventFilter, changes: [{ detail }, {}] });
  expect((await run("show", "filtered")).stdout).toMatch(/^teachers +watched$/m);
  await expectRefusal(run("set", "filtered", "--watch-limit", "10000001"), 2, "--watch-limit");
  await expectRefusal(run("set", "filtered", "--teachers", "some"), 2, "--teachers");
});

test("tvs partners show shows keys, certificates and the quota used in the current minute and day", async () => {
  await json("add", "counted", ...terms);
  await withTestContext(dataDir, async ({ driver, clock }) => {
    const startsAt = (ms: number) => Math.floor(clock.now() / ms) * ms;
    const partnerId = "counted";
    await storeQuotaUse(driver, { partnerId, kind: "day", startsAt: startsAt(86_400_000), used: 12 });
    await storeQuotaUse(driver, { partnerId, kind: "minute", startsAt: startsAt(60_000) - 300_000, used: 5 });
  });
  const shown = await json("show", "counted");
  expect(shown.keys).toHaveLength(1);
  expect(shown.certificates).toEqual([]);
  expect(shown.quota.day).toMatchObject({ used: 12, limit: 1000 });
  expect(shown.quota.minute).toMatchObject({ used: 0, limit: 60 });
  expect((await run("show", "nobody")).code).toBe(1);
});

test("a partner has at most two live keys, and the old key expires at the end of the overlap", async () => {
  const first = await json("add", "rotating", ...terms);
  const second = await json("key", "issue", "rotating", "--overlap", "1h");
  expect(second).toMatchObject({ partnerId: "rotating", previous: { keyId: first.keyId } });
  const endsInMs = Date.parse(second.previous.expiresAt) - Date.now();
  expect(endsInMs).toBeWithin(3_500_000, 3_600_001);

  await expectRefusal(run("key", "issue", "rotating"), 1, `tvs partners key revoke ${first.keyId}`);

  expect(await json("key", "revoke", first.keyId)).toMatchObject({ keyId: first.keyId, state: "revoked" });
  const states = (await json("key", "list", "rotating")).map((key: { state: string }) => key.state);
  expect(states).toEqual(["revoked", "live"]);
  expect((await run("key", "issue", "rotating")).code).toBe(0);
});

test("tvs partners key revoke says if the partner has no key left", async () => {
  const { keyId } = await json("add", "lastkey", ...terms);
  const { code, stderr } = await run("key", "revoke", keyId);
  expect(code).toBe(0);
  expect(stderr).toContain('"lastkey" has no valid API key now');
});

async function fileWith(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(dataDir, name);
  await writeFile(file, content);
  return file;
}

test("tvs partners cert adds, lists and removes a certificate by its fingerprint, in any spelling", async () => {
  const { certPem, keyPem, fingerprint256 } = await makeCertificate({ commonName: "agency" });
  const file = await fileWith("good.pem", `${keyPem}\n${certPem}`);
  await json("add", "federal", ...terms);
  const added = await json("cert", "add", "federal", file);
  expect(added).toMatchObject({ fingerprint: fingerprint256, partnerId: "federal", subject: "CN=agency" });
  expect(await json("cert", "list", "federal")).toEqual([added]);
  expect((await json("show", "federal")).certificates).toEqual([added]);

  const spelled = fingerprint256.toUpperCase().match(/../g)?.join(":") ?? "";
  expect(await json("cert", "remove", "federal", spelled)).toMatchObject({ fingerprint: fingerprint256 });
  expect(await json("cert", "list", "federal")).toEqual([]);
  expect((await run("cert", "remove", "federal", fingerprint256)).code).toBe(1);
  expect((await run("cert", "remove", "federal", "ab:cd")).code).toBe(2);
});

test("tvs partners cert add reads DER too, and refuses a certificate that another partner has", async () => {
  const { der } = await makeCertificate({ commonName: "shared" });
  const file = await fileWith("shared.der", der);
  await json("add", "owner", ...terms);
  await json("add", "second", ...terms);
  await json("cert", "add", "owner", file);
  for (const id of ["owner", "second"])
    await expectRefusal(run("cert", "add", id, file), 1, "already belongs to a partner");
  expect(await json("cert", "list", "second")).toEqual([]);
});

test("tvs partners cert add refuses an expired certificate, a chain, a key, and an unreadable file", async () => {
  const ended = { notBefore: new Date("2020-01-01"), notAfter: new Date("2021-01-01") };
  const old = await makeCertificate({ commonName: "old", ...ended });
  const [one, two] = [await makeCertificate({ commonName: "a" }), await makeCertificate({ commonName: "b" })];
  await json("add", "careful", ...terms);
  const refusals: [string, number, string][] = [
    [await fileWith("old.pem", old.certPem), 1, "expired"],
    [await fileWith("chain.pem", `${one.certPem}\n${two.certPem}`), 1, "2 certificates"],
    [await fileWith("torn.pem", `${one.certPem.replace("MII", "?")}\n${two.certPem}`), 1, "2 certificates"],
    [await fileWith("key.pem", one.keyPem), 2, "no readable X.509"],
    [join(dataDir, "absent.pem"), 2, "cannot be read"],
  ];
  for (const [file, code, text] of refusals)
    await expectRefusal(run("cert", "add", "careful", file), code, text);
  expect(await json("cert", "list", "careful")).toEqual([]);
});

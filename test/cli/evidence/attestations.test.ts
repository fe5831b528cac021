import { beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openService } from "../../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { pruneAttestations } from "../../../src/domain/evidence/retention.ts";
import type { SignedEnvelope } from "../../../src/partner/contract.ts";
import { runTvs } from "../../harness/command.ts";
import { answerCall } from "../../harness/evidence-log.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { anApiKey, aPartner, aTeacherWrite } from "../../harness/samples.ts";
import { makeRegister } from "../../harness/service.ts";

const dataDir = sharedFolder();
let envelopes: SignedEnvelope[];
let batchBody: string;
let foreign: SignedEnvelope;

/** Envelopes that the service has signed and stored, and one of another service. */
beforeAll(async () => {
  ({ envelopes, batchBody } = await attest(dataDir));
  const other = join(dataDir, "other");
  foreign = (await attest(other)).envelopes[0] as SignedEnvelope;
});

async function attest(folder: string) {
  await makeRegister(folder);
  const { operator, service, close } = await openService(readCommandConfig({ data: folder }, {}));
  const partner = { ...aPartner("agency"), perMinute: 1000, perDay: 1000 };
  await operator.stores.partners.add(partner, anApiKey("agency", "k1"));
  await operator.stores.teachers.apply([aTeacherWrite("A/B/C/1", { tId: 7 })]);
  const purpose = "EMPLOYER_BACKGROUND_CHECK";
  const ask = async (identifier: { regNo: string } | { nin: string }) => {
    const questions = [{ identifier, purpose, context: { correlationId: "case 9" } }] as const;
    return JSON.parse(await answerCall(service, { partner, operation: "eligibility-check", questions }));
  };
  const made = [await ask({ regNo: "A/B/C/1" }), await ask({ nin: "12345678901" })];
  const questions = [7, 8].map((tId) => ({ identifier: { tId }, purpose }) as const);
  const batchBody = await answerCall(service, { partner, operation: "batch", questions });
  await close();
  return { envelopes: made as SignedEnvelope[], batchBody };
}

const sample = (index = 0) => structuredClone(envelopes[index] as SignedEnvelope);

const tvs = (...args: string[]) => runTvs(["attestations", ...args], { dataDir });

async function check(input: string | Uint8Array) {
  const { code, stdout } = await runTvs(["attestations", "check", "-", "--json"], { dataDir, stdin: input });
  return { code, results: JSON.parse(stdout) };
}

test("tvs attestations list finds a teacher's attestations by any identifier, and filters by partner, time and --limit", async () => {
  const list = async (...args: string[]): Promise<{ reference: string }[]> =>
    JSON.parse((await tvs("list", "--json", "--teacher", ...args)).stdout);
  const about = await list("a/b/c/1");
  expect(about.map(({ reference }) => reference)).toEqual(["tId:7", "regNo:A/B/C/1"]);
  expect(await list("7", "--partner", "agency", "--since", "2020-01-01")).toEqual(about);
  expect(await list("7", "--limit", "1")).toEqual(about.slice(0, 1));
  expect(await list("7", "--since", "2999-01-01")).toEqual([]);
  expect(await tvs("list", "--teacher", "X/Y/Z/1")).toMatchObject({ code: 1, stdout: "" });
  expect((await tvs("list", "--teacher", "X/Y/Z")).code).toBe(2);
});

test("tvs attestations list --key lists an API key's calls, and the command that revokes the key prints the number of these calls", async () => {
  const folder = join(dataDir, "leaked");
  await attest(folder);
  const run = (line: string) => runTvs(line.split(" "), { dataDir: folder });
  const list = async (flags: string) => JSON.parse((await run(`attestations list --json ${flags}`)).stdout);
  const asked = await list("--key k1");
  expect(asked).toHaveLength(4);
  expect(asked[3]).toMatchObject({ credential: "k1", partnerId: "agency", reference: "regNo:A/B/C/1" });
  expect(await list("--key k1 --teacher 7")).toHaveLength(2);
  expect((await run("attestations list --key k1")).stdout).toMatch(/ KEY .*\n.* agency +k1 /);
  const given = `4 answers since ${asked[3].verifiedAt.replace("Z", ".000Z")}`;
  const line = `it was given ${given}: tvs attestations list --key k1 --limit 100000\n`;
  expect((await run("partners key revoke k1")).stdout).toBe(`k1 of agency is revoked\n${line}`);
  expect(await list("--key k1 --limit 100000")).toEqual(asked);
  const again = JSON.parse((await run("partners key revoke k1 --json")).stdout);
  expect(again.answers).toMatchObject({ count: 4, isAll: true });
  const { keyId } = JSON.parse((await run("partners key issue agency --json")).stdout);
  expect(await list(`--key ${keyId}`)).toEqual([]);
  const unused = "no answer that is kept was given to it\n";
  expect((await run(`partners key revoke ${keyId}`)).stdout).toContain(unused);
});

test("tvs attestations show prints the whole attestation without a NIN or its blind index", async () => {
  const { verificationId, signature, result } = sample(1);
  const { code, stdout } = await tvs("show", verificationId, "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ verificationId, reference: "nin", credential: "k1", requestId: "request-1" },
    ...{ jws: signature, header: { alg: "RS256" }, context: { correlationId: "case 9" } },
    claims: { sub: verificationId, aud: "agency", result },
  });
  expect(stdout).not.toContain("12345678901");
  expect((await tvs("show", verificationId)).stdout).toContain("TEACHER_NOT_FOUND");
  expect((await tvs("show", "0190")).code).toBe(1);
});

test("tvs attestations check accepts an envelope, a bare signature, a batch, an array and NDJSON lines", async () => {
  const lines = envelopes.map((one) => JSON.stringify(one)).join("\n");
  const inputs: [string, number][] = [
    [JSON.stringify(sample(), null, 2), 1],
    [sample().signature, 1],
    [batchBody, 2],
    [JSON.stringify(envelopes), 2],
    [`${lines}\n${sample().signature}\n`, 3],
  ];
  for (const [input, count] of inputs) {
    const attested = { attested: true, verdict: "attested", reason: null };
    expect(await check(input)).toMatchObject({ code: 0, results: new Array(count).fill(attested) });
  }
});

test.each<[string, (one: SignedEnvelope) => object, string]>([
  ["a changed result", (one) => ({ result: { ...one.result, eligible: false } }), "OUTER_RESULT_DIFFERS"],
  ["a changed audience", () => ({ audience: "other" }), "OUTER_AUDIENCE_DIFFERS"],
  ["a missing member", () => ({ issuer: undefined }), "ENVELOPE_MALFORMED"],
  ["another signature", (one) => ({ signature: otherSignature(one) }), "SIGNATURE_DIFFERS"],
  ["a malformed signature", () => ({ signature: "x" }), "SIGNATURE_DIFFERS"],
])("tvs attestations check reports as altered an envelope with %s", async (_, change, reason) => {
  const envelope = { ...sample(), ...change(sample()) };
  const { code, results } = await check(JSON.stringify(envelope));
  expect(code).toBe(1);
  const altered = { attested: false, verdict: "altered", reason, record: { status: "VALID" } };
  expect(results).toMatchObject([{ ...altered, verificationId: sample().verificationId }]);
});

/** Replaces the signature of an envelope, and keeps header and claims. */
function otherSignature({ signature }: SignedEnvelope): string {
  const [header, payload, bytes = ""] = signature.split(".");
  return `${header}.${payload}.${bytes.startsWith("A") ? "B" : "A"}${bytes.slice(1)}`;
}

test("tvs attestations check reports an envelope of another service as unknown, and exits with 1", async () => {
  const { code, results } = await check(`${JSON.stringify(sample())}\n${JSON.stringify(foreign)}\n`);
  expect(code).toBe(1);
  expect(results).toMatchObject([
    { attested: true, line: 1 },
    { attested: false, verdict: "unknown", reason: "NOT_KNOWN", record: null, line: 2 },
  ]);
});

test("tvs attestations check prints a verdict on each readable envelope of an input with unreadable parts", async () => {
  const verdictsOf = async (text: string) => {
    const { code, results } = await check(`${sample().signature}\n${text}`);
    return [code, ...results.map((one: { verdict: string }) => one.verdict)];
  };
  expect(await verdictsOf('not an envelope\n{"a":1}\n')).toEqual([2, "attested", "undecided", "undecided"]);
  expect(await verdictsOf('{"signature":1}\n')).toEqual([1, "attested", "malformed"]);
});

test("tvs attestations check exits with 2 and prints one line for an input without an envelope", async () => {
  for (const input of ["", "[]", "\n\n"]) {
    const checked = runTvs(["attestations", "check", "-"], { dataDir, stdin: input });
    await expectRefusal(checked, 2, /^tvs: standard input: .*\n$/);
  }
  expect((await tvs("check", join(dataDir, "absent"))).code).toBe(2);
});

describe("a log whose oldest attestations were deleted", () => {
  const prunedDir = join(dataDir, "pruned");
  let old: SignedEnvelope;

  beforeAll(async () => {
    old = (await attest(prunedDir)).envelopes[0] as SignedEnvelope;
    // Another call is answered two years later, and then a retention of one year deletes attestations.
    const later = { now: () => Date.now() + 2 * 366 * 86_400_000 };
    const config = readCommandConfig({ data: prunedDir, "keep-attestations": "1y" }, {});
    const { operator, close } = await openService(config, { clock: later });
    await pruneAttestations({ ...operator, clock: later });
    await close();
  });

  const run = (...args: string[]) => runTvs(["attestations", ...args], { dataDir: prunedDir });
  const said = /attestations from before \d{4}-\d\d-\d\dT[\d:.]+Z have been deleted \(they are kept for 1y\)/;

  test("tvs attestations show and check say that a deleted attestation may have existed", async () => {
    const shown = await run("show", old.verificationId);
    expect(shown.code).toBe(1);
    expect(shown.stderr).toMatch(said);
    expect(shown.stderr).not.toContain("no attestation has this verification id");
    const file = join(prunedDir, "envelope.json");
    await writeFile(file, JSON.stringify(old));
    const checked = await run("check", file, "--json");
    expect(checked.code).toBe(2);
    expect(JSON.parse(checked.stdout)).toMatchObject([{ verdict: "undecided", reason: "NO_LONGER_KEPT" }]);
    expect(checked.stderr).toMatch(said);
  });

  test("tvs attestations list mentions deleted attestations only if its list may lack some of them", async () => {
    expect((await run("list")).stderr).toMatch(said);
    expect((await run("list", "--since", "2999-01-01")).stderr).toBe("");
    expect((await run("list", "--limit", "1")).stderr).toBe("");
  });
});

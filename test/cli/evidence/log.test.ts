import { beforeAll, expect, test } from "bun:test";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { withRegister } from "../../../cli/open.ts";
import { openService } from "../../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { verifyCheckpoint } from "../../../src/partner/log-checkpoint.ts";
import { leafHashOfAttestation, rootOfInclusionProof } from "../../../src/partner/merkle-proof.ts";
import { readVerifierKey } from "../../../src/partner/signed-note.ts";
import { aSignedAttestation } from "../../domain/evidence/audited-register.ts";
import { runTvs } from "../../harness/command.ts";
import { attest } from "../../harness/evidence.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { anAttestation } from "../../harness/samples.ts";
import { makeRegister } from "../../harness/service.ts";

const dataDir = sharedFolder();
const elsewhere = sharedFolder();
const config = readCommandConfig({ data: dataDir, issuer: "https://verify.example.org" }, {});
const attested = [1, 2, 3].map(aSignedAttestation);
const { verificationId = "", jws = "" } = attested[1] ?? {};

const tvs = (...args: string[]) => runTvs(args, { dataDir });
const json = async (...args: string[]) => JSON.parse((await tvs(...args, "--json")).stdout);

const setStatus = (status: string) =>
  withRegister(config, ({ driver }) =>
    driver.batch([{ sql: "UPDATE attestations SET status = ? WHERE id = 2", args: [status] }]),
  );

beforeAll(async () => {
  await makeRegister(dataDir);
  const { operator, close } = await openService(config);
  await attest(operator.driver, attested);
  await close();
});

test("tvs log checkpoint covers every attestation, and tvs log key prints the key that signed the checkpoint", async () => {
  const { stdout: keys } = await tvs("log", "key");
  const key = await readVerifierKey(keys.trim());
  const { stdout: note } = await tvs("log", "checkpoint");
  const opened = await verifyCheckpoint(note, key === null ? [] : [key]);
  expect(opened).toMatchObject({ origin: "verify.example.org/log", size: 3 });
  const described = await json("log", "checkpoint");
  expect(described).toMatchObject({ origin: "verify.example.org/log", size: 3, note });
  expect(note.split("\n")[2]).toBe(described.root);
  expect(await json("log", "key")).toMatchObject([
    { origin: "verify.example.org/log", key: keys.trim(), reason: null, previous: null },
  ]);
});

test("tvs log commands before the first tvs serve say that there is no log", async () => {
  const data = join(dataDir, "new");
  await withRegister(readCommandConfig({ data }, {}), async () => {}, { whenMade: () => {} });
  const run = (command: string) => runTvs(["log", command], { dataDir: data });
  await expectRefusal(run("key"), 1, "no evidence log yet");
  await expectRefusal(run("audit"), 2, "no evidence log yet");
});

test("tvs attestations prove prints the proof of an attestation, given its verification id or leaf hash", async () => {
  const { stdout: proof } = await tvs("attestations", "prove", verificationId);
  const described = await json("attestations", "prove", verificationId);
  expect(described).toMatchObject({ leafIndex: 1, treeSize: 3, proof, origin: "verify.example.org/log" });
  const [first, index, ...rest] = proof.split("\n");
  expect([first, index]).toEqual(["c2sp.org/tlog-proof@v1", "index 1"]);
  const end = rest.indexOf("");
  expect(rest.slice(end + 1).join("\n")).toBe(described.checkpoint);
  const hashes = rest.slice(0, end).map((line) => new Uint8Array(Buffer.from(line, "base64")));
  const leaf = await leafHashOfAttestation(jws);
  const root = await rootOfInclusionProof({ leafHash: leaf, index: 1, size: 3, hashes });
  expect(Buffer.from(root ?? []).toString("base64")).toBe(described.checkpoint.split("\n")[2]);
  expect((await tvs("attestations", "prove", "--leaf", described.leafHash)).stdout).toBe(proof);
});

test("tvs attestations prove --out writes the proof to a new file, and refuses to replace a file", async () => {
  const file = join(elsewhere, "one.tlog-proof");
  const written = await tvs("attestations", "prove", verificationId, "--out", file);
  expect(written).toMatchObject({ code: 0, stdout: "" });
  expect(readFileSync(file, "utf8")).toStartWith("c2sp.org/tlog-proof@v1\nindex 1\n");
  expect((await tvs("attestations", "prove", verificationId, "--out", file)).code).toBe(2);
});

test("tvs attestations prove exits with 1 for an unknown leaf hash and with 2 for a wrong argument", async () => {
  const codeOf = async (...args: string[]) => (await tvs("attestations", "prove", ...args)).code;
  expect(await codeOf(anAttestation(9).verificationId)).toBe(1);
  expect(await codeOf("--leaf", "0".repeat(64))).toBe(1);
  expect([await codeOf("--leaf", "0"), await codeOf()]).toEqual([2, 2]);
});

test("tvs log audit reports in its exit code and its JSON whether the log is complete and unaltered", async () => {
  expect((await tvs("log", "audit")).stdout).toEndWith("\nall attestations are as they were logged\n");
  expect(await json("log", "audit")).toMatchObject({
    ...{ verdict: "whole", found: 0, findings: [], leaves: 3, compared: 3 },
    logs: [{ origin: "verify.example.org/log", checkpoints: 1 }],
  });
  await setStatus("EXPIRED");
  const { code, stdout } = await tvs("log", "audit");
  expect(code).toBe(1);
  expect(stdout).toContain("the first: attestation 2 contradicts its signed result in status");
  const finding = { what: "ATTESTATION", position: 1, verificationId };
  expect((await json("log", "audit")).findings).toMatchObject([finding]);
  await setStatus("VALID");
});

test("tvs log audit exits with 2 without the pinned checkpoint", async () => {
  // This test may run before every test that makes a checkpoint.
  await tvs("log", "checkpoint");
  const [pinned, away] = [join(dataDir, "log.checkpoint"), join(elsewhere, "log.checkpoint")];
  renameSync(pinned, away);
  const { code, stdout, stderr } = await tvs("log", "audit", "--json");
  renameSync(away, pinned);
  expect([code, JSON.parse(stdout).verdict]).toEqual([2, "undecided"]);
  expect(stderr).toContain("put back to an earlier state");
});

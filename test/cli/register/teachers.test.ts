import { expect, test } from "bun:test";
import type { OpenedRegister } from "../../../cli/open.ts";
import type { Attestation } from "../../../src/domain/attestations.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { runJson, runTvs, runWell } from "../../harness/command.ts";
import { attest } from "../../harness/evidence.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { anApiKey, anAttestation, aPartner, planImport } from "../../harness/samples.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";

const regNo = "TR/LA/2020/000001";
const nin = "12345678901";

async function put(operator: OpenedRegister, changes: Partial<TeacherContent> = {}): Promise<number> {
  const { teachers, blindIndex, clock } = operator;
  const identified = { tId: 100123, ninIndex: blindIndex.nin(nin), ninVerified: true };
  await teachers.apply([planImport(regNo, { ...identified, ...changes }, clock.now())]);
  return (await teachers.findStored({ by: "regNo", value: regNo }))?.id ?? 0;
}

let attestations = 0;

/** Stores an attestation of a partner's call, without a real signature. */
async function verify({ driver, clock }: OpenedRegister, changes: Partial<Attestation>): Promise<void> {
  const claims = JSON.stringify({ result: { found: true, status: "VALID" } });
  const call = {
    ...{ partnerId: "exam-body-a", issuedAt: Math.floor(clock.now() / 1000), reference: `regNo:${regNo}` },
    ...{ context: '{"examBatch":"2026-A"}', jws: `e30.${Buffer.from(claims).toString("base64url")}.AA` },
  };
  const row = anAttestation(++attestations, { ...call, ...changes });
  expect(await attest(driver, [row])).not.toBeNull();
}

test.concurrent("tvs teachers revoke lists the partners that got the answer VALID, and tvs teachers reinstate undoes the revocation", () =>
  withTempDir(async (dataDir) => {
    await withTestContext(dataDir, async (operator) => {
      const teacherId = await put(operator);
      const now = Math.floor(operator.clock.now() / 1000);
      await verify(operator, { teacherId, issuedAt: now - 60 });
      await verify(operator, { teacherId, issuedAt: now });
      await verify(operator, { teacherId, partnerId: "long-ago", issuedAt: now - 91 * 86_400 });
      await verify(operator, { teacherId, partnerId: "other-answer", status: "EXPIRED" });
    });
    const revoke = ["teachers", "revoke", regNo, "--reason", "Decision 2026/14"];
    expect(await runJson<object>(revoke, { dataDir })).toMatchObject({
      ...{ regNo, tId: 100123, ninOnFile: true, licenseRevokedReason: "Decision 2026/14" },
      ...{ licenseStatus: "REVOKED", announcedStatus: "REVOKED" },
      events: [{ eventType: "license.revoked" }],
      answeredValid: [{ partnerId: "exam-body-a", times: 2, lastAt: expect.stringMatching(/^\d{4}-.*Z$/) }],
    });
    await expectRefusal(
      runTvs(["teachers", "revoke", "100123", "--reason", "x"], { dataDir }),
      1,
      /^tvs: the licence is revoked already, since \d{4}-\d{2}-\d{2}\n$/,
    );
    const back = await runWell(["teachers", "reinstate", "100123", "--reason", "appeal 3"], { dataDir });
    expect(back.stdout).toContain("REVOKED -> VALID");
    expect(back.stdout).not.toContain("exam-body-a");
    const history = ["teachers", "history", regNo];
    expect((await runTvs(history, { dataDir })).stdout).toMatch(/ reinstate .* appeal 3\n/);
    const lines = await runJson<{ action?: string; eventType?: string }[]>(history, { dataDir });
    expect(lines.map(({ action, eventType }) => action ?? eventType)).toEqual([
      ...["import", "license.verified", "certificate.verified", "revoke", "license.revoked"],
      ...["reinstate", "license.reinstated"],
    ]);
  }));

test.concurrent("tvs teachers deactivate prints its event, show escapes control characters, reinstate and reactivate require --reason, and sweep prints counts", () =>
  withTempDir(async (dataDir) => {
    await withTestContext(dataDir, (operator) => put(operator, { state: "La\u001b[31mgos" }));
    const deactivated = await runTvs(["teachers", "deactivate", regNo, "--reason", "left"], { dataDir });
    expect([deactivated.code, deactivated.stderr]).toEqual([0, ""]);
    expect(deactivated.stdout).toContain("teacher.deactivated");
    const shown = await runTvs(["teachers", "show", "100123"], { dataDir });
    expect(shown.stdout).toMatch(/active +no\n/);
    expect(shown.stdout).toMatch(/NIN on file +yes, verified\n/);
    expect(shown.stdout).not.toContain("\u001b");
    const revoked = await runTvs(["teachers", "revoke", regNo, "--reason", "1"], { dataDir });
    expect(revoked.stdout).toMatch(/licence +NOT_FOUND \(unchanged\); recorded, and counts when/);
    for (const action of ["reinstate", "reactivate"]) {
      const without = await runTvs(["teachers", action, regNo], { dataDir });
      expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("--reason")]);
      expect((await runTvs(["teachers", action, regNo, "--reason", "2"], { dataDir })).code).toBe(0);
    }
    expect(await runJson<object>(["teachers", "show", regNo], { dataDir })).toMatchObject({
      ...{ active: true, licenseStatus: "VALID", attestations: 0 },
      lastEvent: { eventType: "license.reinstated" },
    });
    const swept = await runJson<object>(["teachers", "sweep"], { dataDir });
    expect(swept).toMatchObject({ expired: 0, started: 0, events: 0 });
  }));

test.concurrent("tvs teachers export-subject prints everything stored about a person, including lookups by record and by NIN", () =>
  withTempDir(async (dataDir) => {
    await withTestContext(dataDir, async (operator) => {
      const ninIndex = operator.blindIndex.nin(nin);
      // A partner asked for the NIN before the teacher was registered, so only the NIN connects the call.
      await verify(operator, {
        reference: "nin",
        ninIndex,
        status: "NOT_FOUND",
        operation: "lookup-by-nin",
        issuedAt: 1_700_000_000,
      });
      const teacherId = await put(operator);
      await operator.partners.add(aPartner("watcher"), anApiKey("watcher", "key"));
      await operator.watches.change("watcher", { add: [regNo, "SOME/BO/DY/ELSE"], remove: [] });
      await verify(operator, { teacherId });
      await verify(operator, { teacherId: teacherId + 1, reference: "regNo:SOME/BO/DY/ELSE" });
    });
    const { code, stdout, stderr } = await runTvs(["teachers", "export-subject", "--json"], {
      dataDir,
      stdin: ` ${nin}\n`,
    });
    expect([code, stderr]).toEqual([0, ""]);
    const held = JSON.parse(stdout);
    expect(held.record).toMatchObject({
      regNo,
      name: "Ada Obi",
      ninOnFile: true,
      announcedStatus: "VALID",
    });
    expect(Object.keys(held.record).some((name) => /index/i.test(name))).toBe(false);
    expect(held.lookups.map((one: { reference: string }) => one.reference)).toEqual([
      "nin",
      `regNo:${regNo}`,
    ]);
    expect(held.lookups[1]).toMatchObject({
      context: { examBatch: "2026-A" },
      result: { found: true },
      signature: expect.any(String),
    });
    expect(held.history).toHaveLength(3);
    expect(held.watchedBy).toEqual(["watcher"]);
    expect(held.events.map((event: { eventType: string }) => event.eventType)).toEqual([
      "license.verified",
      "certificate.verified",
    ]);
    expect(held.notes.join(" ")).toContain("public lookup keeps no record");
    expect(stdout).not.toContain(nin);
    const human = await runTvs(["teachers", "export-subject"], { dataDir, stdin: nin });
    expect(JSON.parse(human.stdout).lookups).toEqual(held.lookups);
  }));

test.concurrent("tvs teachers export-subject refuses an unknown or malformed NIN, and does not repeat it", () =>
  withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    const nobody = await runTvs(["teachers", "export-subject", "--json"], {
      dataDir,
      stdin: "99999999999",
    });
    expect(nobody.code).toBe(1);
    expect(JSON.parse(nobody.stdout)).toMatchObject({ error: { code: "NOT_KNOWN" } });
    expect(nobody.stderr).toContain("nothing is stored");
    for (const stdin of [
      "",
      "1234567890",
      "123456789012",
      "1234567890a",
      `${nin}\n${nin}`,
      "9".repeat(5000),
    ]) {
      await expectRefusal(
        runTvs(["teachers", "export-subject"], { dataDir, stdin }),
        2,
        "tvs: standard input must contain one NIN: exactly 11 digits\n",
      );
    }
    expect(nobody.stderr).not.toContain("99999999999");
  }));

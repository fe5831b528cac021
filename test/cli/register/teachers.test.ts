import { expect, test } from "bun:test";
import type { CommandContext } from "../../../cli/open.ts";
import type { Attestation } from "../../../src/domain/attestations.ts";
import { planWrite } from "../../../src/domain/teachers/store.ts";
import type { TeacherContent } from "../../../src/domain/teachers/teachers.ts";
import { runTvs } from "../../harness/command.ts";
import { attest } from "../../harness/evidence.ts";
import { withTempDir } from "../../harness/folder.ts";
import { expectRefusal } from "../../harness/refusal.ts";
import { anApiKey, aPartner, aTeacher } from "../../harness/samples.ts";
import { makeRegister, withTestContext } from "../../harness/service.ts";

const regNo = "TR/LA/2020/000001";
const nin = "12345678901";

async function put(operator: CommandContext, changes: Partial<TeacherContent> = {}): Promise<number> {
  const {
    stores: { teachers },
    blindIndex,
    calendar,
    clock,
  } = operator;
  const content = aTeacher(regNo, {
    tId: 100123,
    ninIndex: blindIndex.nin(nin),
    ninVerified: true,
    ...changes,
  });
  await teachers.apply([
    planWrite(null, content, { action: "import", actor: "test", calendar, at: clock.now() }),
  ]);
  return (await teachers.findStored({ by: "regNo", value: regNo }))?.id ?? 0;
}

/** A row of the evidence log as a partner's call leaves it; the signature is not looked at here. */
async function verify(operator: CommandContext, changes: Partial<Attestation>): Promise<void> {
  const active = (await operator.stores.keys.list()).find(({ state }) => state === "active");
  const result = Buffer.from(JSON.stringify({ result: { found: true, status: "VALID" } })).toString(
    "base64url",
  );
  const row: Attestation = {
    verificationId: crypto.randomUUID(),
    partnerId: "exam-body-a",
    issuedAt: Math.floor(operator.clock.now() / 1000),
    kid: active?.kid ?? "",
    operation: "lookup-by-reg-no",
    purpose: "GENERAL_PUBLIC_VERIFICATION",
    policyVersion: "1",
    teacherId: null,
    reference: `regNo:${regNo}`,
    ninIndex: null,
    status: "VALID",
    eligible: true,
    context: '{"examBatch":"2026-A"}',
    credential: "k",
    requestId: "r",
    jws: `e30.${result}.AA`,
    ...changes,
  };
  expect(await attest(operator.driver, [row])).not.toBeNull();
}

test.concurrent("tvs teachers revokes, says who was told VALID, and reinstates", () =>
  withTempDir(async (dataDir) => {
    await withTestContext(dataDir, async (operator) => {
      const teacherId = await put(operator);
      const now = Math.floor(operator.clock.now() / 1000);
      await verify(operator, { teacherId, issuedAt: now - 60 });
      await verify(operator, { teacherId, issuedAt: now });
      await verify(operator, { teacherId, partnerId: "long-ago", issuedAt: now - 91 * 86_400 });
      await verify(operator, { teacherId, partnerId: "told-otherwise", status: "EXPIRED" });
    });
    const revoked = await runTvs(["teachers", "revoke", regNo, "--reason", "Decision 2026/14", "--json"], {
      dataDir,
    });
    expect(revoked.code).toBe(0);
    const value = JSON.parse(revoked.stdout);
    expect(value).toMatchObject({
      regNo,
      tId: 100123,
      licenseStatus: "REVOKED",
      announcedStatus: "REVOKED",
      licenseRevokedReason: "Decision 2026/14",
      ninOnFile: true,
      events: [{ eventType: "license.revoked" }],
      answeredValid: [{ partnerId: "exam-body-a", times: 2, lastAt: expect.stringMatching(/^\d{4}-.*Z$/) }],
    });
    await expectRefusal(
      runTvs(["teachers", "revoke", "100123", "--reason", "x"], { dataDir }),
      1,
      /^tvs: the licence is revoked already, since \d{4}-\d{2}-\d{2}\n$/,
    );
    const back = await runTvs(["teachers", "reinstate", "100123", "--reason", "appeal 3"], { dataDir });
    expect(back.code).toBe(0);
    expect(back.stdout).toContain("REVOKED -> VALID");
    expect(back.stdout).not.toContain("exam-body-a");
    expect((await runTvs(["teachers", "history", regNo], { dataDir })).stdout).toMatch(
      / reinstate .* appeal 3\n/,
    );
    const history = await runTvs(["teachers", "history", regNo, "--json"], { dataDir });
    expect(JSON.parse(history.stdout).map((line: { action?: string; eventType?: string }) => line.action ?? line.eventType)).toEqual([
        "import", "license.verified", "certificate.verified", "revoke", "license.revoked", "reinstate", "license.reinstated",
      ]); // biome-ignore format: a story in one line
  }));

test.concurrent("tvs teachers shows, deactivates, reactivates and sweeps", () =>
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
    const json = JSON.parse((await runTvs(["teachers", "show", regNo, "--json"], { dataDir })).stdout);
    expect(json).toMatchObject({
      active: true,
      licenseStatus: "VALID",
      attestations: 0,
      lastEvent: { eventType: "license.reinstated" },
    });
    const swept = await runTvs(["teachers", "sweep", "--json"], { dataDir });
    expect(JSON.parse(swept.stdout)).toMatchObject({ expired: 0, started: 0, events: 0 });
  }));

test.concurrent("tvs teachers export-subject prints all that is held and every lookup, by the record and by the NIN", () =>
  withTempDir(async (dataDir) => {
    await withTestContext(dataDir, async (operator) => {
      const ninIndex = operator.blindIndex.nin(nin);
      // The NIN was asked for before the teacher was registered; nothing but the NIN ties that call to the person.
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
    expect(human.stdout).toContain("LOOKUPS BY PARTNERS");
    expect(human.stdout).toContain("public lookup keeps no record");
    expect(human.stdout).not.toContain(nin);
  }));

test.concurrent("tvs teachers export-subject refuses an unknown NIN and a malformed one, and repeats neither", () =>
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

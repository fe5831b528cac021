import { expect, test } from "bun:test";
import { openService } from "../../../cli/serve/open-service.ts";
import { readCommandConfig } from "../../../src/config.ts";
import { runTvs } from "../../harness/command.ts";
import { withTempDir } from "../../harness/folder.ts";
import { anApiKey, aPartner, aTeacherWrite } from "../../harness/samples.ts";
import { makeRegister } from "../../harness/service.ts";

test("tvs status shows the register's figures, and whether a service has the database open", () =>
  withTempDir(async (dataDir) => {
    await makeRegister(dataDir);
    const config = readCommandConfig({ data: dataDir, issuer: "https://verify.example" }, {});
    const { operator, close } = await openService(config);
    await operator.stores.partners.add(aPartner("agency"), anApiKey("agency", "k1"));
    await operator.stores.teachers.apply([aTeacherWrite("A/B/C/1")]);

    const during = await runTvs(["status", "--json"], { dataDir });
    expect(during).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(during.stdout)).toMatchObject({
      serviceRunning: true,
      environment: "live",
      issuer: "https://verify.example",
      timeZone: "Africa/Lagos",
      teachers: { total: 1, byLicenseStatus: { VALID: 1 }, approximate: false },
      partners: { total: 1, disabled: 0 },
      attestations: { total: 0, today: 0, lastHour: 0, newestAt: null },
      events: 2,
      log: { origin: "verify.example/log", leaves: 0, waiting: 0, checkpoint: null },
      database: { kind: "embedded" },
    });

    await close();
    const after = await runTvs(["status"], { dataDir });
    expect(after.stdout).toMatch(/^service +not running$/m);
    expect(after.stdout).toMatch(/^evidence log +0 leaves, 0 waiting$/m);
    expect(after.stdout).toMatch(/^licenses +1 VALID, 0 EXPIRED, 0 REVOKED, 0 NOT_FOUND$/m);
  }));

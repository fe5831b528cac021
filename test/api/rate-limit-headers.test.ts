import { afterEach, beforeEach, expect, test } from "bun:test";
import { mintApiKey } from "../../src/domain/credentials.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { createKeyStore } from "../../src/store/keys.ts";
import { createPartnerStore } from "../../src/store/partners.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import type { Gate } from "../domain/gate.ts";
import { openServer, type Reply, type Server } from "../domain/servers.ts";
import { aClock } from "../harness/clock.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { fillRing } from "../harness/keys.ts";
import { aPartner, aTeacherWrite, secrets } from "../harness/samples.ts";

const clock = aClock("2026-03-01T12:00:00.000Z");
const question = { identifier: { tId: 1 }, purpose: "GENERAL_PUBLIC_VERIFICATION" };
/** Nothing waits. */
const openGate = {
  around: (driver: Driver) => ({ ...driver, outstanding: () => 0 }),
  busy: new Set(),
} as unknown as Gate;

describeDrivers("two servers over one database", (_kind, database) => {
  let drivers: Driver[] = [];
  let servers: Server[] = [];
  let apiKey = "";

  beforeEach(async () => {
    const { text, record } = mintApiKey("agency", { kind: "live", secrets, now: clock.now() - 1 });
    apiKey = text;
    const admin = database.driver();
    if ((await createKeyStore(admin).list()).length === 0) await fillRing(createKeyStore(admin), clock.now());
    await createPartnerStore(admin).add({ ...aPartner("agency"), perMinute: 6 }, record);
    await createTeacherStore(admin).apply([aTeacherWrite("TR/2019/LA/000001", {})]);
    drivers = [await database.another(), await database.another()];
    servers = await Promise.all(drivers.map((driver) => openServer(driver, { clock, gate: openGate })));
  });
  afterEach(async () => {
    for (const driver of drivers) await driver.close();
  });

  test("tell alike how much is left, whichever of them is asked and whatever it answers", async () => {
    let sent = 0;
    async function ask(operation: "eligibility-check" | "batch", body: unknown, idempotencyKey?: string) {
      const call = { requestId: `r${sent}`, operation, apiKey, idempotencyKey, body };
      const reply = await (servers[sent++ % 2] as Server).send(call);
      return [reply.status, Number((reply as Reply).headers["X-RateLimit-Remaining"])];
    }
    const lacking = () => ask("batch", { items: [question] });
    expect(await lacking()).toEqual([403, 6]);
    expect(await ask("eligibility-check", question, "k")).toEqual([200, 5]);
    expect(await lacking()).toEqual([403, 5]);
    expect(await lacking()).toEqual([403, 5]);
    expect(await ask("eligibility-check", { ...question, purpose: "EMPLOYER_BACKGROUND_CHECK" })).toEqual([
      403, 4,
    ]);
    expect(await ask("eligibility-check", {})).toEqual([400, 3]);
    expect(await ask("eligibility-check", { ...question, context: {} }, "k")).toEqual([422, 2]);
    expect(await ask("eligibility-check", question, "k")).toEqual([200, 1]);
    expect(await lacking()).toEqual([403, 1]);
    expect(await ask("eligibility-check", question)).toEqual([200, 0]);
    for (let times = 0; times < 2; times++)
      expect(await ask("eligibility-check", question)).toEqual([429, 0]);
    for (let times = 0; times < 2; times++) expect(await lacking()).toEqual([403, 0]);
  });
});

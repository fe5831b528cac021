import { expect, test } from "bun:test";
import { runHealthChecks } from "../../src/domain/checks.ts";
import type { TeacherCounts } from "../../src/domain/status.ts";
import { aLog, type Change, checkInput, everythingWrong, hourMs, now } from "../harness/readings.ts";
import { anApiKey, aPartner } from "../harness/samples.ts";

const checked = (change?: Change) => runHealthChecks(checkInput(change));
const notWell = (change: Change) => checked(change).filter(({ result }) => result !== "ok");
const found = (change: Change, name: string) =>
  checked(change)
    .filter((check) => check.name === name)
    .map((check) => `${check.result}: ${check.found}`);

test("each check of a healthy service gives one finding, with the result ok", () => {
  const checks = checked();
  expect(checks.map(({ name, result, found }) => `${result}: ${name}: ${found}`)).toEqual([
    "ok: signing-keys: one active, one pending that may be promoted from 2026-03-02T09:30:00.000Z on",
    "ok: log-checkpoint: 8 leaves, signed at 2026-03-01T08:30:00.000Z",
    "ok: register: 57 of 60 active teachers have a licence; the last extract was applied at 2026-03-01T09:30:00.000Z",
    "ok: import: none is unfinished",
    "ok: losses: imports have taken away little or nothing within 24 hours",
    "ok: webhooks-held: no webhooks are held",
    "ok: webhook-endpoints: no endpoint that should work fails",
    "ok: webhooks: none is overdue, and none was given up",
    "ok: quotas: nobody's quota of today is nearly spent",
    "ok: credentials: no partner's last key or certificate is about to end",
  ]);
  for (const { advice, command } of checks) expect([advice, command]).toEqual([null, null]);
});

test("the health checks find each problem, and report a partner's problem at most as a warning", () => {
  const checks = notWell(everythingWrong);
  expect(checks.map(({ result, name, isUrgent }) => [result, name, isUrgent])).toEqual([
    ["warn", "signing-keys", false],
    ["warn", "log-checkpoint", true],
    ["warn", "import", false],
    ["warn", "losses", true],
    ["warn", "webhook-endpoints", false],
    ["warn", "webhook-endpoints", true],
    ["warn", "webhooks", false],
    ["warn", "webhooks", false],
    ["warn", "quotas", false],
    ["warn", "quotas", true],
  ]);
});

test("the health checks warn of webhooks that have been held since a restore", () => {
  const checks = runHealthChecks({ ...checkInput(), areWebhooksHeld: true });
  const [check] = checks.filter(({ result }) => result !== "ok");
  expect(check).toMatchObject({ name: "webhooks-held", result: "warn", command: ["webhooks", "release"] });
});

const none = { VALID: 0, EXPIRED: 0, NOT_FOUND: 61, REVOKED: 0 };
const counts = (change: Partial<TeacherCounts>) => ({
  ...{ total: 61, active: 60, licensed: 0, approximate: false, byLicenseStatus: none },
  ...change,
});

test("a register in which no active teacher has a licence gets an urgent warning", () => {
  const [check] = notWell({ teachers: counts({}), appliedAt: null });
  expect(check).toMatchObject({
    ...{ name: "register", result: "warn", isUrgent: true },
    found: "0 of 60 active teachers have a licence; no extract was applied",
    advice: expect.stringContaining("the licences' columns"),
  });
  expect(notWell({ teachers: counts({ active: 0 }) })).toEqual([]);
});

test("an empty register gets a warning that mentions --data", () => {
  const [check] = notWell({ teachers: counts({ total: 0, active: 0 }) });
  expect(check).toMatchObject({ result: "warn", advice: expect.stringContaining("--data") });
});

test.each([
  [
    "an old checkpoint if no attestation waits for a newer one",
    { signedAt: now - 24 * hourMs, uncoveredSince: null },
  ],
  [
    "no checkpoint yet if no attestation waits for one",
    { signedSize: 0, signedAt: null, uncoveredSince: null },
  ],
])("the check of the evidence log gives ok for %s", (_, change) => {
  expect(notWell({ log: { ...aLog, ...change } })).toEqual([]);
});

test("a checkpoint that is five minutes overdue gets a warning", () => {
  const log = { ...aLog, uncoveredSince: now - 300_000 };
  expect(found({ log }, "log-checkpoint")).toEqual([
    "warn: the newest checkpoint of the evidence log is late: 8 leaves, signed at 2026-03-01T08:30:00.000Z; 3 more wait for one, for 5 min",
  ]);
  expect(found({ log: { ...log, signedSize: 1, uncoveredSince: null } }, "log-checkpoint")).toEqual([
    "ok: 1 leaf, signed at 2026-03-01T08:30:00.000Z",
  ]);
});

const day = 24 * hourMs;
const key = (keyId: string, endsIn: number | null, more = {}) => ({
  ...anApiKey("body", keyId),
  expiresAt: endsIn === null ? null : now + endsIn * day,
  ...more,
});
const certificate = (fingerprint: string, endsIn: number) => ({
  ...{ partnerId: "body", fingerprint, subject: "CN=a", validFrom: 0, addedAt: 0 },
  validTo: now + endsIn * day,
});
const checkedBy = (
  keys: ReturnType<typeof key>[],
  certificates: ReturnType<typeof certificate>[],
  disabledAt: number | null = null,
) =>
  found(
    {
      credentials: {
        partners: new Map([["body", { ...aPartner("body"), disabledAt }]]),
        apiKeys: new Map(keys.map((one) => [one.keyId, one])),
        certificates: new Map(certificates.map((one) => [one.fingerprint, one])),
      },
    },
    "credentials",
  );
const well = ["ok: no partner's last key or certificate is about to end"];

test("a partner's last key or certificate gets a warning from 14 days before its expiry to 7 days after", () => {
  expect(checkedBy([], [certificate("a", 13)])).toEqual([
    "warn: the last certificate of body ends at 2026-03-14T09:30:00.000Z",
  ]);
  expect(checkedBy([key("a", 1)], [certificate("a", -6)])).toEqual([
    "warn: the last key of body ends at 2026-03-02T09:30:00.000Z",
    "warn: the last certificate of body ended at 2026-02-23T09:30:00.000Z",
  ]);
  for (const days of [15, -8]) expect(checkedBy([key("a", days)], [certificate("a", days)])).toEqual(well);
});

test("an expiring key gets no warning if its partner is disabled or has a key that expires later", () => {
  const replaced = checkedBy([key("old", 1), key("new", null)], [certificate("a", 1), certificate("b", 90)]);
  expect(replaced).toEqual(well);
  expect(checkedBy([key("a", 1)], [], 1)).toEqual(well);
  const isNamed = expect.stringContaining("the last key of body ends");
  expect(checkedBy([key("old", 1), key("gone", null, { revokedAt: 1 })], [])).toEqual([isNamed]);
});

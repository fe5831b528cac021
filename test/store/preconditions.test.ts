import { beforeAll, expect, test } from "bun:test";
import type { Stores } from "../../cli/open.ts";
import type { Attestation, CallCommit } from "../../src/domain/attestations.ts";
import { idempotencyRetentionMs } from "../../src/domain/idempotency.ts";
import { planTeacherWrite } from "../../src/domain/teachers/store.ts";
import type {
  StoredTeacher,
  TeacherContent,
  TeacherPrecondition,
  UniqueKey,
} from "../../src/domain/teachers/teachers.ts";
import { callPreconditions, makeCallWriter } from "../../src/store/calls.ts";
import { bind, type Driver } from "../../src/store/driver/driver.ts";
import { storeCheckedWrites } from "../../src/store/teacher-writes.ts";
import { lagos } from "../harness/clock.ts";
import { describeDrivers } from "../harness/drivers.ts";
import { attest } from "../harness/evidence.ts";
import {
  anApiKey,
  anAttestation,
  aPartner,
  aSigningKey,
  aTeacher,
  aTeacherWrite,
} from "../harness/samples.ts";
import { reportTries } from "../harness/trial.ts";

const at = 1_700_000_000_000;
const aCertificate = {
  fingerprint: "F",
  partnerId: "agency",
  subject: "S",
  validFrom: 1,
  validTo: 2,
  addedAt: 1,
};

/** Tests each precondition of an answer (decision D4.8). */
describeDrivers("an answer's preconditions", (_kind, opened) => {
  let driver: Driver;
  let stores: Stores;
  let serial = 0;

  beforeAll(async () => {
    driver = opened.driver();
    stores = opened.stores();
    await stores.keys.create(aSigningKey("A", "active"), aSigningKey("B", "pending"));
    await stores.partners.add(aPartner("agency"), anApiKey("agency", "k1"));
  });

  /** Counts the rows and the quota that stored answers leave. */
  const left = () =>
    driver.query(`SELECT (SELECT count(*) FROM attestations) AS rows,
      (SELECT coalesce(sum(used), 0) FROM quota_windows) AS used, (SELECT count(*) FROM idempotency) AS kept`);

  const anAnswer = (count = 1): Attestation[] =>
    Array.from({ length: count }, () => anAttestation(++serial, { partnerId: `partner-${serial}` }));

  test("a call is refused if one precondition fails, even if all others hold", async () => {
    const teacher = await put("G/1/A/1");
    const other = { by: "regNo", value: "G/1/A/1" } as const;
    const starts = { minute: 1_800_000, day: 86_400_000 };
    const charge = { partnerId: "guarded", starts, calls: 1, limits: { minute: 5, day: 5 } };
    const kept = { id: new Uint8Array(32).fill(66), fingerprint: new Uint8Array(32), headers: {}, body: "b" };
    await attest(driver, anAnswer(), { idempotency: { ...kept, createdAt: at } });
    const broken: Record<keyof typeof callPreconditions, Partial<CallCommit>> = {
      revision: { revision: (await revision()) - 1 },
      record: { read: [{ id: teacher.id, version: teacher.version + 1 }] },
      nobody: { read: [other] },
      minute: { charge: { ...charge, limits: { minute: 0, day: 5 } } },
      day: { charge: { ...charge, limits: { minute: 5, day: 0 } } },
      idempotency: { idempotency: { ...kept, createdAt: at + 1 } },
    };
    reportTries({ preconditions: Object.keys(broken).length });
    for (const [name, changes] of Object.entries(broken)) {
      expect([name, await attest(driver, anAnswer(), changes)]).toEqual([name, null]);
      const without = makeCallWriter({ ...callPreconditions, [name]: () => true });
      expect([name, await attest(driver, anAnswer(), changes, without)]).toEqual([name, expect.anything()]);
    }
    await driver.batch([bind("DELETE FROM idempotency")]);
  });

  async function isStored(changes: Partial<CallCommit>, answers = anAnswer()): Promise<boolean> {
    const before = await left();
    const used = await attest(driver, answers, changes);
    if (used === null) expect(await left()).toEqual(before);
    else expect(await left()).not.toEqual(before);
    return used !== null;
  }

  const revision = () => stores.settings.revision();

  async function put(regNo: string, changes: Partial<TeacherContent> = {}): Promise<StoredTeacher> {
    const { teachers } = stores;
    const before = await teachers.findStored({ by: "regNo", value: regNo });
    const content = { ...aTeacher(regNo), ...before, ...changes };
    expect(await teachers.apply([planTeacherWrite(before, content, how)])).toEqual([true]);
    const stored = await teachers.findStored({ by: "regNo", value: regNo });
    if (stored === null) throw new Error("not stored");
    return stored;
  }

  // The changes run in this order: the rotation makes key B active, and then key B is compromised.
  test("a call is refused if the configuration changed after its authentication", async () => {
    const { partners, keys } = stores;
    const [next, third] = [aSigningKey("C", "pending"), aSigningKey("D", "pending")];
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      "a setting": () => stores.settings.write({ time_zone: "Africa/Accra" }),
      "a partner": () => partners.update({ partnerId: "agency", perMinute: 4 }),
      "a partner who is disabled": () => partners.disable("agency", 1),
      "a key that is revoked": () => partners.revokeKey("k1", 1),
      "a further key": () => partners.addKey(anApiKey("agency", "k2"), { shortened: null, maxLive: 2 }),
      "a certificate": () => partners.addCertificate(aCertificate),
      "a certificate that is removed": () => partners.removeCertificate("agency", "F"),
      "a rotation": () => keys.rotate({ active: "A", pending: "B", next, at }),
      "a compromise": () => keys.compromise({ kid: "B", since: at, at, next: third }),
    };
    for (const [what, change] of Object.entries(changes)) {
      const answeredBy = await revision();
      expect([what, await isStored({ revision: answeredBy })]).toEqual([what, true]);
      await change();
      expect([what, await isStored({ revision: answeredBy })]).toEqual([what, false]);
      expect([what, await isStored({ revision: await revision() })]).toEqual([what, true]);
    }
  });

  const how = { action: "import", actor: "test", calendar: lagos, at } as const;

  async function importName(read: StoredTeacher): Promise<void> {
    const write = { ...planTeacherWrite(read, { ...read, name: "Other" }, how), changed: ["name"] as const };
    await driver.write((tx) => storeCheckedWrites(tx, [write]));
  }

  const ways: [string, (read: StoredTeacher) => Promise<unknown>][] = [
    ["a command", (read) => put(read.regNo, { licenseRevokedOn: "2026-01-01" })],
    ["the hiding of a teacher", (read) => put(read.regNo, { hidden: true })],
    ["an import", importName],
    [
      "the sweep",
      (read) => stores.teachers.apply([planTeacherWrite(read, read, { ...how, action: "sweep" })]),
    ],
  ];

  test.each(ways)(
    "an answer is refused if %s changes the teacher's record before the commit",
    async (what, change) => {
      const { regNo } = await put(`R/${what.length}/A/1`);
      const stored = await put(regNo);
      const found = await stores.teachers.find({ by: "regNo", value: regNo });
      if (found === null) throw new Error("not found");
      const { id, version } = found;
      expect(version).toBe(stored.version);
      expect(await isStored({ read: [{ id, version }] })).toBe(true);
      await change(stored);
      expect(await isStored({ read: [{ id, version }] })).toBe(false);
      expect(await isStored({ read: [{ id, version: version + 1 }] })).toBe(true);
    },
  );

  test("an answer that found nobody is refused if a hidden teacher with that number becomes visible", async () => {
    const [regNo, other] = ["H/1/A/1", "H/1/A/2"];
    const nin = new Uint8Array(16).fill(78);
    await put(regNo, { hidden: true, tId: 990_101, ninIndex: nin });
    const nobody: UniqueKey[] = [
      ...[regNo, other].map((value) => ({ by: "regNo" as const, value })),
      { by: "tId", value: 990_101 },
      { by: "nin", value: nin },
    ];
    const readings = [...nobody.filter((key) => key.value !== other).map((key) => [key]), nobody];
    for (const read of readings) expect(await isStored({ read })).toBe(true);
    await put(regNo, { hidden: false });
    for (const read of readings) expect(await isStored({ read })).toBe(false);
  });

  test("an idempotency key can be used again if its answer expired or was signed by a compromised key", async () => {
    const keyed = { id: new Uint8Array(32).fill(3), fingerprint: new Uint8Array(32), headers: {} };
    const record = (createdAt: number, body: string) => ({ idempotency: { ...keyed, createdAt, body } });
    const kept = async () => (await driver.query("SELECT body FROM idempotency")).map(({ body }) => body);
    expect(await isStored(record(at, "first"))).toBe(true);
    expect(await isStored(record(at + idempotencyRetentionMs, "second"))).toBe(false);
    expect(await kept()).toEqual(["first"]);
    const later = await attest(driver, anAnswer(), record(at + idempotencyRetentionMs + 1, "third"));
    expect([later !== null, await kept()]).toEqual([true, ["third"]]);
    const lose = `INSERT INTO signing_keys (kid, state, public_jwk, created_at, published_at)
      VALUES ('lost', 'compromised', '{}', 1, 1)`;
    await driver.batch([bind(lose), bind("UPDATE idempotency SET kid = 'lost'")]);
    const again = await attest(driver, anAnswer(), record(at + idempotencyRetentionMs + 2, "fourth"));
    expect([again !== null, await kept()]).toEqual([true, ["fourth"]]);
    const { find, prune } = stores.idempotencyStore;
    const [last, fourth] = [
      at + idempotencyRetentionMs + 2,
      record(at + idempotencyRetentionMs + 2, "fourth"),
    ];
    expect(await find(fourth.idempotency.id)).toEqual(fourth.idempotency);
    expect(await find(new Uint8Array(32))).toBeNull();
    expect([await prune(last, 9), await prune(last + 1, 0), (await kept()).length]).toEqual([0, 0, 1]);
    expect([await prune(last + 1, 9), await kept()]).toEqual([1, []]);
  });

  test("a batch of a hundred answers is stored as a whole, or not at all if one record changed", async () => {
    const { teachers } = stores;
    const known = Array.from({ length: 60 }, (_, n) => `B/1/A/${n}`);
    await teachers.apply(known.map((regNo) => aTeacherWrite(regNo)));
    const absent = Array.from({ length: 20 }, (_, n) => `B/2/A/${n}`);
    const ninIndexes = Array.from({ length: 10 }, (_, n) => new Uint8Array(16).fill(100 + n));
    const keys: UniqueKey[] = [
      ...[...known, ...absent].map((value): UniqueKey => ({ by: "regNo", value })),
      ...Array.from({ length: 10 }, (_, n): UniqueKey => ({ by: "tId", value: 880_000 + n })),
      ...ninIndexes.map((value): UniqueKey => ({ by: "nin", value })),
    ];
    const read = async (): Promise<TeacherPrecondition[]> =>
      (await teachers.findEach(keys)).map((one, index) => one ?? (keys[index] as UniqueKey));
    const limits = { minute: 1_000, day: 1_000 };
    const charge = { partnerId: "batches", starts: { minute: 600_000, day: 0 }, calls: 100, limits };
    const answers = anAnswer(100);
    expect(await attest(driver, answers, { read: await read(), charge })).toEqual({ minute: 100, day: 100 });
    const ids = JSON.stringify(answers.map(({ verificationId }) => verificationId));
    const sql = "SELECT 1 FROM attestations WHERE verification_id IN (SELECT value FROM json_each(?))";
    expect(await driver.query(sql, [ids])).toHaveLength(100);
    for (const [regNo, changes] of [
      ["B/1/A/59", { name: "Other" }],
      ["B/2/A/19", {}],
      ["B/3/A/1", { tId: 880_009 }],
      ["B/3/A/2", { ninIndex: ninIndexes.at(-1) ?? null }],
    ] as const) {
      const before = await read();
      expect(await isStored({ read: before }, anAnswer(100))).toBe(true);
      await put(regNo, changes);
      expect(await isStored({ read: before }, anAnswer(100))).toBe(false);
    }
  });
});

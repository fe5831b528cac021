import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { withinOneSecond } from "../harness/eventually.ts";
import { patienceMs } from "../harness/program.ts";
import { counts, createImporter, type Importer, isFound, numbersOf } from "./importer.ts";
import { columns, csv, day, type Row, teacher } from "./registry.ts";

setDefaultTimeout(patienceMs);

let importer: Importer;

beforeAll(async () => {
  importer = await createImporter();
});

afterAll(() => importer?.world.end());

describe("counts", () => {
  test("of a first import, of the same again, and of a change", async () => {
    const rows = [importer.fresh(), importer.fresh(), importer.fresh({ certificate_status: "CLAIMED" })];
    const first = await importer.importRows(rows);
    expect(first.code).toBe(0);
    expect(Object.keys(first.report)).toEqual(expect.arrayContaining(["file", "sha256", ...counts]));
    const expected = { rows: 3, inserted: 3, updated: 0, unchanged: 0, rejected: 0, warnings: 0, events: 5 };
    expect(numbersOf(first)).toEqual(expected);
    expect(first.report.sha256).toBe(new Bun.CryptoHasher("sha256").update(csv(rows)).digest("hex"));

    const again = await importer.importRows(rows);
    expect(again.code).toBe(0);
    expect(numbersOf(again)).toEqual({ ...expected, inserted: 0, unchanged: 3, events: 0 });

    const [one, ...others] = rows as [Row, ...Row[]];
    const changed = await importer.importRows([{ ...one, state: "Kano" }, ...others]);
    expect(numbersOf(changed)).toEqual({ ...expected, inserted: 0, updated: 1, unchanged: 2, events: 0 });
    expect((await importer.find(one.reg_no, ({ state }) => state === "Kano")).state).toBe("Kano");
  });

  test("a baseline tells partners nothing", async () => {
    const { code, report } = await importer.importRows([importer.fresh(), importer.fresh()], "--baseline");
    expect(code).toBe(0);
    expect(report).toMatchObject({ inserted: 2, events: 0 });
  });

  test("people see the same figures", async () => {
    const path = await importer.world.file("people.csv", csv([importer.fresh(), importer.fresh()]));
    const { code, stdout } = await importer.world.tvs("teachers", "import", path);
    expect(code).toBe(0);
    expect(stdout).toMatch(/inserted\D+2\b/);
  });

  test("a dry run says what would be, and changes nothing", async () => {
    const row = importer.fresh();
    const dry = await importer.importRows([row], "--dry-run");
    expect(dry.code).toBe(0);
    expect(numbersOf(dry)).toMatchObject({ rows: 1, inserted: 1, rejected: 0 });
    expect((await importer.find(row.reg_no)).found).toBe(false);
    expect(numbersOf(await importer.importRows([row]))).toMatchObject({ inserted: 1 });
  });
});

describe("what a serving process sees", () => {
  test("a new teacher, a change and an end, at once", async () => {
    const row = importer.fresh();
    expect((await importer.find(row.reg_no)).found).toBe(false);
    await importer.importRows([row]);
    expect(await withinOneSecond(async () => (await importer.licenseOf(row.reg_no)) === "VALID")).toBe(true);
    await importer.importRows(
      [{ ...row, license_revoked_on: day(0), license_revoked_reason: "test" }],
      "--allow-change",
    );
    expect(await withinOneSecond(async () => (await importer.licenseOf(row.reg_no)) === "REVOKED")).toBe(
      true,
    );
    await importer.importRows([row], "--allow-change");
    expect(await withinOneSecond(async () => (await importer.licenseOf(row.reg_no)) === "VALID")).toBe(true);
  });

  test("an empty cell clears a member, an absent column leaves it, a row left out changes nothing", async () => {
    const [one, other] = [importer.fresh({ t_id: "5550001" }), importer.fresh()];
    await importer.importRows([one, other]);
    await importer.importRows([{ ...one, state: "" }]);
    const cleared = await importer.find(one.reg_no, ({ found, state }) => found && state === null);
    expect(cleared).toMatchObject({ state: null, tId: "5550001" });
    const without = columns.filter((column) => column !== "category" && column !== "t_id");
    const { code } = await importer.importText(csv([{ ...one, state: "Edo" }], without), "--allow-change");
    expect(code).toBe(0);
    expect(await importer.find(one.reg_no, ({ state }) => state === "Edo")).toMatchObject({
      state: "Edo",
      tId: "5550001",
      teacher: { category: "Secondary" },
    });
    expect((await importer.find(other.reg_no, isFound)).found).toBe(true);
  });

  test("contacts and NINs that are cleared lead to nobody any more", async () => {
    const row = importer.fresh({
      nin: importer.freshNin(),
      email: `t${importer.next()}@example.com`,
      phone: `+23480355${10_000 + importer.next()}`,
    });
    await importer.importRows([row]);
    for (const term of [row.nin, row.email, row.phone])
      expect((await importer.find(term ?? "", isFound)).found).toBe(true);
    await importer.importRows([{ ...row, nin: "", email: "", phone: "" }]);
    for (const term of [row.nin, row.email, row.phone])
      expect((await importer.find(term ?? "", ({ found }) => !found)).found).toBe(false);
  });

  test("a number in another spelling is the same teacher", async () => {
    const row = importer.fresh();
    await importer.importRows([row]);
    const spelled = { ...row, reg_no: ` ${row.reg_no.toLowerCase().replaceAll("/", " / ")}` };
    expect(numbersOf(await importer.importRows([spelled]))).toMatchObject({ inserted: 0, unchanged: 1 });
  });
});

describe("events", () => {
  const never = { license_issue_date: "", license_expiry_date: "" };
  const expired = { license_issue_date: day(-900), license_expiry_date: day(-2) };
  const revoked = { license_revoked_on: day(-1), license_revoked_reason: "test" };
  const valid = {};

  /** The table of decision D7.5: how many events a change of one record causes. */
  const changes: [string, Partial<Row>, Partial<Row>, number][] = [
    ["NOT_FOUND to VALID", never, valid, 1],
    ["EXPIRED to VALID", expired, valid, 1],
    ["REVOKED to VALID", revoked, valid, 1],
    ["VALID to EXPIRED", valid, expired, 1],
    ["REVOKED to EXPIRED", revoked, expired, 1],
    ["VALID to REVOKED", valid, revoked, 1],
    ["EXPIRED to REVOKED", expired, { ...expired, ...revoked }, 1],
    ["VALID to NOT_FOUND", valid, never, 0],
    ["NOT_FOUND to EXPIRED", never, expired, 0],
    ["certificate to VERIFIED", { certificate_status: "CLAIMED" }, valid, 1],
    ["certificate VERIFIED to CLAIMED", valid, { certificate_status: "CLAIMED" }, 1],
    [
      "certificate CLAIMED to LEGACY_RECORD",
      { certificate_status: "CLAIMED" },
      { certificate_status: "LEGACY_RECORD" },
      0,
    ],
    ["licence and certificate", { ...expired, certificate_status: "CLAIMED" }, valid, 2],
    ["deactivation, alone", valid, { active: "false", certificate_status: "CLAIMED" }, 1],
    ["reactivation with a VALID licence", { active: "false" }, valid, 1],
    ["reactivation without", { ...never, active: "false" }, never, 0],
    ["a name", valid, { name: "Another Name" }, 0],
  ];
  const regNos = new Map<string, string>();

  beforeAll(async () => {
    for (const [name] of changes) regNos.set(name, importer.freshRegNo());
    await importer.importRows(changes.map(([name, before]) => teacher(regNos.get(name) ?? "", before)));
  });

  test.each(changes)("%s", async (name, _before, after, events) => {
    const changed = await importer.importRows([teacher(regNos.get(name) ?? "", after)], "--allow-change");
    expect(changed.code).toBe(0);
    expect(changed.report).toMatchObject({ updated: 1, events });
  });
});

import { beforeAll, describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { untilAnswer, withinOneSecond } from "../harness/eventually.ts";
import type { Envelope, ImportReport, License, PublicAnswer } from "./contract.ts";
import { type Column, columns, csv, day, type Row, teacher } from "./registry.ts";
import { type Partner, readJson, sharedWorld } from "./world.ts";

// They look a person up until a change is seen, and soon more often than the public may.
const world = sharedWorld({ rows: [], args: ["--public-per-minute", "100000"] });
let partner: Partner;
let numbers = 0;

beforeAll(async () => {
  partner = await world.partner();
});

/** A number that no other row of this file has. */
const next = () => ++numbers;
const freshRegNo = () => `IM/PT/2024/${String(next()).padStart(5, "0")}`;
const fresh = (changes: Partial<Row> = {}): Row => teacher(freshRegNo(), changes);
const freshNin = () => String(60_000_000_000 + next());

/** Whatever the last one had: each has its own few rows. */
async function importFile(path: string, ...words: string[]) {
  const told = ["teachers", "import", path, "--allow-change", "--json", ...words];
  const { code, stdout, stderr } = await world.tvs(...told);
  return { code, stdout, stderr, report: JSON.parse(stdout) as ImportReport };
}

const importText = async (text: string, ...words: string[]) =>
  importFile(await world.file(`extract-${crypto.randomUUID()}.csv`, text), ...words);
const importRows = (rows: readonly Row[], ...words: string[]) => importText(csv(rows), ...words);

async function lookUp(term: string): Promise<PublicAnswer> {
  return readJson(await world.get(`/teacher/verify-license?searchTerm=${encodeURIComponent(term)}`));
}

/** The public look-up, until it answers as is waited for. */
const find = (term: string, isIt: (answer: PublicAnswer) => boolean) => untilAnswer(() => lookUp(term), isIt);
const isFound = ({ found }: PublicAnswer) => found;

/** Whether a check says so of the licence within the second that D1.4 promises. */
function licenseBecomes(regNo: string, status: License["status"]): Promise<boolean> {
  return withinOneSecond(async () => {
    const { result } = await readJson<Envelope>(await partner.check({ regNo }));
    return result.license?.status === status;
  });
}

describe("counts", () => {
  test("of a first import, of the same again, and of a change", async () => {
    const rows = [fresh(), fresh(), fresh({ certificate_status: "CLAIMED" })];
    const first = await importRows(rows);
    const expected = { rows: 3, inserted: 3, updated: 0, unchanged: 0, rejected: 0, warnings: 0, events: 5 };
    expect([first.code, first.report]).toEqual([0, expect.objectContaining(expected)]);
    expect(Object.keys(first.report)).toEqual(expect.arrayContaining(["file", "sha256"]));
    expect(first.report.sha256).toBe(new Bun.CryptoHasher("sha256").update(csv(rows)).digest("hex"));

    const again = await importRows(rows);
    expect(again.code).toBe(0);
    expect(again.report).toMatchObject({ ...expected, inserted: 0, unchanged: 3, events: 0 });

    const [one, ...others] = rows as [Row, ...Row[]];
    const changed = await importRows([{ ...one, state: "Kano" }, ...others]);
    expect(changed.report).toMatchObject({ ...expected, inserted: 0, updated: 1, unchanged: 2, events: 0 });
    expect((await find(one.reg_no, ({ state }) => state === "Kano")).state).toBe("Kano");
  });
});

describe("what a serving process sees", () => {
  test("a new teacher, a change and an end, at once", async () => {
    const row = fresh();
    expect((await lookUp(row.reg_no)).found).toBe(false);
    await importRows([row]);
    expect(await licenseBecomes(row.reg_no, "VALID")).toBe(true);
    const revoked = { license_revoked_on: day(0), license_revoked_reason: "test" };
    await importRows([{ ...row, ...revoked }]);
    expect(await licenseBecomes(row.reg_no, "REVOKED")).toBe(true);
    await importRows([row]);
    expect(await licenseBecomes(row.reg_no, "VALID")).toBe(true);
  });

  test("an empty cell clears a member, an absent column leaves it, a row left out changes nothing", async () => {
    const [one, other] = [fresh({ t_id: "5550001" }), fresh()];
    await importRows([one, other]);
    await importRows([{ ...one, state: "" }]);
    const cleared = await find(one.reg_no, ({ found, state }) => found && state === null);
    expect(cleared).toMatchObject({ state: null, tId: "5550001" });
    const without = columns.filter((column) => column !== "category" && column !== "t_id");
    const { code } = await importText(csv([{ ...one, state: "Edo" }], without));
    expect(code).toBe(0);
    expect(await find(one.reg_no, ({ state }) => state === "Edo")).toMatchObject({
      state: "Edo",
      tId: "5550001",
      teacher: { category: "Secondary" },
    });
    expect((await find(other.reg_no, isFound)).found).toBe(true);
  });

  test("contacts and NINs that are cleared lead to nobody any more", async () => {
    const contacts = {
      nin: freshNin(),
      email: `t${next()}@example.com`,
      phone: `+23480355${10_000 + next()}`,
    };
    const row = fresh(contacts);
    await importRows([row]);
    for (const term of Object.values(contacts)) await find(term, isFound);
    await importRows([{ ...row, nin: "", email: "", phone: "" }]);
    for (const term of Object.values(contacts)) await find(term, ({ found }) => !found);
  });

  test("of NDJSON, the profile too", async () => {
    const regNo = freshRegNo();
    const profile = {
      qualifications: [{ title: "B.Ed.", institution: "University of Lagos", year: 2010 }],
      employment: [{ employer: "Model College", role: "Teacher", from: "2011-09-01", to: null }],
    };
    const line = {
      regNo,
      name: "Profile Teacher",
      source: "new_system",
      ninVerified: true,
      certificateStatus: "VERIFIED",
      licenseIssueDate: day(-10),
      licenseExpiryDate: day(10),
      profile,
    };
    const path = await world.file("extract.ndjson", `${JSON.stringify(line)}\n`);
    const { code, report } = await importFile(path);
    expect([code, report.rejected]).toEqual([0, 0]);
    const { result } = await readJson<Envelope>(await partner.check({ regNo }));
    expect(result.profile).toStrictEqual({ ninVerified: true, ...profile });
  });
});

test("a rejected row has its line, field and code in the report, never its value; the others are taken", async () => {
  const secret = "SECRET7";
  const faults: [Partial<Row>, Column][] = [
    [{ reg_no: `${secret}/PT/2024` }, "reg_no"],
    [{ t_id: secret }, "t_id"],
    [{ nin: "6123456789" }, "nin"],
    [{ nin: "7.01E+10" }, "nin"],
    [{ license_expiry_date: "31/12/2030" }, "license_expiry_date"],
  ];
  const good = faults.map(() => fresh({ name: 'Ade "Bayo", Jr.' }));
  const bad = faults.map(([changes]): Row => ({ ...fresh(), ...changes }));
  const reportFile = join(world.dataDir, "..", "report.json");
  // With a BOM and Windows line ends, as a spreadsheet writes it.
  const text = `\uFEFF${csv(bad.flatMap((row, at) => [row, good[at] as Row])).replaceAll("\n", "\r\n")}`;
  const { code, report, stdout, stderr } = await importText(text, "--report", reportFile);
  const counted = { rows: 2 * faults.length, inserted: faults.length, rejected: faults.length };
  expect([code, report]).toEqual([1, expect.objectContaining(counted)]);
  const told = await readFile(reportFile, "utf8");
  const { rejected } = JSON.parse(told) as { rejected: { line: number; field: string; code: string }[] };
  // Each fault stands on its own line, the header being 1, with a good row behind it.
  expect(rejected.map(({ line, field }) => [line, field])).toEqual(
    faults.map(([, field], at) => [2 + 2 * at, field]),
  );
  for (const one of rejected) expect(one.code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
  const everything = (stdout + stderr + told).replaceAll(report.file, "");
  for (const value of faults.flatMap(([changes]) => Object.values(changes)))
    expect(everything).not.toContain(value);
  for (const { reg_no, name } of good) expect((await find(reg_no, isFound)).name).toBe(name);
});

test("a file that is none, or not there, could not be read: exit code 2 and one line", async () => {
  const empty = await world.file("empty.csv", "");
  for (const path of [empty, "/no/such/extract.csv", world.dataDir]) {
    const { code, stderr } = await world.tvs("teachers", "import", path);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^[^\n]+\n$/) });
  }
});

import { beforeAll, describe, expect, test } from "bun:test";
import { untilAnswer, withinOneSecond } from "../harness/eventually.ts";
import type { Envelope, ImportReport, License, PublicAnswer } from "./contract.ts";
import { csv, day, type Row, teacher } from "./registry.ts";
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
});

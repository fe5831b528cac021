import { expect, test } from "bun:test";
import { makeStoredRequestContext } from "../../src/domain/attestations.ts";
import { checkPartnerChange } from "../../src/domain/partners.ts";
import { asciiDigitsOf, holdsPersonalData, redactPersonalData } from "../../src/domain/personal-data.ts";
import { checkChangeReason } from "../../src/domain/teachers/changes.ts";
import { csv, row, withImports, withoutRegNo } from "../harness/imports.ts";

/** Writes a number in the digits of another script, whose digit zero has the code point `zero`. */
const written = (number: string, zero: number) =>
  [...number].map((char) => (/\d/.test(char) ? String.fromCodePoint(zero + Number(char)) : char)).join("");

// biome-ignore format: a list reads better in rows
const nins = [
  "99900000001", "NIN99900000001x", "999 0000 0001", "999-0000-0001", "999.0000.0001", "999/0000/0001",
  "999_000_000_01", "(999) 00000001", "[999] 0000 [0001]", "999\u00a00000\u20110001",
  "999\u20130000\u20140001", "999\u200b0000\u00ad0001", "9 9 9 0 0 0 0 0 0 0 1", "99,900,000,001",
  "999\u20190000\u20190001", "2026-999-0000-0001", "123-4567-1999", "1234.567.2001", "2019-4567-890",
];
// biome-ignore format: a list reads better in rows
const phones = [
  "08031234567", "8031234567", "+2348031234567", "2348031234567", "+234 (0) 803-123-4567", "(0803) 123 4567",
  "803 123 4567", "234/803/123/4567", "0803 - 123 - 4567", "0803 123 4567 / 0805 765 4321",
  "+44 20 7946 0958", "0044 20 7946 0958", "+1 (555) 010-9999", "0803-123-2019", "0803.456.1987",
  "0803-2019-567", "803-123-1998", "234-803-123-2019", "234 803 123-1999",
];
const scripts: [string, number][] = [
  ["full-width", 0xff10],
  ["Arabic-Indic", 0x0660],
  ["Persian", 0x06f0],
  ["N'Ko", 0x07c0],
  ["Devanagari", 0x0966],
  ["Adlam", 0x1e950],
  ["mathematical bold", 0x1d7ce],
];
const addresses = ["ada@example.org", "ada\uff20example.org", "ada\ufe6bexample", '"ada obi"@example.org'];

// biome-ignore format: a list reads better in rows
const harmless = [
  "", "TR/2019/LA/000001", "LA/2019/PRI/04417", "2026-01-31", "31/12/2019", "31/12/2019 123",
  "2026-01-31 12:30", "2026-01-31T12:30:00Z", "2019-01-01/2020-12-31", "2019-2020", "2015/2016/2017",
  "session 2019/2020, batch 123", "Decision 2026/14 of the disciplinary board", "NTC/2026/14/00012",
  "FCT/0803/123/2019", "2019-12-31 123", "EX-2026-000417", "1,500,000.00", "rooms 101, 102, 103, 104",
  "0198f3c2-7a10-7e55-9c3d-1b2a3f4e5d6c", "A1B2C345-6789-4012-9ABC-123456789012",
  "4bf92f35-7712-3456-8901-a3ce929d0e0e", "Adékúnlé Ọlọ́run-Ṣẹ̀yẹ O’Neil",
];

test.each([...nins, ...phones, ...addresses])("%s is recognised as personal data", (text) => {
  expect(holdsPersonalData(text)).toBe(true);
  expect(redactPersonalData(text)).not.toMatch(/\p{Nd}{2}|example/u);
  expect(holdsPersonalData(`see ${text}, please`)).toBe(true);
});

test.each(scripts)("personal data is recognised in digits of the script %s", (_name, zero) => {
  for (const text of [...nins, ...phones]) expect(holdsPersonalData(written(text, zero))).toBe(true);
  expect(asciiDigitsOf(written("0123456789", zero))).toBe("0123456789");
  for (const text of ["2026-01-31", "2019/2020", "NTC/2026/14/00012", "31/12/2019 123"])
    expect(holdsPersonalData(written(text, zero))).toBe(false);
});

test.each(["①②③④⑤⑥⑦⑧⑨⓪①", "⁹⁹⁹ ⁰⁰⁰⁰ ⁰⁰⁰¹", "9\ufe0f\u20e39\ufe0f\u20e39 0000 0001"])(
  "personal data is recognised in characters that NFKC turns into digits: %s",
  (text) => expect(holdsPersonalData(text)).toBe(true),
);

test.each(harmless)("%j is not mistaken for personal data", (text) => {
  expect(redactPersonalData(text)).toBe(text);
});

const spellings = ["999/0000/0001", "999_000_000_01", written("99900000001", 0xff10), "+234 803 123 4567"];

test("rows of an extract with personal data in a text are rejected and not stored", () =>
  withImports(async ({ add, everything }) => {
    const [text = ""] = spellings;
    const fields = ["name", "state", "category", "license_revoked_reason"] as const;
    const bad = fields.map((field, n) => row(n, { license_revoked_on: "2026-01-01", [field]: `of ${text}` }));
    const { report, inserted } = await add(csv(bad));
    expect(inserted).toBe(0);
    const found = fields.map((field, n) => ({ line: n + 2, field, code: "PERSONAL_DATA" }));
    expect(report.rejected.map(withoutRegNo)).toEqual(found);
    const profile = { employment: [{ employer: `school ${text}` }] };
    const { reg_no: regNo, name } = row(9) as { reg_no: string; name: string };
    const member = { regNo, name, source: "legacy", certificateStatus: "CLAIMED", profile };
    const json = await add(`${JSON.stringify(member)}\n`, { name: "a.ndjson" });
    const invalid = { line: 1, field: "profile", code: "PROFILE_INVALID" };
    expect(json.report.rejected.map(withoutRegNo)).toEqual([invalid]);
    expect(everything()).not.toContain(text);
  }));

test.each(spellings)(
  "%s is removed from a call's context, and refused in the reason of a change and in a partner's name",
  (text) => {
    expect(makeStoredRequestContext({ correlationId: `of ${text}` })).toBe(
      '{"correlationId":"of [removed]"}',
    );
    const usage = expect.objectContaining({ code: "USAGE" });
    expect(() => checkChangeReason(`decision on ${text}`)).toThrow(usage);
    expect(() => checkPartnerChange({ name: `Agency ${text}` })).toThrow(usage);
  },
);

import { expect, test } from "bun:test";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import {
  canonicalizePhone,
  correctTypingErrors,
  guessRegNo,
  isPersonalTerm,
  searchKeysOf,
  searchTermKindOf,
} from "../../../src/domain/teachers/search-term.ts";
import { canonicalizeRegNo, maxTeacherId, type TeacherKey } from "../../../src/domain/teachers/teachers.ts";
import { seededNumbers } from "../../harness/random.ts";

const index = createBlindIndex(new Uint8Array(32).fill(9));
const nin = (value: string): TeacherKey => ({ by: "nin", value: index.nin(value) });
const email = (value: string): TeacherKey => ({ by: "email", value: index.email(value) });
const phone = (value: string): TeacherKey => ({ by: "phone", value: index.phone(value) });
const tId = (value: number): TeacherKey => ({ by: "tId", value });
const regNo = (value: string): TeacherKey => ({ by: "regNo", value });

test.each<[string, TeacherKey[]]>([
  ["ada@example.com", [email("ada@example.com")]],
  ["ADA@Example.COM", [email("ada@example.com")]],
  ["a/b@c/d", [email("a/b@c/d")]],
  ["12345678901@example.com", [email("12345678901@example.com")]],
  ["la/2019/pri/04417", [regNo("LA/2019/PRI/04417")]],
  ["LA / 2019 / PRI / 04417", [regNo("LA/2019/PRI/04417")]],
  ["1/2/3/4", [regNo("1/2/3/4")]],
  ["LA/2019/PRI", []],
  ["LA/2019/PRI/\u0000", []],
  ["12345678901", [nin("12345678901"), phone("+23412345678901"), tId(12_345_678_901)]],
  ["08031234567", [nin("08031234567"), phone("+2348031234567")]],
  ["23480312345", [nin("23480312345"), phone("+23423480312345"), tId(23_480_312_345)]],
  ["2348031234567", [phone("+2348031234567")]],
  ["+2348031234567", [phone("+2348031234567")]],
  ["+234 803 123 4567", [phone("+2348031234567")]],
  ["0803-123-4567", [phone("+2348031234567")]],
  ["+442079460958", [phone("+442079460958")]],
  ["234567", [tId(234_567)]],
  ["234", [tId(234)]],
  ["204417", [tId(204_417)]],
  ["1", [tId(1)]],
  ["0", [tId(0)]],
  [String(maxTeacherId), [tId(maxTeacherId)]],
  ["9007199254740992", []],
  ["99999999999999999999", []],
  ["+12", []],
  ["-5", []],
  ["1e3", []],
  ["0x10", []],
  ["12.0", []],
  ["1234567890１", [nin("12345678901"), phone("+23412345678901"), tId(12_345_678_901)]],
  ["Ada Obi", []],
  ["", []],
])("the search term %j is looked up by the expected keys, in the expected order", (term, keys) => {
  expect(searchKeysOf(term, index)).toEqual(keys);
});

test("a very long search term finds nobody, and is not hashed", () => {
  const longest = `${"a".repeat(308)}@example.com`;
  expect(searchKeysOf(longest, index)).toHaveLength(1);
  expect(searchKeysOf(`a${longest}`, index)).toEqual([]);
  expect(searchKeysOf("1".repeat(100_000), index)).toEqual([]);
});

test("canonicalizePhone gives the same result as the phone number library", () => {
  const differing = randomNumbers(40_000).filter((text) => canonicalizePhone(text) !== phoneByLibrary(text));
  expect(differing).toEqual([]);
});

function phoneByLibrary(text: string): string | null {
  const international = /^234\d{10}$/.test(text) ? `+${text}` : text;
  const parsed = parsePhoneNumberFromString(international, { defaultCountry: "NG", extract: false });
  return parsed?.isPossible() ? parsed.number : null;
}

/** Makes numbers of all lengths and countries, with and without separators, from a fixed seed. */
function randomNumbers(count: number): string[] {
  const below = seededNumbers(20_261_122);
  const oneOf = (texts: readonly string[]) => texts[below(texts.length)] as string;
  const beginnings = ["", ..."0 00 009 234 +234 2340 +2340 + +44 +1 0234 1 7".split(" ")];
  const between = ["", "", "", "", "", "", " ", "-", ".", "(", ")", "/", "+", "x", "\u0660", "\n", "\u200b"];
  const separated = ["", "", "", "", "", "", "", ...between];
  return Array.from({ length: count }, () => {
    const isBare = below(3) > 0;
    const digits = Array.from({ length: 4 + below(10) }, () =>
      isBare ? String(below(10)) : below(10) + oneOf(separated),
    );
    return oneOf(beginnings) + digits.join("");
  });
}

test("searchTermKindOf and the lookup keys agree on the kind of every search term", () => {
  expect(searchTermKindOf("TR-2019-LA-000001")).toBe("regNo");
  const pieces = ["", "0", "1", "234", "+234", "803", "1234567", "/", "a", "@", " ", "9007199254740992"];
  const terms = pieces.flatMap((one) => pieces.flatMap((two) => pieces.map((three) => one + two + three)));
  for (const term of terms) {
    const keys = searchKeysOf(term, index);
    const kind = searchTermKindOf(term);
    expect([term, kind === null]).toEqual([term, keys.length === 0]);
    if (kind === "tId" || kind === "regNo") expect(keys.map(({ by }) => by)).toEqual([kind]);
    if (kind === "email" || kind === "phone") expect(keys.map(({ by }) => by)).toContain(kind);
  }
});

const numbers = [
  "LA / 2019 / 08031234567 / 1",
  "TR-2019-LA-000001",
  ..."LA/2019/PRI/04417 204417 23456789 0 1".split(" "),
];
const inGroups = ["٩٩٩٠٠٠٠٠٠٠١", "999 000 000 01", "99900000001.", "०८०३१२३४५६७"];

test.each([
  ["an e-mail address or a phone number", ["ada@example.com", "a/b@c/d", "0803 123 4567"], true],
  ["a NIN or phone number in the digits of any script and in any grouping", inGroups, true],
  ["a registration number, a teacher id or empty", [...numbers, "234567", "00204417", ""], false],
])("isPersonalTerm gives the expected answer for %s", (_what, terms, isPersonal) => {
  expect(terms.filter((term) => isPersonalTerm(term) !== isPersonal)).toEqual([]);
  if (terms === inGroups) expect(new Set(terms.map(searchTermKindOf))).toEqual(new Set(["elevenDigits"]));
});

test("every search term with a NIN, e-mail or phone key counts towards the rate limit of personal terms", () => {
  const digits = (length: number, seed: number) =>
    Array.from({ length }, (_, at) => (seed * (at + 7) * 2_654_435_761) % 10).join("");
  let personal = 0;
  for (const prefix of ["", "0", "234", "+", "+234", "00", "(0", "٠", "２３４", "tel:+234", "1-"]) {
    for (let length = 0; length < 18; length++) {
      for (let seed = 1; seed < 12; seed++) {
        const term = prefix + digits(length, seed);
        const sought = searchKeysOf(term, index).some(
          ({ by }) => by === "nin" || by === "email" || by === "phone",
        );
        if (sought) personal++;
        if (sought) expect([term, isPersonalTerm(term)]).toEqual([term, true]);
      }
    }
  }
  expect(personal).toBeGreaterThan(300);
});

const numbersOf = (term: string) =>
  searchKeysOf(term, index).flatMap(({ by, value }) => (by === "regNo" || by === "tId" ? [value] : [by]));

test.each<[string, (string | number)[]]>([
  ["TR-2019-LA-000001", ["TR/2019/LA/000001"]],
  ["tr – 2019 — la − 000001", ["TR/2019/LA/000001"]],
  ["TR\\2019\\LA\\000001", ["TR/2019/LA/000001"]],
  ["TR/2019-LA/000001", ["TR/2019/LA/000001"]],
  ["TR 2019 LA 000001", ["TR/2019/LA/000001"]],
  ["TR-2019-LA-000001.", ["TR/2019/LA/000001"]],
  ["TR/٢٠١٩/LA/٠٠٠٠٠١", ["TR/٢٠١٩/LA/٠٠٠٠٠١", "TR/2019/LA/000001"]],
  ["TR/2019/LA/000001.", ["TR/2019/LA/000001.", "TR/2019/LA/000001"]],
  ["TR/2019/LA/000001/", ["TR/2019/LA/000001"]],
  ["TR//2019/LA/000001", ["TR/2019/LA/000001"]],
  ["१००१", [1001]],
  ["1001.", [1001]],
  ["999 000 000 01", ["nin", "phone", 99_900_000_001]],
  ["ada@example.com.", ["email", "email"]],
])("the search term %s is looked up as the identifiers that were probably meant", (term, keys) => {
  expect(numbersOf(term)).toEqual(keys);
});

test.each([
  ["a double name", "Ade-Bello-Obi-Ojo"],
  ["four words", "Adaeze Ngozi 2 Obi"],
  ["five parts", "TR-2019-LA-N-000001"],
  ["three parts", "TR-2019-000001"],
  ["a part that is missing", "TR//LA/000001"],
  ["a URL", "https://example.com/a/b"],
  ["a date", "2019-03-01-02"],
  ["two ids", "1001 1002"],
])("a search term is not looked up as an identifier if it is %s", (_name, term) => {
  expect(numbersOf(term)).toEqual([]);
});

test("a registration number that is typed without an error is always looked up first", () => {
  const below = seededNumbers(21);
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  const signs = ["-", " ", "\\", "–", ".", "A", "b", "0", "1", "٣", "TR", "2019"];
  const part = () => Array.from({ length: 1 + below(4) }, () => pick(signs)).join("");
  let others = 0;
  for (let n = 0; n < 20_000; n++) {
    const text = [part(), part(), part(), part()].join("/").trim();
    const regNo = canonicalizeRegNo(text);
    if (regNo === null) continue;
    // The typed number is looked up first, and corrected numbers after it.
    expect(searchKeysOf(text, index)[0]).toEqual({ by: "regNo", value: regNo });
    // With other separators, it finds the same number, a number that may be meant by it, or none.
    const typed = regNo.replaceAll("/", pick(["-", " ", "\\"]));
    for (const key of searchKeysOf(typed, index).filter(({ by }) => by === "regNo")) {
      others++;
      expect([regNo, canonicalizeRegNo(correctTypingErrors(regNo))]).toContain(String(key.value));
    }
  }
  expect(others).toBeGreaterThan(100);
});

test.each([
  ["TR/2O19/LA/000001", "TR/2019/LA/000001"],
  ["TR/20l9/LA/00000l", "TR/2019/LA/000001"],
  ["TR/2019/LA/l", "TR/2019/LA/000001"],
  ["tr/2019/la/OOOOOI", "TR/2019/LA/000001"],
  ["TR/2019/LA/1", "TR/2019/LA/000001"],
  ["TR-2O19-LA-1", "TR/2019/LA/000001"],
  ["TR/٢٠١٩/LA/1", "TR/2019/LA/000001"],
  ["LA/2O19/PRI/04417", "LA/2019/PRI/04417"],
])("the guess for the mistyped registration number %s is %s", (term, likely) => {
  expect(guessRegNo(term)).toBe(likely);
});

// biome-ignore format: a list reads better in rows
test.each([
  "TR/2019/LA/000001", "LA/2019/PRI/1", "LO/2019/IL/000001", "LO/L/IL/000001", "Adaeze Obi", "1001",
  "TR/2019/LA",
])("guessRegNo has no guess for the registration number %s", (term) => {
  expect(guessRegNo(term)).toBeNull();
});

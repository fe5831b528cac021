import { expect, test } from "bun:test";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import {
  isPersonalTerm,
  likelyRegNo,
  meantTerm,
  searchKeys,
  termKind,
} from "../../../src/domain/teachers/search-term.ts";
import { canonicalRegNo } from "../../../src/domain/teachers/teachers.ts";
import { numbers } from "../../harness/random.ts";

const index = createBlindIndex(new Uint8Array(32).fill(9));
const numbersOf = (term: string) =>
  searchKeys(term, index).flatMap(({ by, value }) => (by === "regNo" || by === "tId" ? [value] : [by]));

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
])("the term %s finds its meant numbers", (term, keys) => {
  expect(numbersOf(term)).toEqual(keys);
});

test.each([
  ["a double name", "Ade-Bello-Obi-Ojo"],
  ["four words", "Adaeze Ngozi 2 Obi"],
  ["five parts", "TR-2019-LA-N-000001"],
  ["three parts", "TR-2019-000001"],
  ["a part that is missing", "TR//LA/000001"],
  ["an address", "https://example.com/a/b"],
  ["a date", "2019-03-01-02"],
  ["two ids", "1001 1002"],
])("the term is not a number: %s", (_name, term) => {
  expect(numbersOf(term)).toEqual([]);
});

test("a person's number is personal in any digits and groups", () => {
  for (const term of ["٩٩٩٠٠٠٠٠٠٠١", "999 000 000 01", "99900000001.", "०८०३१२३४५६७"]) {
    expect(isPersonalTerm(term)).toBe(true);
    expect(termKind(term)).toBe("elevenDigits");
  }
  expect(isPersonalTerm("TR-2019-LA-000001")).toBe(false);
  expect(termKind("TR-2019-LA-000001")).toBe("regNo");
});

test("a registration number that is typed exactly is always looked up first", () => {
  const below = numbers(21);
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  const signs = ["-", " ", "\\", "–", ".", "A", "b", "0", "1", "٣", "TR", "2019"];
  const part = () => Array.from({ length: 1 + below(4) }, () => pick(signs)).join("");
  let others = 0;
  for (let n = 0; n < 20_000; n++) {
    const text = [part(), part(), part(), part()].join("/").trim();
    const regNo = canonicalRegNo(text);
    if (regNo === null) continue;
    // It is looked up first, and what may be meant only after it.
    expect(searchKeys(text, index)[0]).toEqual({ by: "regNo", value: regNo });
    // With other signs for its slashes it is that number, or what that number may be meant as, or nobody's.
    const typed = regNo.replaceAll("/", pick(["-", " ", "\\"]));
    for (const key of searchKeys(typed, index).filter(({ by }) => by === "regNo")) {
      others++;
      expect([regNo, canonicalRegNo(meantTerm(regNo))]).toContain(String(key.value));
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
])("%s probably means %s", (term, likely) => {
  expect(likelyRegNo(term)).toBe(likely);
});

// biome-ignore format: a list reads better in rows
test.each([
  "TR/2019/LA/000001", "LA/2019/PRI/1", "LO/2019/IL/000001", "LO/L/IL/000001", "Adaeze Obi", "1001",
  "TR/2019/LA",
])("%s probably means no other number", (term) => {
  expect(likelyRegNo(term)).toBeNull();
});

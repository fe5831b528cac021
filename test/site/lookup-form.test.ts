import { expect, test } from "bun:test";
import { englishTexts } from "../../src/site/language.ts";
import { canShowTerm, formatLookupLink, parseSearchTerm } from "../../src/site/lookup-answer.ts";

const problemOf = (text: string) => {
  const asked = parseSearchTerm(text);
  return "problem" in asked ? asked.problem(englishTexts.lookup) : asked.kind;
};

test.each([
  ["TR/2019/LA/000001", "TR/2019/LA/000001", "regNo"],
  ["  tr / 2019 / la / 000001\t", "tr / 2019 / la / 000001", "regNo"],
  ["ＴＲ／２０１９／ＬＡ／０００００１", "TR/2019/LA/000001", "regNo"],
  ["\u200e1001\u200f", "1001", "tId"],
  ["TR-2019-LA-000001", "TR/2019/LA/000001", "regNo"],
  ["TR/2019/LA/000001.", "TR/2019/LA/000001.", "regNo"],
  ["٩٩٩ ٠٠٠ ٠٠٠ ٠١", "99900000001", "elevenDigits"],
  ["999 000 000 01", "99900000001", "elevenDigits"],
  ["0803-000-0001", "08030000001", "elevenDigits"],
  ["+234 (803) 000 0001", "+2348030000001", "phone"],
  ["2348030000001", "2348030000001", "phone"],
  ["teacher01@example.org", "teacher01@example.org", "email"],
])("the lookup form reads the search term %p as %p of the kind %s", (text, term, kind) => {
  expect(parseSearchTerm(text)).toEqual({ term, kind: kind as "tId" });
});

test.each([
  ["", englishTexts.lookup.empty],
  [" \t\u200b\u00a0", englishTexts.lookup.empty],
  ["Adaeze Okafor", englishTexts.lookup.unreadable],
  ["<script>alert(1)", englishTexts.lookup.unreadable],
  ["12345678901234567890", englishTexts.lookup.unreadable],
  ["TR/2019/000001", englishTexts.lookup.regNoWrong("TR/2019/LA/000001")],
  ["///", englishTexts.lookup.regNoWrong("TR/2019/LA/000001")],
  ["teacher@", englishTexts.lookup.emailWrong],
  ["a b@example.org", englishTexts.lookup.emailWrong],
])("the search term %p is refused, and the lookup form says why", (text, problem) => {
  expect(problemOf(text)).toBe(problem);
});

test.each([321, 1281, 100_000])("a search term of %i characters is refused as too long", (length) => {
  expect(problemOf("x".repeat(length))).toBe(englishTexts.lookup.tooLong(320));
});

test.each([
  ["TR/2019/LA/000001", "regNo", "?regNo=TR%2F2019%2FLA%2F000001"],
  ["1001", "tId", "?tId=1001"],
  ["99900000001", "elevenDigits", null],
  ["9990000000", "tId", null],
  ["8030000001", "tId", null],
  ["a/b/c/99900000001", "regNo", null],
  ["+2348030000001", "phone", null],
  ["teacher01@example.org", "email", null],
] as const)("the lookup link for the term %s of the kind %s is %p", (term, kind, link) => {
  expect(formatLookupLink(term, kind)).toBe(link);
});

const personal = [
  "99900000001",
  "9990000000",
  "+2348030000001",
  "teacher01@example.org",
  "a/b/c/99900000001",
];
test.each([
  [true, "TR/2019/LA/000001", "TR/2019/000001", "1001"],
  [false, ...personal, "Adaeze Okafor", "Adaézé/Okafor", ""],
])("canShowTerm returns %p for %p and other terms like it", (isShown, ...terms) => {
  for (const term of terms) expect([term, canShowTerm(String(term))]).toEqual([term, isShown as boolean]);
});

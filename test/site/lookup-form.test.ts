import { expect, test } from "bun:test";
import { english } from "../../src/site/language.ts";
import { linkTo, mayRepeat, readTerm } from "../../src/site/lookup-answer.ts";

const problemOf = (text: string) => {
  const asked = readTerm(text);
  return "problem" in asked ? asked.problem(english.lookup) : asked.kind;
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
])("the lookup form reads the search term %p as %p, of the kind %s", (text, term, kind) => {
  expect(readTerm(text)).toEqual({ term, kind: kind as "tId" });
});

test.each([
  ["", english.lookup.empty],
  [" \t\u200b\u00a0", english.lookup.empty],
  ["Adaeze Okafor", english.lookup.unreadable],
  ["<script>alert(1)", english.lookup.unreadable],
  ["12345678901234567890", english.lookup.unreadable],
  ["TR/2019/000001", english.lookup.regNoWrong("TR/2019/LA/000001")],
  ["///", english.lookup.regNoWrong("TR/2019/LA/000001")],
  ["teacher@", english.lookup.emailWrong],
  ["a b@example.org", english.lookup.emailWrong],
])("the lookup form refuses the search term %p with the reason", (text, problem) => {
  expect(problemOf(text)).toBe(problem);
});

test.each([321, 1281, 100_000])("the lookup form refuses a term of %i characters as too long", (length) => {
  expect(problemOf("x".repeat(length))).toBe(english.lookup.tooLong(320));
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
] as const)("the lookup link to %s of the kind %s is %p", (term, kind, link) => {
  expect(linkTo(term, kind)).toBe(link);
});

test.each(["TR/2019/LA/000001", "TR/2019/000001", "1001"])(
  "the lookup form shows the entered term %p again",
  (term) => {
    expect(mayRepeat(term)).toBe(true);
  },
);

test.each([
  "99900000001",
  "9990000000",
  "+2348030000001",
  "teacher01@example.org",
  "a/b/c/99900000001",
  "Adaeze Okafor",
  "Adaézé/Okafor",
  "",
])("the lookup form does not show the entered term %p again", (term) => {
  expect(mayRepeat(term)).toBe(false);
});

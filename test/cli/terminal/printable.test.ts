import { expect, test } from "bun:test";
import { printable } from "../../../cli/terminal/output.ts";

test("what would steer a terminal is written as JSON escapes it", () => {
  expect(printable("a\u001b[2Jb\r\nc\u202ed\u2028e\u0007")).toBe(
    "a\\u001b[2Jb\\u000d\\u000ac\\u202ed\\u2028e\\u0007",
  );
});

test("a hidden character beyond the basic plane is written whole, as its two halves", () => {
  const hidden = "a\u{e0041}b";
  expect(printable(hidden)).toBe("a\\udb40\\udc41b");
  expect(JSON.parse(`"${printable(hidden)}"`)).toBe(hidden);
});

test("what can be read stays as it is", () => {
  expect(printable("Adé Ọbí 😀 教師")).toBe("Adé Ọbí 😀 教師");
});

import { expect, test } from "bun:test";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { addTo } from "../../src/store/staging.ts";

const filterBytes = 1024 * 1024;
const index = createBlindIndex(new Uint8Array(32));
const numbers = Array.from({ length: 20_000 }, (_, n) => n + 1);
const kinds: [string, (n: number) => string][] = [
  ["blind indexes", (n) => Buffer.from(index.nin(String(99_900_000_000 + n))).toString("hex")],
  ["texts that differ in a digit", (n) => `TR/2019/LA/${n}`],
  ["numbers in a row", String],
  ["large numbers", (n) => String(Number.MAX_SAFE_INTEGER - n)],
  ["names of another kind before them", (n) => `${n > 10_000 ? "t" : "r"}${n % 10_000}`],
];

test.each(kinds)("a name that was added is never called new, and hardly ever another: %s", (_, name) => {
  const filter = new Uint8Array(filterBytes);
  expect(numbers.filter((n) => addTo(filter, name(n))).length).toBeLessThan(5);
  expect(numbers.every((n) => addTo(filter, name(n)))).toBe(true);
});

import { expect, test } from "bun:test";
import { parseRetryAfter } from "../../src/delivery/exchange.ts";

const nowMs = Date.UTC(2026, 2, 1, 12, 0, 0);

test.each([
  ["0", 0],
  ["120", 120],
  [" 120 ", 120],
  ["Sun, 01 Mar 2026 12:02:00 GMT", 120],
  ["Sunday, 01-Mar-26 12:02:00 GMT", 120],
  ["Sun Mar  1 12:02:00 2026", 120],
  ["Sun, 01 Mar 2026 11:59:00 GMT", 0],
  // A year of two digits that lies far ahead is a past one.
  ["Sunday, 06-Nov-94 08:49:37 GMT", 0],
  ["99999999999999999999999999", 366 * 86_400],
  ["Sun, 01 Mar 9999 12:00:00 GMT", 366 * 86_400],
])("Retry-After: %s is %i seconds", (value, seconds) => {
  expect(parseRetryAfter(value, nowMs)).toBe(seconds);
});

// biome-ignore format: a table reads better in rows
test.each([
  [undefined], [""], ["-1"], ["1.5"], ["1e3"], ["soon"], ["2026-03-01T12:02:00Z"],
  ["Sun, 01 Mai 2026 12:02:00 GMT"],
  ["Sun, 01 Mar 2026 25:02:00 GMT"],
  ["Sun, 01 Mar 2026 12:02:00 +0100"],
  ["Sun, 01 Mar 2026"],
])("Retry-After: %s says nothing", (value) => expect(parseRetryAfter(value, nowMs)).toBeNull());

test("a part of a second of a Retry-After still has to be waited for", () => {
  expect(parseRetryAfter("Sun, 01 Mar 2026 12:02:00 GMT", nowMs + 1)).toBe(120);
});

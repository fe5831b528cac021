import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createBlindIndex } from "../../../src/domain/blind-index.ts";
import { makeFilter, type SoughtBy } from "../../../src/store/evidence/attestation-index.ts";
import { addTo, bitsOf, mayHold } from "../../../src/store/evidence/bloom.ts";

const filterBytes = 1024 * 1024;

describe("a Bloom filter", () => {
  const index = createBlindIndex(new Uint8Array(32));
  const numbers = Array.from({ length: 20_000 }, (_, n) => n + 1);
  const kinds: [string, (n: number) => string][] = [
    ["blind indexes", (n) => Buffer.from(index.nin(String(99_900_000_000 + n))).toString("hex")],
    ["texts that differ in a digit", (n) => `TR/2019/LA/${n}`],
    ["numbers in a row", String],
    ["large numbers", (n) => String(Number.MAX_SAFE_INTEGER - n)],
  ];

  test.each(kinds)(
    "never calls a name new that it holds, and hardly ever the other way round: %s",
    (_, name) => {
      const filter = new Uint8Array(filterBytes);
      expect(numbers.filter((n) => addTo(filter, name(n))).length).toBeLessThan(5);
      expect(numbers.every((n) => addTo(filter, name(n)))).toBe(true);
      expect(numbers.every((n) => mayHold(filter, bitsOf(name(n), filterBytes)))).toBe(true);
    },
  );

  test("keeps the kinds apart", () => {
    const filter = new Uint8Array(filterBytes);
    for (const n of numbers) addTo(filter, `t${n}`);
    expect(numbers.filter((n) => addTo(filter, `r${n}`)).length).toBeLessThan(5);
  });
});

test("the filter of a segment is stored, and so its bytes stay what they are", () => {
  const keys = Array.from({ length: 500 }, (_, n): SoughtBy[] => [
    { teacherId: (n + 1) * 7 },
    { partnerId: `agency-${n + 1}` },
    { ninIndex: new Uint8Array(16).map((_byte, at) => ((n + 1) * 31 + at * 17) & 255) },
  ]);
  const digest = createHash("sha256").update(makeFilter(keys.flat())).digest("hex");
  expect(digest).toBe("0d879bfc6b6caa5aec9ba34109a62aa36dc12a21058c0c734b5dc730be9b46ee");
});

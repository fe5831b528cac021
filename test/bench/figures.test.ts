import { describe, expect, test } from "bun:test";
import { createFigures, quantile } from "./figures.ts";
import { readSpeed } from "./machine.ts";

describe("the benchmark", () => {
  test("the benchmark's report has one table for each question, with medians, spreads and median ratios", () => {
    const figures = createFigures();
    const table = figures.about("How fast?");
    for (const own of [200, 300, 600]) {
      table.add("check", { unit: "checks/s" }, own);
      table.add("check", { unit: "checks/s", isEarlier: true }, 100);
    }
    figures.about("How fast?").note("Printed once.");
    figures.about("How fast?").note("Printed once.");
    figures.about("Never answered?");
    figures.about("How much?").add("memory", { unit: "MB" }, 118);
    expect(figures.text().split("\n")).toEqual([
      "### How fast?",
      "",
      "| figure | unit | median | min – max | other build | ÷ other |",
      "|---|---|--:|--:|--:|--:|",
      "| check | checks/s | 300 | 200 – 600 | 100 | 3 × (2 – 6) |",
      "",
      "Printed once.",
      "",
      "### How much?",
      "",
      "| figure | unit | median | min – max |",
      "|---|---|--:|--:|",
      "| memory | MB | 118 | 118 – 118 |",
    ]);
  });

  test("a quantile is one of the measured values", () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([quantile(values, 0.5), quantile(values, 0.99), quantile([], 0.5)]).toEqual([51, 100, Number.NaN]);
  });

  test("readSpeed reads OpenSSL's rate in both formats, and returns null if the process used no processor time", () => {
    expect(readSpeed("Got: x\n+F2:2:2048:4000.000000:64000.000000\n")).toBe(4_000);
    expect(readSpeed("+F2:2:2048:0.00025:0.000015625\n")).toBe(4_000);
    expect([readSpeed("+F2:2:2048:-nan:inf\n"), readSpeed("")]).toEqual([null, null]);
  });
});

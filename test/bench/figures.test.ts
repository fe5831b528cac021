import { describe, expect, test } from "bun:test";
import { readCounters } from "./admin-port.ts";
import { answerIn } from "./answers.ts";
import { createFigures, quantile } from "./figures.ts";
import { readSpeed } from "./machine.ts";

describe("the benchmark's tables", () => {
  test("show medians, spreads, the machine's limit and the middle of the rounds' ratios, one table a question", () => {
    const figures = createFigures();
    const table = figures.about("How fast?");
    for (const [own, earlier, limit] of [
      [200, 100, 1_000],
      [300, 100, 1_200],
      [600, 100, 1_100],
    ] as const) {
      table.add("check", { unit: "checks/s", limit: "signatures/s" }, own, limit);
      table.add("check", { unit: "checks/s", isEarlier: true }, earlier);
    }
    figures.about("How fast?").note("Said once.");
    figures.about("How fast?").note("Said once.");
    figures.about("Never answered?");
    expect(figures.text("markdown")).toBe(
      [
        "### How fast?",
        "",
        "| figure | unit | median | min – max | the machine's limit | earlier build | min – max | ÷ earlier |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
        "| check | checks/s | 300 | 200 – 600 | 1,100 signatures/s | 100 | 100 – 100 | 3 × |",
        "",
        "Said once.",
      ].join("\n"),
    );
  });

  test("leave out the columns for which nothing was measured", () => {
    const figures = createFigures();
    figures.about("How much?").add("memory", { unit: "MB" }, 118);
    expect(figures.text("text").split("\n")).toEqual([
      "How much?",
      "",
      "figure  unit  median  min – max",
      "memory  MB    118     one value",
    ]);
  });

  test("a quantile is a value that was measured", () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([quantile(values, 0.5), quantile(values, 0.99), quantile([], 0.5)]).toEqual([51, 100, Number.NaN]);
  });
});

describe("what the benchmark reads", () => {
  test("is an answer when its head and its whole body are there", () => {
    const whole = "HTTP/1.1 503 Service Unavailable\r\nDate: today\r\nContent-Length: 2\r\n\r\n{}";
    for (const length of [0, 10, whole.length - 4, whole.length - 1])
      expect(answerIn(Buffer.from(whole.slice(0, length)))).toBeNull();
    expect(answerIn(Buffer.from(whole))).toEqual({ status: "503", isLast: false });
    const last = whole.replace("Date: today", "Connection: close");
    expect(answerIn(Buffer.from(last))).toEqual({ status: "503", isLast: true });
    expect(() => answerIn(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"))).toThrow("without Content-Length");
  });

  test("are the service's counters, by name and labels", () => {
    const text = '# HELP a_total What\na_total 12\nb_seconds_total 0.5e-3\nc_bucket{le="1"} 7\n';
    expect(readCounters(text)).toEqual({ a_total: 12, b_seconds_total: 0.0005, 'c_bucket{le="1"}': 7 });
  });

  test("are OpenSSL's rates, whichever way it writes them, and nothing from a process that was starved", () => {
    expect(readSpeed("Got: x\n+F2:2:2048:4000.000000:64000.000000\n")).toEqual({
      sign: 4_000,
      verify: 64_000,
    });
    expect(readSpeed("+F2:2:2048:0.00025:0.000015625\n")).toEqual({ sign: 4_000, verify: 64_000 });
    expect([readSpeed("+F2:2:2048:-nan:inf\n"), readSpeed("")]).toEqual([null, null]);
  });
});

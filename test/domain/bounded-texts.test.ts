/**
 * Callers choose these texts, up to the 256 KiB of a body, and one event loop answers everybody. A function whose time
 * grows with the square of a text's length would stop the service (security finding 1). This test finds every exported
 * function of `domain/` and `partner/` whose first parameter is a text, so the limit holds for new functions too.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Glob } from "bun";
import { createBlindIndex } from "../../src/domain/blind-index.ts";
import { testTimeoutMs } from "../harness/program.ts";

setDefaultTimeout(testTimeoutMs);

const source = new URL("../../src/", import.meta.url);
const length = 250_000;
const limitMs = 50;

const repeat = (text: string) => text.repeat(length / text.length);
const texts: Readonly<Record<string, string>> = {
  blanks: repeat(" "),
  "blanks between letters": `a${repeat(" ")}b`,
  slashes: repeat("/"),
  digits: repeat("1"),
  "digits of another script": repeat("\u0663"),
  "digits and brackets": repeat("(1)"),
  "digits and slashes": repeat("1/"),
  "combining marks": `a${repeat("\u0301\u0316")}`,
  "combining marks in an address": `https://a${repeat("\u0301\u0316")}`,
  "combining marks in a number": `TR/2019/LA/${repeat("\u0301\u0316")}`,
  brackets: repeat("[("),
  "square brackets": repeat("["),
  quotes: repeat('"'),
  dashes: repeat(" - "),
  dots: repeat("."),
  "at signs": repeat("a@"),
};

const index = createBlindIndex(new Uint8Array(32));
/** The arguments of a function after the text. */
const furtherArguments: Readonly<Record<string, readonly unknown[]>> = {
  findSimilarWord: [["word"]],
  suggestWord: [["word"]],
  editDistance: ["word"],
  matchesRegisteredName: ["Ada Okafor"],
  searchKeysOf: [index],
  redactLabel: ["column 1"],
  sniffDelimiter: [() => false],
  findField: [null],
  parseMapping: ["mapping.json"],
  readText: [500],
  createColumnProfile: [1],
  toUnreadableInputError: [new Error("another")],
  createUnreadColumn: ["column 1", false],
};
/** A function whose text is the operator's own issuer, which no caller chooses. */
const notOfCallers: readonly string[] = ["logOriginOf"];

type Case = readonly [name: string, call: (text: string) => unknown];

/** The declaration of an exported function whose first parameter is or may be a text. */
const declaration = /^export (?:async )?function (\w+)(?:<[^(]*>)?\(\s*\w+: (?:string|JsonValue|unknown)\b/gm;

async function textFunctions(): Promise<Case[]> {
  const found: Case[] = [];
  for (const file of [...new Glob("{domain,partner}/**/*.ts").scanSync(source.pathname)].sort()) {
    const names = [...readFileSync(new URL(file, source), "utf8").matchAll(declaration)];
    if (names.length === 0) continue;
    const module: Record<string, (...args: unknown[]) => unknown> = await import(new URL(file, source).href);
    for (const [, name = ""] of names) {
      if (notOfCallers.includes(name)) continue;
      found.push([`${file} ${name}`, (text) => module[name]?.(text, ...(furtherArguments[name] ?? []))]);
    }
  }
  return found;
}

const functions: Case[] = [...(await textFunctions()), ["domain/blind-index.ts email", index.email]];

/** Measures this process alone, because other processes share the machine. @returns processor time in milliseconds */
async function costOf(call: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await Promise.resolve()
    .then(call)
    .catch(() => {});
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Garbage collection slows some calls, so the fastest of eight counts, unless the first is far from the limit. */
async function cheapest(call: () => unknown): Promise<number> {
  let least = await costOf(call);
  for (let tries = 1; tries < 8 && least > limitMs && least < 1_000; tries++)
    least = Math.min(least, await costOf(call));
  return least;
}

test("more than 110 exported functions take a text, and their processor time is tested", () => {
  expect(functions.length).toBeGreaterThan(110);
});

test.each(functions)(
  "%s uses at most 50 ms of processor time for a text of 250,000 characters",
  async (_name, call) => {
    const slow: string[] = [];
    for (const [what, text] of Object.entries(texts)) {
      const ms = await cheapest(() => call(text));
      if (ms > limitMs) slow.push(`${what}: ${Math.round(ms)} ms`);
    }
    expect(slow).toEqual([]);
  },
);

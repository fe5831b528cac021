import { expect, test } from "bun:test";
import { checkPartnerChange } from "../../src/domain/partners.ts";
import { hasHiddenCharacter, quoteShellWord } from "../../src/domain/plain-text.ts";
import { checkChangeReason } from "../../src/domain/teachers/changes.ts";
import { canonicalizeRegNo } from "../../src/domain/teachers/teachers.ts";
import { csv, row, withImports } from "../harness/imports.ts";

// biome-ignore format: a table of names reads better in rows
const hidden: [string, string][] = [
  ["zero-width space", "\u200b"], ["zero-width non-joiner", "\u200c"], ["zero-width joiner", "\u200d"],
  ["left-to-right mark", "\u200e"], ["right-to-left mark", "\u200f"], ["Arabic letter mark", "\u061c"],
  ["word joiner", "\u2060"], ["invisible times", "\u2062"], ["invisible plus", "\u2064"],
  ["byte order mark", "\ufeff"], ["right-to-left embedding", "\u202b"], ["right-to-left override", "\u202e"],
  ["right-to-left isolate", "\u2067"], ["pop isolate", "\u2069"], ["soft hyphen", "\u00ad"],
  ["tag letter", "\u{e0041}"], ["variation selector", "\ufe0f"], ["ideographic variation", "\u{e0100}"],
  ["grapheme joiner", "\u034f"], ["Hangul filler", "\u3164"], ["Mongolian vowel separator", "\u180e"],
  ["empty braille", "\u2800"], ["interlinear anchor", "\ufff9"], ["failed decoding", "\ufffd"],
];

test.each(hidden)("a hidden character is refused in a reason, a name and a number: %s", (_name, mark) => {
  const usage = expect.objectContaining({ code: "USAGE" });
  expect(() => checkChangeReason(`Decision${mark}14`)).toThrow(usage);
  expect(() => checkPartnerChange({ name: `Agency${mark}A` })).toThrow(usage);
  expect(hasHiddenCharacter(`Ada${mark}Obi`)).toBe(true);
  // A byte order mark counts as white space, which is removed from a registration number.
  expect(canonicalizeRegNo(`TR/2019/LA/1${mark}2`)).toBe(mark === "\ufeff" ? "TR/2019/LA/12" : null);
});

test("a registration number with a hidden character is refused, even if a name may have the character", () => {
  expect(canonicalizeRegNo("TR/2019/علی\u200cرضا/1")).toBeNull();
  expect(canonicalizeRegNo("TR/2019/علیرضا/1")).not.toBeNull();
});

// biome-ignore format: a list reads better in rows
const names = [
  "Adékúnlé Ọlọ́run-Ṣẹ̀yẹ", "Chukwuẹ́bùka O\u2019Neil Nwáòkọ́", "Ɗanladi Ƙofar-Mata Ya\u02bcu",
  "عبد الله بن محمّد", "علی\u200cرضا", "क्\u200dषत्रिय", "𞤀𞤣𞤤𞤢𞤥",
];

test("names in many scripts are imported unchanged", () =>
  withImports(async ({ add, find }) => {
    expect(await add(csv(names.map((name, n) => row(n, { name }))))).toMatchObject({ rejected: 0 });
    for (const [n, name] of names.entries())
      expect((await find(`TR/2019/LA/${n}`))?.name).toBe(name.normalize("NFC"));
  }));

// biome-ignore format: a list reads better in rows
const misplaced = ["علی\u200c\u200cرضا", "علی\u200c", "\u200cعلی", "ع\u200cx", "Ada\u200dObi", "👩\u200d🏫"];

test("a name may have a zero-width joiner only between two letters that it joins", () => {
  expect(hasHiddenCharacter("علی\u200cرضا")).toBe(false);
  expect(misplaced.filter(hasHiddenCharacter)).toEqual(misplaced);
});

const words = ["/srv/tvs", "it's", "a b", "$HOME", "C:\\data", "`id`", "", 'say "x"'];

test.each(words)("a shell reads the quoted word %p back unchanged", (word) => {
  const { stdout } = Bun.spawnSync(["sh", "-c", `printf %s ${quoteShellWord(word)}`]);
  expect(stdout.toString()).toBe(word);
});

/** Every sentence of a page is in a file of its language (decision D8.6). */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import envelope from "../../data/texts/en/envelope.json" with { type: "json" };
import form from "../../data/texts/en/envelope-form.json" with { type: "json" };
import guide from "../../data/texts/en/guide.json" with { type: "json" };
import pageTexts from "../../data/texts/en/pages.json" with { type: "json" };
import { loadSentences } from "../../src/site/texts/sentences.ts";

const folder = join(import.meta.dir, "../../src/site");
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
  /(?<!\.bundle)\.(?:ts|js)$/.test(name),
);

/** Returns the literal text of each template of a program. `\0` replaces a value; a template in a value is listed too. */
function templatesIn(code: string): string[] {
  const found: string[] = [];
  /** The open templates. `braces` counts the open braces of the value that is read; 0 inside the template's text. */
  const open: { text: string; braces: number }[] = [];
  for (const [part] of code.matchAll(/\$\{|\\.|[\s\S]/g)) {
    const inner = open.at(-1);
    if (part === "`" && inner?.braces === 0) found.push(open.pop()?.text ?? "");
    else if (part === "`") open.push({ text: "", braces: 0 });
    else if (inner?.braces === 0 && part === "${") inner.braces = 1;
    else if (inner?.braces === 0) inner.text += part;
    else if (inner !== undefined && (part === "{" || part === "${")) inner.braces++;
    else if (inner !== undefined && part === "}" && --inner.braces === 0) inner.text += "\0";
  }
  return found;
}

/** Finds text in a program that readers would see or hear, although it is in no file of sentences. */
function sentencesIn(code: string): string[] {
  const program = code.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const html = templatesIn(program).filter((text) => /<\w/.test(text));
  const shown = html.flatMap((text) =>
    text.replace(/<(code|pre)\b[\s\S]*?<\/\1>/g, "").split(/<[^<>]*(?:>|$)|\0/),
  );
  const spoken = html.flatMap((text) =>
    [...text.matchAll(/\b(?:aria-label|alt|title|placeholder|label)="([^"\0]*)/g)].map(([, one = ""]) => one),
  );
  const constants = program.matchAll(/["'`]([A-Z][a-z]+ [a-z]+[^"'`\n]*)["'`]/g);
  const texts = [...shown, ...spoken].filter((text) => /\p{L}{2}/u.test(text)).map((text) => text.trim());
  return [...new Set([...texts, ...[...constants].map(([, text = ""]) => text)])];
}

test.each(files)("the site's source file %s contains no text for readers", (name) => {
  expect(sentencesIn(readFileSync(join(folder, name), "utf8"))).toEqual([]);
});

test("sentencesIn finds sentences in the text, the attributes and the constants of a program", () => {
  const code =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a program's text
    'const a = "Some words"; html`<p>${x(`<b>Inner ${1}</b>`)}</p><a aria-label="Go on">${b} here</a><br>Last ${c}</br>`';
  expect(sentencesIn(code).sort()).toEqual(["Go on", "Inner", "Last", "Some words", "here"]);
});

test("loadSentences inserts each value at its name, in the form that the first value chooses", () => {
  const said = loadSentences({
    "left(days, of)": { "0": "none of {of}", "1": "a day of {of}", other: "{days} of {of}, {days}" },
    "is(so)": { true: "yes", false: "no" },
    inner: { list: ["{a}"], "one(a)": "{a}" },
  });
  const { left, inner } = said;
  expect([left(0, "x"), left(1, "x"), left(2, "{days}")]).toEqual([
    "none of x",
    "a day of x",
    "2 of {days}, 2",
  ]);
  expect([said.is(true), said.is(false), inner.one("$&"), inner.list]).toEqual(["yes", "no", "$&", ["{a}"]]);
});

function* written(part: unknown): Generator<string> {
  if (typeof part === "string") yield part;
  else for (const inner of Object.values(part as object)) yield* written(inner);
}

/** Yields each written sentence with the values that its key names. The first value can serve only to choose the form. */
function* keyed(part: unknown, name = ""): Generator<[name: string, names: string[], texts: string[]]> {
  const [, names] = /\((.*)\)$/.exec(name) ?? [];
  if (names !== undefined || typeof part === "string")
    yield [name, names?.split(", ") ?? [], [...written(part)]];
  else for (const [key, inner] of Object.entries(part as object)) yield* keyed(inner, key);
}

test("each sentence of the site uses exactly the values that its key names", () => {
  for (const [name, names, texts] of keyed([pageTexts, form, guide, envelope])) {
    const used = texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, one = ""]) => one));
    const chosen = texts.length > 1 ? names.slice(0, 1) : [];
    expect([name, [...new Set([...chosen, ...used])].sort()]).toEqual([name, names.sort()]);
  }
});

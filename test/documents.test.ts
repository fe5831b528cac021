import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { TvsCommand } from "../cli/command.ts";
import { rootCommand as commandTable } from "../cli/commands.ts";
import { headingIdOf } from "../src/manual.ts";
import { filesBelow, read, root } from "./harness/repository.ts";

const documents = [
  "README.md",
  "CHANGELOG.md",
  ...[".github", "src", "cli", "test", "data"].flatMap((folder) => filesBelow(folder, /\.md$/)),
];

/** Removes code and quotations from a document. */
const prose = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");

/** Lists the ids of a document's headings. A repeated title gets a number, as on GitHub. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>();
  const headings = text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, title = ""]) => {
    const id = headingIdOf(title);
    const times = seen.get(id) ?? 0;
    seen.set(id, times + 1);
    return times === 0 ? id : `${id}-${times}`;
  });
}

test.each(documents)("each relative link of %s leads to a file and a heading that exist", (path) => {
  const links = [...prose(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = ""]) => href);
  for (const href of links.filter((one) => !/^[a-z]+:/.test(one))) {
    const [file = "", anchor] = href.split("#");
    const target = file === "" ? path : relative(root, join(root, dirname(path), file));
    expect({ href, exists: existsSync(join(root, target)) }).toEqual({ href, exists: true });
    if (anchor === undefined) continue;
    expect({ href, found: anchorsOf(read(target)).includes(anchor) }).toEqual({ href, found: true });
  }
});

test.each([
  "src/README.md",
  "src/safe-answers.md",
  "test/README.md",
  "test/bench/README.md",
  ".github/CONTRIBUTING.md",
])("%s names only files that exist", (path) => {
  const places = ["", "src", "test", dirname(path)];
  const named = [...read(path).matchAll(/`([\w./-]+(?:\.(?:ts|mjs|md|json|css|sql)|\/))`/g)];
  const missing = named
    .map(([, name = ""]) => name)
    .filter((name) => !name.includes("*") && !isNamed(places, name));
  expect(missing).toEqual([]);
});

/** Whether a name is a path below one of the folders, or the bare name of any file, as in a table about a folder. */
function isNamed(places: readonly string[], name: string): boolean {
  if (places.some((place) => existsSync(join(root, place, name)))) return true;
  const bare = name.replace(/\/$/, "");
  return !bare.includes("/") && everyName.has(bare);
}

const everyName = new Set(
  ["src", "cli", "test", "data", ".ci"]
    .flatMap((folder) => filesBelow(folder, /./))
    .map((path) => basename(path)),
);

test.each([
  ["README.md", 130],
  ["CHANGELOG.md", 60],
  ["src/README.md", 180],
])("%s has at most %d lines", (path, most) => {
  expect(read(path).split("\n").length).toBeLessThanOrEqual(most);
});

test("the README's pictures are small, and have an alternative text", () => {
  const text = read("README.md").replace(/<img src="([^"]+)"[^>]* alt="([^"]*)">/g, "![$2]($1)");
  const pictures = [...text.matchAll(/(?<!\[)!\[([^\]]*)\]\(([^)]+)\)/g)];
  expect(pictures).toHaveLength(2);
  for (const [, words = "", path = ""] of pictures) {
    expect([path, words.length > 40]).toEqual([path, true]);
    expect([path, statSync(join(root, path)).size < 100_000]).toEqual([path, true]);
  }
});

test("the README's badges show the version and the licence of package.json", () => {
  const { version, license } = JSON.parse(read("package.json"));
  for (const [name, words] of [
    ["version", `version ${version}`],
    ["licence", `licence ${license}`],
  ]) {
    expect(read("README.md")).toContain(`[![${words}](.github/${name}.svg)]`);
    expect(read(`.github/${name}.svg`)).toContain(`aria-label="${words}"`);
  }
});

test("the documents name only npm scripts, commands and options that exist", async () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const known = new Set([...Object.keys(scripts), "ci", "install"]);
  // The changelog may name what no longer exists.
  for (const path of documents.filter((one) => one !== "CHANGELOG.md")) {
    const text = read(path);
    for (const [words, name = ""] of text.matchAll(/\bnpm (?:run (?:--silent )?)?([a-z]+)\b/g))
      if (/^npm (?:run|start|test)/.test(words))
        expect([path, words, known.has(name)]).toEqual([path, words, true]);
    const lines = [...text.matchAll(/`(?:sudo (?:-u tvs )?)?(tvs [^`\n]+)`|^(?:\.\/)?(tvs .+)$/gm)];
    for (const [, quoted, printed] of lines) {
      const line = quoted ?? printed ?? "";
      expect([path, line, await unknownIn(line.split(/\s+/).slice(1))]).toEqual([path, line, []]);
    }
  }
});

test("an unknown command or option in a document is found", async () => {
  expect(await unknownIn(["keys", "rotat"])).toEqual(["rotat"]);
  expect(await unknownIn(["key", "list"])).toEqual(["key"]);
  expect(await unknownIn(["keys", "rotate", "--nw"])).toEqual(["--nw"]);
});

/** Finds the words of a command line that name no command, and options that the command does not have. */
async function unknownIn(words: readonly string[]): Promise<string[]> {
  let command: TvsCommand = commandTable;
  let at = 0;
  for (let word = words[0]; word !== undefined && command.subCommands !== undefined; word = words[++at]) {
    const table = command.subCommands as Record<string, () => Promise<TvsCommand>>;
    const load = Object.hasOwn(table, word) ? table[word] : undefined;
    if (load === undefined) break;
    command = await load();
  }
  const isGeneral = at === 0 && /^(?:help|COMMAND|--help|--version)$/.test(words[0] ?? "");
  const options = Object.keys({ ...(command.args as object), help: true });
  const used =
    words
      .slice(at)
      .join(" ")
      .split(/ [|>&#] /)[0]
      ?.match(/(?<=^|\s)--[\w-]+/g) ?? [];
  const next = words[at] ?? "";
  const isUnknown = command.run === undefined && !/^(?:-.*|COMMAND|)$/.test(next);
  return [
    ...(isUnknown && !isGeneral ? [next] : []),
    ...(isGeneral ? [] : used.filter((option) => !options.includes(option.slice(2)))),
  ];
}

const [, said = ""] = read("src/README.md").split("## Why each dependency is there");
const rows = [...said.matchAll(/^\| (.+?) \| (.+?) \|$/gm)].filter(
  ([, name]) => !/^(package|-+)/.test(name ?? ""),
);
const explained = rows.flatMap(([, names = ""]) => names.replace(" (optional)", "").split(", "));

test("src/README.md explains each dependency of package.json once, and no others", () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read("package.json"));
  const names = [dependencies, devDependencies, optionalDependencies].flatMap((one) => Object.keys(one));
  expect(explained.sort()).toEqual(names.sort());
});

test("each dependency of the program is imported by the program", () => {
  const code = ["src", "cli"].flatMap((folder) => filesBelow(folder, /\.ts$/)).map(read);
  const names = Object.keys(JSON.parse(read("package.json")).dependencies);
  const isImported = (name: string) =>
    code.some((text) => new RegExp(`["']${name.replace(/[/.]/g, "\\$&")}(?:/[^"']*)?["']`).test(text));
  expect(names.filter((name) => !isImported(name))).toEqual([]);
});

const numbers = [...read("src/decisions.md").matchAll(/^(?:\| |- )\*\*([CD]\d+(?:\.\d+)?)\*\*/gm)].map(
  ([, number = ""]) => number,
);
const code = ["src", "cli", "test", "data", ".ci"]
  .flatMap((folder) => filesBelow(folder, /\.(?:ts|mjs|js|sql|css|lua)$|\.ci\/run$/))
  .filter((path) => !/\.bundle\.|documents\.test\.ts$/.test(path));
/** Reads a file with each comment on one line, so that no line break splits a citation. */
const joined = (path: string) => read(path).replace(/\n\s*(?:\*|\/\/|--) /g, " ");

test("the contract's clauses and the decisions have unique numbers in ascending order", () => {
  expect(numbers.length).toBeGreaterThan(60);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers).toEqual(numbers.toSorted(new Intl.Collator("en", { numeric: true }).compare));
});

test("every clause and decision that a comment cites exists", () => {
  const cited = code.flatMap((path) =>
    [...joined(path).matchAll(/\b(?:contract|decisions?)\s+([CD]\d+(?:\.\d+)?)\b/gi)].map(
      ([, number = ""]) => ({
        path,
        number,
      }),
    ),
  );
  expect(cited.length).toBeGreaterThan(30);
  expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([]);
});

test("comments cite the contract's clauses and the decisions by number, never by chapter", () => {
  const unnumbered = code.flatMap((path) =>
    [...joined(path).matchAll(/\b(?:contract|decisions), (?:[A-Z][\w-]*|POST \/)|\bdecisions \(The /gi)]
      .filter(([words]) => /, [A-Z]|\(The/.test(words))
      .map(([words]) => `${path}: ${words}`),
  );
  expect(unnumbered).toEqual([]);
});

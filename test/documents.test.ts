import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { headingId } from "../src/manual.ts";

const root = join(import.meta.dir, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

function filesBelow(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => ending.test(path) && !path.includes("node_modules"));
}

const documents = [
  "README.md",
  "CHANGELOG.md",
  ...[".github", "src", "cli", "test", "data"].flatMap((folder) => filesBelow(folder, /\.md$/)),
];

/** A document without what is only quoted in it. */
const prose = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");

/** The ids of a document's headings; a title that comes again gets a number, as code forges give it. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>();
  const headings = text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, title = ""]) => {
    const id = headingId(title);
    const times = seen.get(id) ?? 0;
    seen.set(id, times + 1);
    return times === 0 ? id : `${id}-${times}`;
  });
}

describe("every document", () => {
  test("is found", () => {
    expect(documents.length).toBeGreaterThan(20);
  });

  test.each(documents)("%s links only to what is there", (path) => {
    const links = [...prose(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = ""]) => href);
    for (const href of links.filter((one) => !/^[a-z]+:/.test(one))) {
      const [file = "", anchor] = href.split("#");
      const target = file === "" ? path : relative(root, join(root, dirname(path), file));
      expect({ href, exists: existsSync(join(root, target)) }).toEqual({ href, exists: true });
      if (anchor === undefined) continue;
      expect({ href, found: anchorsOf(read(target)).includes(anchor) }).toEqual({ href, found: true });
    }
  });
});

test("the README is a front door, of at most two hundred lines", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(200);
});

test("the README's pictures are small, and said in words", () => {
  const pictures = [...read("README.md").matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)];
  expect(pictures.length).toBeGreaterThanOrEqual(2);
  for (const [, words = "", path = ""] of pictures) {
    expect([path, words.length > 40]).toEqual([path, true]);
    expect([path, statSync(join(root, path)).size < 100_000]).toEqual([path, true]);
  }
});

test("the README's table has every command of the program's first page", () => {
  const table = read("README.md").split("## Commands")[1] ?? "";
  const names = [...read("cli/commands.ts").matchAll(/^ {4}"?([a-z-]+)"?: \(\) => import\(/gm)];
  expect(names.length).toBeGreaterThan(15);
  for (const [, name = ""] of names) expect([name, table.includes(`\`${name}`)]).toEqual([name, true]);
});

describe("the dependencies", () => {
  const [, said = ""] = read("src/README.md").split("## Why each dependency is there");
  const rows = [...said.matchAll(/^\| (.+?) \| (.+?) \|$/gm)].filter(
    ([, name]) => !/^(package|-+)/.test(name ?? ""),
  );
  const explained = rows.flatMap(([, names = ""]) => names.replace(" (optional)", "").split(", "));

  test("are each explained once, those of package.json and no others", () => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read("package.json"));
    const names = [dependencies, devDependencies, optionalDependencies].flatMap((one) => Object.keys(one));
    expect(explained.sort()).toEqual(names.sort());
  });

  test("have a reason in words", () => {
    for (const [, name, why = ""] of rows) expect([name, why.length > 10]).toEqual([name, true]);
  });
});

describe("the contract's clauses and the decisions", () => {
  const numbers = [...read("src/decisions.md").matchAll(/^(?:\| |- )\*\*([CD]\d+(?:\.\d+)?)\*\*/gm)].map(
    ([, number = ""]) => number,
  );
  // A migration's hash is in every database, so its comments stay as they were written.
  const code = ["src", "cli", "test", "data", ".ci"]
    .flatMap((folder) => filesBelow(folder, /\.(?:ts|mjs|js|sql|css|lua)$|\.ci\/run$/))
    .filter((path) => !/migrations\/|\.bundle\.|documents\.test\.ts$/.test(path));
  /** Comments in one piece, where a line break had parted a citation. */
  const joined = (path: string) => read(path).replace(/\n\s*(?:\*|\/\/|--) /g, " ");

  test("have a number each, in order and no two the same", () => {
    expect(numbers.length).toBeGreaterThan(60);
    expect(new Set(numbers).size).toBe(numbers.length);
    const parts = (number: string) => [number[0], ...number.slice(1).split(".").map(Number)];
    const sorted = numbers.toSorted((one, other) => compare(parts(one), parts(other)));
    expect(numbers).toEqual(sorted);
  });

  test("are all there that a comment cites", () => {
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

  test("are cited by number, never by the name of a chapter", () => {
    const unnumbered = code.flatMap((path) =>
      [...joined(path).matchAll(/\b(?:contract|decisions), (?:[A-Z][\w-]*|POST \/)|\bdecisions \(The /gi)]
        .filter(([words]) => /, [A-Z]|\(The/.test(words))
        .map(([words]) => `${path}: ${words}`),
    );
    expect(unnumbered).toEqual([]);
  });
});

function compare(one: (string | number | undefined)[], other: (string | number | undefined)[]): number {
  const at = one.findIndex((part, index) => part !== other[index]);
  const [left = 0, right = 0] = [one[at], other[at]];
  return at === -1 ? 0 : left < right ? -1 : 1;
}

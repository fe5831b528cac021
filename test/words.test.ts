import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * How plainly the repository is written, by folder: words that this project avoids in comments and Markdown, sentences of
 * more than 30 words in Markdown, and names of tests that cannot be read alone. The numbers may only fall: a commit that
 * lowers one writes the lower number here. `TVS_WORDS=1 npm test -- test/words.test.ts` prints the present numbers.
 */
// biome-ignore format: a table
const most: Readonly<Record<string, readonly [words: number, sentences: number, names: number]>> = {
  ".": [1, 0, 0], ".ci": [10, 0, 0], "cli": [20, 0, 0], "cli/doctor": [5, 0, 0], "cli/evidence": [6, 0, 0],
  "cli/partners": [1, 0, 0], "cli/register": [11, 0, 0], "cli/safe": [2, 0, 0], "cli/sandbox": [1, 0, 0],
  "cli/serve": [9, 0, 0], "cli/terminal": [8, 0, 0], "cli/verify": [4, 0, 0], "data/examples": [4, 0, 0],
  "data/help": [12, 3, 0], "src": [9, 1, 0], "src/api": [0, 0, 0], "src/delivery": [5, 0, 0],
  "src/domain": [177, 0, 0], "src/http": [16, 0, 0], "src/metrics": [7, 0, 0], "src/partner": [25, 2, 0],
  "src/signing": [5, 0, 0], "src/site": [3, 0, 0], "src/store": [58, 0, 0], "test": [5, 0, 0],
  "test/api": [0, 0, 0], "test/bench": [2, 0, 3], "test/blackbox": [7, 0, 0], "test/ci": [3, 0, 0],
  "test/cli": [12, 0, 18], "test/console": [0, 0, 0], "test/data": [12, 0, 0],
  "test/delivery": [3, 0, 0], "test/domain": [4, 0, 34], "test/faults": [14, 0, 0],
  "test/fixtures": [6, 0, 0], "test/fuzz": [11, 0, 0], "test/harness": [22, 0, 0],
  "test/histories": [11, 0, 0], "test/http": [2, 0, 0], "test/metrics": [0, 0, 0],
  "test/mutation": [3, 0, 0], "test/pages": [9, 0, 0], "test/partner": [1, 0, 0],
  "test/signing": [1, 0, 0], "test/site": [0, 0, 0], "test/store": [8, 0, 1],
};

/** Words with a plainer equivalent; "told" and "judged" had several meanings each. */
const avoided =
  /\b(?:anew|meanwhile|besides|for ever|judged?|told|stands|mends?|of before|by itself|is none|is no)\b/gi;
const longSentence = 30;
/** A name without a subject begins with a preposition or a verb. */
const fragment = new RegExp(
  "^(?:(?:is|are|was|were|has|have|does|do|may|must|can|cannot|never|says?|refuses|takes|finds?|gives?|shows|prints|keeps|" +
    "goes|tells|begins|makes|asks|opens|holds|reads|leaves|gets|warns|stands?|comes?|writes|stays|allows|acts|lets|" +
    "fetches|waits|judges|differs|covers|announces|exits|stops|binds|follows|sets|clears|signs|reaches|causes|copies|" +
    "closes|costs|agrees|carries|rejects|pins|sends|of|with|without|on|in|after|before|for|to|into|at|by|from|under|" +
    "above|over|when|where|while|and|or|only|not|about|between|because)\\b" +
    "|\\w+s (?:the|an?|its|no|nothing|what|that|each|every|one|all|nobody)\\b)",
);

const root = join(import.meta.dir, "..");
const files = [".", "src", "cli", "test", "data", ".ci", ".github"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: folder !== ".", encoding: "utf8" })
    .filter(
      (name) =>
        /\.(?:ts|mjs|js|sql|md)$/.test(name) &&
        !/\.bundle\.|notices|node_modules|words\.test|^verify\./.test(name),
    )
    .map((name) => ({ path: join(folder, name), text: readFileSync(join(root, folder, name), "utf8") })),
);

/** The two upper folders of a file. */
const roomOf = (path: string) => path.split("/").slice(0, -1).slice(0, 2).join("/") || ".";

/** What is written for people: Markdown without what is quoted in it, or the comments of a program. */
function proseOf(path: string, text: string): string {
  if (path.endsWith(".md")) return text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "CODE");
  const comment = path.endsWith(".sql") ? /--.*$/gm : /\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm;
  const comments = (text.match(comment) ?? []).join("\n");
  return comments.replace(/\n\s*(?:\*|\/\/|--)/g, "").replace(/`[^`\n]*`|\{@link [^}]*\}/g, "CODE");
}

/** Sentences end with a line, with a cell of a table, or with a full stop before white space. */
function longSentences(prose: string): string[] {
  const sentences = prose.replace(/\]\([^)]*\)/g, "]").split(/\n|\||(?<=[.!?:;])\s+/);
  return sentences.filter((sentence) => sentence.split(/\s+/).filter(Boolean).length > longSentence);
}

const nameOfTest =
  /\btest(?:\(|\.(?:each|skipIf|if|concurrent)\b[\s\S]{0,800}?\)\()\s*(["`])((?:\\.|(?!\1)[^\\])+)\1/g;
const fragmentsIn = (text: string) =>
  [...text.matchAll(nameOfTest)].map(([, , name = ""]) => name).filter((name) => fragment.test(name));

const found: Record<string, [number, number, number]> = {};
for (const { path, text } of files) {
  const prose = proseOf(path, text);
  const counts = found[roomOf(path)] ?? [0, 0, 0];
  found[roomOf(path)] = counts;
  counts[0] += prose.match(avoided)?.length ?? 0;
  counts[1] += path.endsWith(".md") ? longSentences(prose).length : 0;
  counts[2] += path.endsWith(".test.ts") ? fragmentsIn(text).length : 0;
}

describe("the words of the repository", () => {
  test("no folder has more avoided words, long sentences or fragments than the table allows", () => {
    const more = Object.entries(found).filter(([room, counts]) =>
      counts.some((count, at) => count > (most[room]?.[at] ?? 0)),
    );
    expect(Object.fromEntries(more)).toEqual({});
  });

  test("the counts find an avoided word, a long sentence and a fragment", () => {
    expect(proseOf("a.ts", "// Read anew.\nconst told = 1;").match(avoided)).toEqual(["anew"]);
    expect(longSentences(`${"word ".repeat(31)}. Short.`)).toHaveLength(1);
    expect(fragmentsIn('test("refuses a wrong key", () => {});\ntest("a wrong key gets 401", f)')).toEqual([
      "refuses a wrong key",
    ]);
  });

  test("a decision is a rule of at most 60 words and a reason", () => {
    const text = readFileSync(join(root, "src/decisions.md"), "utf8");
    const wrong = [...text.matchAll(/^- \*\*(D[\d.]+)\*\* (.*)$/gm)].filter(([, , decision = ""]) => {
      const [rule = "", why = ""] = decision.split(" Why: ");
      return rule.split(" ").length > 60 || why === "";
    });
    expect(wrong.map(([, number]) => number)).toEqual([]);
  });
});

if (process.env.TVS_WORDS) console.log(JSON.stringify(found));

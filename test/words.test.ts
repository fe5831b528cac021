import { describe, expect, test } from "bun:test";
import { filesBelow, read } from "./harness/repository.ts";

/**
 * How plainly the repository is written: no comment and no Markdown has a word that this project avoids, no sentence of
 * Markdown has more than 30 words, and the name of a test can be read alone.
 */

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

const files = [".", "src", "cli", "test", "data", ".ci", ".github"]
  .flatMap((folder) => filesBelow(folder, /\.(?:ts|mjs|js|sql|md)$/))
  .filter((path) => !/\.bundle\.|notices|words\.test/.test(path))
  .map((path) => ({ path, text: read(path) }));

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

describe("the words of the repository", () => {
  test("no file has an avoided word, a long sentence or a test whose name is a fragment", () => {
    const found = files.flatMap(({ path, text }) => {
      const prose = proseOf(path, text);
      return [
        ...(prose.match(avoided) ?? []),
        ...(path.endsWith(".md") ? longSentences(prose) : []),
        ...(path.endsWith(".test.ts") ? fragmentsIn(text) : []),
      ].map((words) => `${path}: ${words}`);
    });
    expect(found).toEqual([]);
  });

  test("the patterns find an avoided word, a long sentence and a fragment", () => {
    expect(proseOf("a.ts", "// Read anew.\nconst told = 1;").match(avoided)).toEqual(["anew"]);
    expect(longSentences(`${"word ".repeat(31)}. Short.`)).toHaveLength(1);
    expect(fragmentsIn('test("refuses a wrong key", () => {});\ntest("a wrong key gets 401", f)')).toEqual([
      "refuses a wrong key",
    ]);
  });

  test("a decision is a rule of at most 60 words and a reason", () => {
    const text = read("src/decisions.md");
    const wrong = [...text.matchAll(/^- \*\*(D[\d.]+)\*\* (.*)$/gm)].filter(([, , decision = ""]) => {
      const [rule = "", why = ""] = decision.split(" Why: ");
      return rule.split(" ").length > 60 || why === "";
    });
    expect(wrong.map(([, number]) => number)).toEqual([]);
  });
});

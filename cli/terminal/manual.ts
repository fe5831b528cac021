import { lexer, type Token, type Tokens } from "marked";
import alerts from "../../data/alerts.yml" with { type: "text" };
import dashboard from "../../data/grafana-dashboard.json" with { type: "text" };
import { suggestWord } from "../../src/domain/did-you-mean.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { manualTopicGroups, manualTopics, parseTopicLink } from "../../src/manual.ts";
import type { TvsCommand } from "../command.ts";
import { chooseTextWidth, exitCodes, formatHeading, formatTable, wrapIndented, wrapText } from "./output.ts";

/** The files that `tvs help --print` prints, for an operator who has only the executable. */
export const printableFiles: Readonly<Record<string, string>> = {
  "alerts.yml": alerts,
  // The compiler types this import as the parsed JSON, but at run time it is a text.
  "grafana-dashboard.json": String(dashboard),
};

type Explain = (words: readonly string[]) => Promise<number>;

/**
 * Runs `tvs help WORDS`: prints the list of topics, a page, or a command's help. If a topic and a command have the same
 * name, both are printed. @returns the exit code @throws TvsError USAGE if a word names neither
 */
export async function runHelp(words: readonly string[], root: TvsCommand, explain: Explain): Promise<number> {
  const [word] = words;
  if (word === undefined) {
    process.stdout.write(topicList());
    return exitCodes.done;
  }
  if (word === "--print") return printFile(words.slice(1));
  if (words.length > 1 || word.startsWith("-")) return explain(words);
  const topic = manualTopics.find(({ name }) => name === word);
  const commands = Object.keys(root.subCommands ?? {});
  const isCommand = commands.includes(word);
  if (topic !== undefined) {
    process.stdout.write(`${layOut(topic.text)}\n`);
    if (!isCommand) return exitCodes.done;
    process.stdout.write(`\n${formatHeading(`The command tvs ${word}`)}\n\n`);
  }
  if (isCommand) return explain(words);
  const names = manualTopics.map(({ name }) => name);
  const meant = suggestWord(word, [...commands, ...names]);
  if (meant !== "") throw new TvsError("USAGE", `there is no command or topic "${word}"${meant}`);
  return explain(words).catch((error) => {
    // The error's message lists all commands. A list of topics helps more, because `tvs help` explains topics too.
    if (!isTvsError(error, "USAGE") || !error.message.includes("; its commands: ")) throw error;
    throw new TvsError("USAGE", `there is no command or topic "${word}"; the topics are ${names.join(", ")}`);
  });
}

function printFile([name = "", ...rest]: readonly string[]): number {
  const text = Object.hasOwn(printableFiles, name) && rest.length === 0 ? printableFiles[name] : undefined;
  if (text === undefined)
    throw new TvsError("USAGE", `tvs help --print needs one of ${Object.keys(printableFiles).join(", ")}`);
  process.stdout.write(text);
  return exitCodes.done;
}

/** Lists the topics below the titles of their groups. The columns of all groups are aligned. */
function topicList(): string {
  const nameWidth = Math.max(...manualTopics.map(({ name }) => name.length));
  const sections = manualTopicGroups.map(({ title, topics: own }) => {
    const lines = own.map(({ name, summary }) => `  ${name.padEnd(nameWidth)}  ${summary}\n`);
    return `${formatHeading(title.toUpperCase())}\n${lines.join("")}`;
  });
  const more =
    "`tvs --help` lists the commands, `tvs help COMMAND` explains one, and `tvs help TOPIC` prints a page. `tvs help --print FILE` prints alerts.yml or grafana-dashboard.json, for Prometheus and Grafana.";
  return `${sections.join("")}\n${wrapText(more)}\n`;
}

/** Lays out Markdown for the terminal. Lines of code are not wrapped, so that they can be pasted. */
function layOut(markdown: string): string {
  const blocks = lexer(markdown).filter(({ type }) => type !== "space");
  return blocks.map(formatBlock).join("\n\n");
}

function formatBlock(token: Token): string {
  switch (token.type) {
    case "heading":
      return formatHeading(formatInline(token.tokens));
    case "code":
      return (token as Tokens.Code).text.replace(/^(?=.)/gm, "  ");
    case "list":
      return list(token as Tokens.List);
    case "table":
      return tableOf(token as Tokens.Table);
    default:
      return wrapText(formatInline((token as Tokens.Generic).tokens ?? [token]));
  }
}

function list({ items, ordered, start }: Tokens.List): string {
  const mark = (index: number) => (ordered ? `${Number(start) + index}. ` : "- ");
  return items.map(({ tokens }, index) => wrapIndented(mark(index), formatInline(tokens))).join("\n");
}

function tableOf({ header, rows }: Tokens.Table): string {
  const cells = (row: readonly Tokens.TableCell[]) => row.map(({ tokens }) => formatInline(tokens));
  // Output to a pipe is often read in a pager, so its tables get a terminal's width too.
  return formatTable(cells(header), rows.map(cells), { isTTY: true, columns: chooseTextWidth() });
}

/** Makes the text of inline Markdown. Code keeps its backquotes, which show where the code ends. */
function formatInline(tokens: readonly Token[] = []): string {
  return tokens
    .map((token): string => {
      if (token.type === "codespan") return `\`${(token as Tokens.Codespan).text}\``;
      if (token.type === "link") return link(token as Tokens.Link);
      const { tokens: inner, text = "" } = token as Tokens.Generic;
      return inner === undefined ? text : formatInline(inner);
    })
    .join("")
    .replaceAll("\n", " ");
}

function link({ tokens, href }: Tokens.Link): string {
  const topic = parseTopicLink(href)?.name;
  const text = formatInline(tokens);
  // A link to a heading of the same page cannot be followed in a terminal.
  if (href.startsWith("#")) return text;
  return topic === undefined ? `${text} (${href})` : `${text} (\`tvs help ${topic}\`)`;
}

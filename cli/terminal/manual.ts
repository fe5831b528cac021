/** `tvs help`: the manual's pages, laid out for a terminal. */

import { lexer, type Token, type Tokens } from "marked";
import alerts from "../../data/alerts.yml" with { type: "text" };
import dashboard from "../../data/grafana-dashboard.json" with { type: "text" };
import { suggestion } from "../../src/domain/did-you-mean.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { linkedTopic, topicGroups, topics } from "../../src/manual.ts";
import type { OurCommand } from "../command.ts";
import { exitCodes, heading, table, terminalWidth } from "./output.ts";
import { wrapped } from "./tables.ts";

/** The files that `tvs help --print` writes for an operator who has the executable alone. */
export const printedFiles: Readonly<Record<string, string>> = {
  "alerts.yml": alerts,
  // The compiler takes every import of a .json file for its parsed value.
  "grafana-dashboard.json": String(dashboard),
};

/** Prints the help of the command that the words name. @returns the exit code */
type Explain = (words: readonly string[]) => Promise<number>;

/**
 * Runs `tvs help WORDS`: prints the topics, a page, a command's help, or a page and the help of the command of that name.
 * @returns the exit code @throws TvsError USAGE for a word that names neither
 */
export async function help(words: readonly string[], root: OurCommand, explain: Explain): Promise<number> {
  const [word] = words;
  if (word === undefined) {
    process.stdout.write(topicList());
    return exitCodes.done;
  }
  if (word === "--print") return printFile(words.slice(1));
  if (words.length > 1 || word.startsWith("-")) return explain(words);
  const topic = topics.find(({ name }) => name === word);
  const commands = Object.keys(root.subCommands ?? {});
  const isCommand = commands.includes(word);
  if (topic !== undefined) {
    process.stdout.write(`${laidOut(topic.text)}\n`);
    if (!isCommand) return exitCodes.done;
    process.stdout.write(`\n${heading(`The command tvs ${word}`)}\n\n`);
  }
  if (isCommand) return explain(words);
  const names = topics.map(({ name }) => name);
  const meant = suggestion(word, [...commands, ...names]);
  if (meant !== "") throw new TvsError("USAGE", `there is no command or topic "${word}"${meant}`);
  return explain(words).catch((error) => {
    // The message lists commands. Here a list of topics helps.
    if (!isTvsError(error, "USAGE") || !error.message.includes("; its commands: ")) throw error;
    throw new TvsError("USAGE", `there is no command or topic "${word}"; the topics are ${names.join(", ")}`);
  });
}

/** @throws TvsError USAGE for any words but the name of one file */
function printFile([name = "", ...rest]: readonly string[]): number {
  const text = Object.hasOwn(printedFiles, name) && rest.length === 0 ? printedFiles[name] : undefined;
  if (text === undefined)
    throw new TvsError("USAGE", `tvs help --print needs one of ${Object.keys(printedFiles).join(", ")}`);
  process.stdout.write(text);
  return exitCodes.done;
}

/** The topics under the titles of their groups, in columns that line up across the groups. */
function topicList(): string {
  const nameWidth = Math.max(...topics.map(({ name }) => name.length));
  const sections = topicGroups.map(({ title, topics: own }) => {
    const lines = own.map(({ name, summary }) => `  ${name.padEnd(nameWidth)}  ${summary}\n`);
    return `${heading(title.toUpperCase())}\n${lines.join("")}`;
  });
  const more =
    "`tvs --help` lists the commands, `tvs help COMMAND` explains one, and `tvs help TOPIC` prints a page. `tvs help --print FILE` prints alerts.yml or grafana-dashboard.json, for Prometheus and Grafana.";
  return `${sections.join("")}\n${wrapped(more, terminalWidth())}\n`;
}

/** Markdown as text in lines that fit the terminal. Code blocks keep their lines, for pasting. */
function laidOut(markdown: string): string {
  const blocks = lexer(markdown).filter(({ type }) => type !== "space");
  return blocks.map(block).join("\n\n");
}

function block(token: Token): string {
  switch (token.type) {
    case "heading":
      return heading(inline(token.tokens));
    case "code":
      return (token as Tokens.Code).text.replace(/^(?=.)/gm, "  ");
    case "list":
      return list(token as Tokens.List);
    case "table":
      return tableOf(token as Tokens.Table);
    default:
      return wrapped(inline((token as Tokens.Generic).tokens ?? [token]), terminalWidth());
  }
}

function list({ items, ordered, start }: Tokens.List): string {
  return items
    .map(({ tokens }, index) => {
      const mark = ordered ? `${Number(start) + index}. ` : "- ";
      return `${mark}${wrapped(inline(tokens), terminalWidth() - mark.length, `\n${" ".repeat(mark.length)}`)}`;
    })
    .join("\n");
}

function tableOf({ header, rows }: Tokens.Table): string {
  const cells = (row: readonly Tokens.TableCell[]) => row.map(({ tokens }) => inline(tokens));
  // A page in a pipe is read in a pager, so its tables have a terminal's width too.
  return table(cells(header), rows.map(cells), { isTTY: true, columns: terminalWidth() });
}

/** The text of a line. Code keeps its quotes, so that its end is visible. */
function inline(tokens: readonly Token[] = []): string {
  return tokens
    .map((token): string => {
      if (token.type === "codespan") return `\`${(token as Tokens.Codespan).text}\``;
      if (token.type === "link") return link(token as Tokens.Link);
      const { tokens: inner, text = "" } = token as Tokens.Generic;
      return inner === undefined ? text : inline(inner);
    })
    .join("")
    .replaceAll("\n", " ");
}

function link({ tokens, href }: Tokens.Link): string {
  const topic = linkedTopic(href)?.name;
  const text = inline(tokens);
  // A link within the page.
  if (href.startsWith("#")) return text;
  return topic === undefined ? `${text} (${href})` : `${text} (\`tvs help ${topic}\`)`;
}

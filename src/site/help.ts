import { html, raw } from "hono/html";
import type { Tokens } from "marked";
import { TvsError } from "../domain/errors.ts";
import type { PageHandler } from "../http/context.ts";
import type { ManualTopic } from "../manual.ts";
import { headingIdOf, manualTopicGroups, manualTopics, parseTopicLink, topicTitleOf } from "../manual.ts";
import { englishTexts, formatLanguageQuery, type Language } from "./language.ts";
import { type SitePage, sendCachedPage } from "./shell.ts";

const folder = "/v1/inter-agency/help/";
const { manual } = englishTexts;

/** Sends the table of contents of the operator's manual. `tvs help` prints the same topics. */
export const sendManualContents: PageHandler = (c) => sendCachedPage(c, { path: folder }, contentsPage);

export const sendManualTopic: PageHandler = (c) => {
  const found = manualTopics.find(({ name }) => name === c.req.param("topic"));
  if (found === undefined) throw new TvsError("PATH_UNKNOWN", "the manual has no such page");
  return sendCachedPage(c, { path: `${folder}${found.name}` }, (language) => topicPage(found, language));
};

type HelpPage = Pick<SitePage, "title" | "description" | "main" | "languages">;

function contentsPage(language: Language): HelpPage {
  const { manual } = language.texts;
  const query = formatLanguageQuery(language);
  const item = (topic: ManualTopic) =>
    html`<li><a href="${topic.name}${query}">${topicTitleOf(topic)}</a><br>${topic.summary}</li>`;
  const sections = manualTopicGroups.map(
    (group) => html`<section lang="en"><h2>${group.title}</h2>
<ul>
${group.topics.map(item)}
</ul></section>
`,
  );
  const main = html`<h1>${manual.title}</h1>
<p class="lead">${manual.lead} <code>tvs help TOPIC</code></p>
${sections}<p><a href="../getting-started${query}">${manual.partners}</a></p>`;
  return { title: manual.title, description: manual.about, main };
}

async function topicPage(topic: ManualTopic, language: Language): Promise<HelpPage> {
  const query = formatLanguageQuery(language);
  const text = raw(await renderedHtml(topic.text, query));
  const main = html`<p class="up screen"><a href="./${query}">${manual.title}</a></p>
${text}<p><a href="./${query}">${manual.all}</a></p>`;
  return { title: topicTitleOf(topic), description: topic.summary, main, languages: false };
}

/** Renders a topic as HTML. The Markdown is a file of this program, so the HTML needs no sanitizer. */
async function renderedHtml(markdown: string, query: string): Promise<string> {
  // Most processes never serve the manual, so the parser is loaded at the first page.
  const { Marked, Renderer } = await import("marked");
  const plain = new Renderer();
  let tables = 0;
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${headingIdOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      table(token) {
        plain.parser = this.parser;
        const table = plain.table(token).replace(/<th(?=[ >])/g, '<th scope="col"');
        // An element that scrolls by keyboard needs an accessible name.
        const name = manual.table(++tables);
        return `<div class="scroll records" tabindex="0" role="region" aria-label="${name}">${labelled(table, token)}</div>\n`;
      },
      link({ href, tokens }) {
        const topic = parseTopicLink(href);
        const address = topic === null ? href : `${topic.name}${query}${topic.anchor}`;
        return `<a href="${address}">${this.parser.parseInline(tokens)}</a>`;
      },
    },
  });
  return marked.parse(markdown, { async: false });
}

/** Adds the column's heading to each cell, for narrow screens. A row that begins with an error code gets the code as its id. */
function labelled(table: string, { header, rows }: Tokens.Table): string {
  let column = 0;
  let row = -1;
  return table.replace(/<tr>|<td/g, (tag) => {
    if (tag === "<td") return `<td data-label="${header[column++]?.text ?? ""}"`;
    column = 0;
    const [, code] = /^`([A-Z]+(?:_[A-Z]+)*)`$/.exec(rows[row++]?.[0]?.text ?? "") ?? [];
    return code === undefined ? tag : `<tr id="${code}">`;
  });
}

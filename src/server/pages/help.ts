import type { Context } from "hono";
import { html, raw } from "hono/html";
import type { Tokens } from "marked";
import { TvsError } from "../../domain/errors.ts";
import { headingId, linkedTopic, type Topic, titleOf, topics } from "../../manual.ts";
import type { AppEnv, PageHandler } from "../http/hono-call.ts";
import { compressedDocument, once, type PublicDocument, sendDocument } from "../public-document.ts";
import type { Service } from "../service.ts";
import { type Markup, pageFrame, protectPage } from "./shell.ts";
import { english } from "./texts-en.ts";

/** Where the manual stands; its index is the folder itself. */
const folder = "/v1/inter-agency/help/";

/** The operator's manual (`tvs help`) as pages, each rendered once, when it is first asked for. English only. */
export function helpPages({ keyKind }: Pick<Service, "keyKind">) {
  const sandbox = keyKind === "test";
  const rendered = (name: string, make: () => Promise<HelpPage>) =>
    once(async () => framed(name, await make(), sandbox));
  const contentsPage = rendered("", index);
  const pages = new Map(topics.map((one) => [one.name, rendered(one.name, () => topicPage(one))]));
  async function send(c: Context<AppEnv>, page: () => Promise<PublicDocument>): Promise<Response> {
    protectPage(c);
    return sendDocument(c, await page());
  }
  const toFolder: PageHandler = (c) => c.redirect("help/", 308);
  const contents: PageHandler = (c) => send(c, contentsPage);
  const topic: PageHandler = (c) => {
    const found = pages.get(c.req.param("topic") ?? "");
    if (found === undefined) throw new TvsError("PATH_UNKNOWN", "the manual has no such page");
    return send(c, found);
  };
  return { toFolder, contents, topic };
}

type HelpPage = { readonly title: string; readonly main: Markup };

async function framed(name: string, { title, main }: HelpPage, sandbox: boolean): Promise<PublicDocument> {
  const language = { tag: "en", texts: english };
  const path = `${folder}${name}`;
  const page = pageFrame({ language, path, title, main, sandbox, languages: false });
  return compressedDocument(String(await page), "text/html; charset=utf-8");
}

async function index(): Promise<HelpPage> {
  const title = "The operator’s manual";
  const main = html`<h1>${title}</h1>
<p class="lead">For whoever runs the service. The program carries the same pages: <code>tvs help TOPIC</code> prints one.</p>
<ul>
${topics.map((topic) => html`<li><a href="${topic.name}">${titleOf(topic)}</a><br>${topic.summary}</li>`)}
</ul>
<p>Partners’ engineers begin at <a href="../getting-started">Getting started</a>.</p>`;
  return { title, main };
}

async function topicPage(topic: Topic): Promise<HelpPage> {
  const text = raw(await renderedHtml(topic.text));
  const main = html`${text}<p><a href="./">All pages of the manual</a></p>`;
  return { title: titleOf(topic), main };
}

/** A page's Markdown as HTML. It is our own text: nothing in it is anybody's input. */
async function renderedHtml(markdown: string): Promise<string> {
  // Loaded here, because most services never serve a page of the manual.
  const { Marked, Renderer } = await import("marked");
  const plain = new Renderer();
  let blocks = 0;
  /** What may be wider than a phone scrolls by itself, by keyboard too, and so must have a name. */
  const scrolling = (kind: string) => `tabindex="0" role="region" aria-label="${kind} ${++blocks}"`;
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${headingId(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code(token) {
        return plain.code(token).replace("<pre>", `<pre ${scrolling("Commands")}>`);
      },
      table(token) {
        plain.parser = this.parser;
        const table = plain.table(token).replace(/<th(?=[ >])/g, '<th scope="col"');
        return `<div class="scroll records" ${scrolling("Table")}>${labelled(table, token.header)}</div>\n`;
      },
      link({ href, tokens }) {
        const topic = linkedTopic(href);
        const address = topic === null ? href : `${topic.name}${topic.anchor}`;
        return `<a href="${address}">${this.parser.parseInline(tokens)}</a>`;
      },
    },
  });
  return marked.parse(markdown, { async: false });
}

/** A table whose cells carry the heading of their column, which a phone shows above each: there a row is a record. */
function labelled(table: string, header: readonly Tokens.TableCell[]): string {
  let column = 0;
  return table.replace(/<tr>|<td/g, (tag) => {
    if (tag === "<td") return `<td data-label="${header[column++]?.text ?? ""}"`;
    column = 0;
    return tag;
  });
}

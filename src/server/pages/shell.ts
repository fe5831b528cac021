/** The frame of every page: head, header, footer, and the headers that protect it. */

import { createHash } from "node:crypto";
import type { Context } from "hono";
import { html, raw } from "hono/html";
import { allLanguages, type Language, pickLanguage } from "./language.ts";
import { pageStyle } from "./style.ts";

/** HTML whose values were escaped where they were put in (`html` of hono/html). */
export type Markup = ReturnType<typeof html>;

export type Page = {
  readonly language: Language;
  /** The path under which the application knows the page, `/` first; links are relative to it. */
  readonly path: string;
  /** The page's own title; the service's name follows it. */
  readonly title: string;
  readonly main: Markup;
  /** Says on every page that nobody in this register is real. */
  readonly sandbox: boolean;
  /** Whether the page speaks every language there is; else it offers no choice. */
  readonly languages?: boolean;
  /** Addresses of scripts of ours, relative to the page; they run when the page has been read. */
  readonly scripts?: readonly string[];
  /** Addresses of style sheets of ours, besides the common one. */
  readonly styles?: readonly string[];
};

const style = minified(pageStyle);

/** The common style sheet stands in the page, which saves a slow phone a round trip; its hash lets it. */
export const styleHash = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;

/** What a page may load and do. Anything that is not named here is refused by the browser. */
export type Allowances = Readonly<Record<string, readonly string[]>>;

/**
 * The Content-Security-Policy of a page: nothing at all, but for the style in it, the icon, forms to ourselves, and
 * what is named.
 * @param allowances directives to add to or to replace, for example `{ "script-src": ["'self'"] }`
 */
function contentSecurityPolicy(allowances: Allowances = {}): string {
  const directives: Record<string, readonly string[]> = {
    "default-src": ["'none'"],
    "style-src": [styleHash],
    "img-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
    ...allowances,
  };
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources.join(" ")}`)
    .join("; ");
}

/** The policy of a page that consists of files: it loads its own alone, and nothing may frame it. */
export const ownFilesPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The headers that every page has; an address is never told to another site. */
export function protectPage(c: Context, allowances: Allowances = {}): void {
  c.header("Content-Security-Policy", contentSecurityPolicy(allowances));
  c.header("Referrer-Policy", "no-referrer");
  c.header("Cross-Origin-Opener-Policy", "same-origin");
  c.header("X-Frame-Options", "DENY");
}

/** The reader's language, by `?lang=` and Accept-Language; the answer's headers say that it depends on it. */
export function languageOf(c: Context): Language {
  const language = pickLanguage(c.req.query("lang"), c.req.header("Accept-Language"));
  c.header("Content-Language", language.tag);
  c.header("Vary", "Accept-Language", { append: true });
  return language;
}

/** The relative way from a page to the top: `/v1/a/b` is two folders down. */
function toTop(path: string): string {
  return "../".repeat(Math.max(0, path.split("/").length - 2)) || "./";
}

/** The whole document around a page's own part. */
export function pageFrame(page: Page): Markup {
  const { language, path, title, main, sandbox } = page;
  const { service, shell } = language.texts;
  const top = toTop(path);
  return html`<!doctype html>
<html lang="${language.tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === service ? service : `${title} – ${service}`}</title>
<link rel="icon" href="${top}icon.svg" type="image/svg+xml">
<style>${raw(style)}</style>
${(page.styles ?? []).map((href) => html`<link rel="stylesheet" href="${href}">`)}
${(page.scripts ?? []).map((src) => html`<script type="module" src="${src}"></script>`)}
</head>
<body>
<a class="skip" href="#main">${shell.skip}</a>
<header><div class="width">${mark}<a href="${top}">${service}</a></div></header>
${sandbox ? html`<aside class="sandbox" aria-label="${shell.sandbox}"><p class="width"><strong>${shell.sandbox}</strong> ${shell.sandboxMeaning}</p></aside>` : ""}
<main id="main" class="width" tabindex="-1">
${main}
</main>
<footer><nav class="width" aria-label="${shell.footer}">
<ul class="nav">
<li><a href="${top}">${shell.home}</a></li>
<li><a href="${top}verify-envelope">${shell.verifyEnvelope}</a></li>
<li><a href="${top}v1/inter-agency/getting-started">${shell.gettingStarted}</a></li>
<li><a href="${top}v1/inter-agency/docs">${shell.reference}</a></li>
<li><a href="${top}v1/inter-agency/help/">${shell.manual}</a></li>
</ul>
${page.languages === false ? "" : languageChoice(language)}
</nav></footer>
</body>
</html>
`;
}

/** Links to the page in every language; with a single one there is nothing to choose. */
function languageChoice(current: Language): Markup | string {
  if (allLanguages.length < 2) return "";
  return html`<ul class="nav" aria-label="${current.texts.shell.languages}">
${allLanguages.map(
  ({ tag, texts }) =>
    html`<li><a href="?lang=${tag}" lang="${tag}" hreflang="${tag}">${texts.languageName}</a></li>`,
)}
</ul>`;
}

const drawing =
  '<path fill="currentColor" d="M12 1 3 4.5v6.3c0 5.4 3.8 10.4 9 12.2 5.2-1.8 9-6.8 9-12.2V4.5L12 1z"/>' +
  '<path fill="none" stroke="#0a4d36" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" d="m7.6 12 3.1 3.1 5.8-6"/>';

const mark = raw(`<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">${drawing}</svg>`);

/** The mark as a file of its own, for the browser's tab. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" color="#6fd3a6">${drawing}</svg>`;

/** White space at the ends of lines and between rules costs a slow phone bytes and shows nowhere. */
function minified(css: string): string {
  return css
    .replace(/\s+/g, " ")
    .replace(/ ?([{};,]) ?/g, "$1")
    .replaceAll(";}", "}")
    .trim();
}

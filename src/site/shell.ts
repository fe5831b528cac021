/** The HTML frame of every page (head, header, footer) and the security headers of the response. */

import { createHash } from "node:crypto";
import type { Context } from "hono";
import { html, raw } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { compressDocument, sendDocument, sendText } from "../api/public-document.ts";
import type { Settings } from "../domain/settings.ts";
import type { SiteDetails } from "../domain/site.ts";
import type { HonoEnv } from "../http/context.ts";
import { allLanguages, formatLanguageQuery, type Language, pickLanguage } from "./language.ts";
import pageStyle from "./style.css" with { type: "text" };

/** HTML in which the `html` tag of hono/html has escaped the inserted values. */
export type Markup = ReturnType<typeof html>;

const drawing =
  '<path fill="currentColor" d="M12 1 3 4.5v6.3c0 5.4 3.8 10.4 9 12.2 5.2-1.8 9-6.8 9-12.2V4.5L12 1z"/>' +
  '<path class="tick" fill="none" stroke="#0a4d36" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" d="m7.6 12 3.1 3.1 5.8-6"/>';

const mark = raw(`<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">${drawing}</svg>`);

/** The service's symbol as an SVG file, which browsers show in the tab. */
export const iconSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" color="#6fd3a6">${drawing}</svg>`;

/** Makes the page's header: the registry's logo and name, and the service's name. @param top relative path to the first page */
function siteHead(site: SiteDetails, language: Language, top: string): Markup {
  const { texts } = language;
  const picture = site.logo === null ? mark : html`<img class="logo" src="${top}logo" alt="">`;
  const names =
    site.name === null
      ? texts.service
      : html`<span>${site.name}</span> <span class="service">${texts.service}</span>`;
  return html`<header><div class="width">${picture}<a href="${top}${formatLanguageQuery(language)}">${names}</a></div></header>`;
}

export const formatTelephoneLink = (phone: string) => `tel:${phone.replace(/[^\d+]/g, "")}`;

/** Makes the operator's contact and the links to the operator's pages on privacy, accessibility and wrong records. */
function siteFoot(site: SiteDetails, { texts: { shell } }: Language): Markup | string {
  const { email, phone, url, address } = site.contact;
  const link = (href: string, text: string) => html`<a href="${href}">${text}</a>`;
  const facts: [string, Markup | string][] = [];
  if (address !== undefined) facts.push([shell.address, address]);
  if (email !== undefined) facts.push([shell.email, link(`mailto:${email}`, email)]);
  if (phone !== undefined) facts.push([shell.phone, link(formatTelephoneLink(phone), phone)]);
  if (url !== undefined) facts.push([shell.website, link(url, new URL(url).host)]);
  const pages: [string | null, string][] = [
    [site.reportUrl, shell.report],
    [site.privacyUrl, shell.privacy],
    [site.accessibilityUrl, shell.accessibility],
  ];
  const links = pages.flatMap(([href, text]) => (href === null ? [] : [link(href, text)]));
  if (facts.length === 0 && links.length === 0 && site.name === null) return "";
  return html`<section class="width site" aria-labelledby="contact">
<h2 id="contact">${site.name ?? shell.contact}</h2>
${facts.length === 0 ? "" : html`<dl>${facts.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`}
${links.length === 0 ? "" : html`<ul class="nav">${links.map((one) => html`<li>${one}</li>`)}</ul>`}
</section>`;
}

export type SitePage = {
  readonly language: Language;
  /** The page's path in the app, which begins with `/`. The page's links are relative to this path. */
  readonly path: string;
  /** The title without the service's name, which the frame adds. */
  readonly title: string;
  /** One sentence for search engines and link previews. Without a description, the page is `noindex`. */
  readonly description?: string;
  readonly main: Markup;
  /** True if the page must say that nobody in this register is a real person. */
  readonly sandbox: boolean;
  readonly site: SiteDetails;
  /** False if `main` is in English only. */
  readonly languages?: boolean;
  /** Relative URLs of JavaScript modules. */
  readonly scripts?: readonly string[];
  /** Relative URLs of further style sheets. The common style sheet is inline. */
  readonly styles?: readonly string[];
};

const style = minified(pageStyle);

/** CSP source that allows the common style sheet. The sheet is inline, which saves a slow phone a round trip. */
export const styleCspSource = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;

export type CspDirectives = Readonly<Record<string, readonly string[]>>;

/** Makes a CSP that allows only this service's styles, images and forms. `cspDirectives` adds or replaces directives. */
function contentSecurityPolicy(cspDirectives: CspDirectives): string {
  const directives: CspDirectives = {
    "default-src": ["'none'"],
    "style-src": [styleCspSource, "'self'"],
    "img-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
    ...cspDirectives,
  };
  const written = Object.entries(directives).map(([name, sources]) => `${name} ${sources.join(" ")}`);
  return written.join("; ");
}

/** The Content-Security-Policy of pages whose scripts and styles are all files of this service, and never inline. */
export const cspWithoutInline = contentSecurityPolicy({
  "script-src": ["'self'"],
  "style-src": ["'self'"],
  "img-src": ["'self'", "data:"],
  "connect-src": ["'self'"],
});

/** Sets the security headers of a page. `Referrer-Policy` keeps the page's URL, which may name a teacher, from other sites. */
export function setSecurityHeaders(c: Context, cspDirectives: CspDirectives = {}): void {
  c.header("Content-Security-Policy", contentSecurityPolicy(cspDirectives));
  c.header("Referrer-Policy", "no-referrer");
  c.header("Cross-Origin-Opener-Policy", "same-origin");
  c.header("X-Frame-Options", "DENY");
}

/** Picks the reader's language by `?lang=` and `Accept-Language`, and sets `Content-Language` and `Vary`. */
function languageOf(c: Context): Language {
  const language = pickLanguage(c.req.query("lang"), c.req.header("Accept-Language"));
  c.header("Content-Language", language.tag);
  c.header("Vary", "Accept-Language", { append: true });
  return language;
}

/** The maximum number of `../` in a link. Without a maximum, a URL of thousands of slashes would lengthen every link. */
const maxFolders = 16;

/** Makes the relative path from a page to the site's root: `../../` for `/v1/a/b`. */
export function pathToRoot(path: string): string {
  return "../".repeat(Math.min(maxFolders, Math.max(0, path.split("/").length - 2))) || "./";
}

function pageFrame(page: SitePage): Markup {
  const { language, path, main, sandbox, site } = page;
  const { shell } = language.texts;
  const top = pathToRoot(path);
  const query = formatLanguageQuery(language);
  const isForeign = page.languages === false && language.tag !== "en";
  return html`<!doctype html>
<html lang="${language.tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${titleOf(page)}</title>
${page.description === undefined ? html`<meta name="robots" content="noindex, nofollow">` : renderPreviewTags(page.title, page.description)}
<link rel="icon" href="${top}icon.svg" type="image/svg+xml">
<style>${raw(style)}</style>
${site.accent === null ? "" : html`<link rel="stylesheet" href="${top}site.css?${site.accent.slice(1)}">`}
${(page.styles ?? []).map((href) => html`<link rel="stylesheet" href="${href}">`)}
${(page.scripts ?? []).map((src) => html`<script type="module" src="${src}"></script>`)}
</head>
<body>
<a class="skip" href="#main">${shell.skip}</a>
${siteHead(site, language, top)}
${sandbox ? html`<aside class="sandbox" aria-label="${shell.sandbox}"><p class="width"><strong>${shell.sandbox}</strong> ${shell.sandboxMeaning}</p></aside>` : ""}
<main id="main" class="width" tabindex="-1">
${isForeign ? html`<p class="soft">${shell.onlyEnglish}</p><div lang="en">${main}</div>` : main}
</main>
<footer>${siteFoot(site, language)}<nav class="width" aria-label="${shell.footer}">
<ul class="nav">
<li><a href="${top}${query}">${shell.home}</a></li>
<li><a href="${top}verify-envelope${query}">${shell.verifyEnvelope}</a></li>
<li><a href="${top}v1/inter-agency/getting-started${query}">${shell.gettingStarted}</a></li>
<li><a href="${top}v1/inter-agency/docs${query}">${shell.reference}</a></li>
<li><a href="${top}v1/inter-agency/help/${query}">${shell.manual}</a></li>
</ul>
${languageChoice(language)}
</nav></footer>
</body>
</html>
`;
}

/** Makes the meta elements from which search engines and messengers make a preview of the page. */
export function renderPreviewTags(title: string, description: string): Markup {
  return html`<meta name="description" content="${description}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">`;
}

function titleOf({ title, site, language }: SitePage): string {
  const { service } = language.texts;
  return [...new Set([title, service, ...(site.name === null ? [] : [site.name])])].join(" – ");
}

/** Makes the links to the same page in the other languages, if there are any. */
function languageChoice(current: Language): Markup | string {
  if (allLanguages.length < 2) return "";
  return html`<ul class="nav" aria-label="${current.texts.shell.languages}">
${allLanguages.map(({ tag, texts }) =>
  tag === current.tag
    ? html`<li aria-current="true">${texts.languageName}</li>`
    : html`<li><a href="?lang=${tag}" lang="${tag}" hreflang="${tag}">${texts.languageName}</a></li>`,
)}
</ul>`;
}

/** Removes comments and white space, because the style sheet is in every page. */
function minified(css: string): string {
  return css
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\s+/g, " ")
    .replace(/ ?([{};,]) ?/g, "$1")
    .replaceAll(";}", "}")
    .trim();
}

type Part = Omit<SitePage, "language" | "path" | "sandbox" | "site">;

type About = {
  readonly path: string;
  readonly cspDirectives?: CspDirectives | undefined;
};

export const htmlContentType = "text/html; charset=utf-8";

/** Sets the headers that all pages have. @returns the reader's language, and the function that makes the page's HTML */
function beginPage(c: Context<HonoEnv>, { path, cspDirectives }: About) {
  const language = languageOf(c);
  setSecurityHeaders(c, cspDirectives);
  const sandbox = c.get("parts").service.keyKind === "test";
  const frame = async (part: Part, { site }: Settings) =>
    String(await pageFrame({ ...part, path, language, site, sandbox }));
  return { language, frame };
}

/** Makes a page for this request and sends it with `no-store`. */
export async function sendUncachedPage(
  c: Context<HonoEnv>,
  { status = 200, ...about }: About & { readonly status?: ContentfulStatusCode },
  part: (language: Language, settings: Settings) => Part,
): Promise<Response> {
  const { language, frame } = beginPage(c, about);
  c.header("Cache-Control", "no-store");
  const { settings } = c.get("parts").service.configuration.current();
  return sendText(c, await frame(part(language, settings), settings), { type: htmlContentType, status });
}

/** Sends a page from the cache, which has one copy per path, `name` and language. `part` makes a page that the cache lacks. */
export async function sendCachedPage(
  c: Context<HonoEnv>,
  { name = "", cacheControl, ...about }: About & { readonly name?: string; readonly cacheControl?: string },
  part: (language: Language, settings: Settings) => Part | Promise<Part>,
): Promise<Response> {
  const { language, frame } = beginPage(c, about);
  const key = JSON.stringify([about.path, name, language.tag, language.asked]);
  const page = await c.get("parts").documents(key, async (settings) => {
    return compressDocument(await frame(await part(language, settings), settings), htmlContentType);
  });
  return sendDocument(c, page, cacheControl);
}

/** Whose site it is (decision D8.4): what a page's head and foot say of it. */

import { html, raw } from "hono/html";
import type { Site } from "../domain/site.ts";
import type { Language } from "./language.ts";
import type { Markup } from "./markup.ts";

const drawing =
  '<path fill="currentColor" d="M12 1 3 4.5v6.3c0 5.4 3.8 10.4 9 12.2 5.2-1.8 9-6.8 9-12.2V4.5L12 1z"/>' +
  '<path class="tick" fill="none" stroke="#0a4d36" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" d="m7.6 12 3.1 3.1 5.8-6"/>';

const mark = raw(`<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">${drawing}</svg>`);

/** The service's own mark as a file, for the browser's tab. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" color="#6fd3a6">${drawing}</svg>`;

/** Where a page is, seen from itself. */
type Place = {
  /** The way to the first page. */
  readonly top: string;
  /** `?lang=…` where the reader asked for a language, so that the next page speaks it too. */
  readonly query: string;
};

/** The head: the registry's logo and name, and the service's; without a name the service's alone. */
export function siteHead(site: Site, { texts }: Language, { top, query }: Place): Markup {
  const picture = site.logo === null ? mark : html`<img class="logo" src="${top}logo" alt="">`;
  const names =
    site.name === null
      ? texts.service
      : html`<span>${site.name}</span> <span class="service">${texts.service}</span>`;
  return html`<header><div class="width">${picture}<a href="${top}${query}">${names}</a></div></header>`;
}

/** The link to the accent's style sheet, whose address changes with the colour. */
export function accentLink({ accent }: Site, { top }: Pick<Place, "top">): Markup | string {
  return accent === null ? "" : html`<link rel="stylesheet" href="${top}site.css?${accent.slice(1)}">`;
}

/** Whom to write to, and the site's own pages about privacy, accessibility and wrong records. */
export function siteFoot(site: Site, { texts: { shell } }: Language): Markup | string {
  const { email, phone, url, address } = site.contact;
  const facts = [
    address === undefined ? null : ([shell.address, address] as const),
    email === undefined ? null : ([shell.email, html`<a href="mailto:${email}">${email}</a>`] as const),
    phone === undefined ? null : ([shell.phone, html`<a href="tel:${telOf(phone)}">${phone}</a>`] as const),
    url === undefined ? null : ([shell.website, html`<a href="${url}">${new URL(url).host}</a>`] as const),
  ].filter((one) => one !== null);
  const links = (
    [
      [site.reportUrl, shell.report],
      [site.privacyUrl, shell.privacy],
      [site.accessibilityUrl, shell.accessibility],
    ] as const
  ).filter(([address]) => address !== null);
  if (facts.length === 0 && links.length === 0 && site.name === null) return "";
  return html`<section class="width site" aria-labelledby="contact">
<h2 id="contact">${site.name ?? shell.contact}</h2>
${facts.length === 0 ? "" : html`<dl>${facts.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`}
${links.length === 0 ? "" : html`<ul class="nav">${links.map(([address, text]) => html`<li><a href="${address}">${text}</a></li>`)}</ul>`}
</section>`;
}

function telOf(phone: string): string {
  return phone.replace(/[^\d+]/g, "");
}

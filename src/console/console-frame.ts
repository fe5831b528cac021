/** The frame of every page of the console: its head, and the way to the others, which stand in the same folder. */

import { html, raw } from "hono/html";
import type { Markup } from "./markup.ts";

const places = [
  ["/", "Now"],
  ["/teachers", "Teachers"],
  ["/attestations", "Attestations"],
  ["/deliveries", "Deliveries"],
  ["/imports", "Imports"],
  ["/changes", "Changes"],
] as const;

/** Belongs to a list, and is no place of its own. */
const parents: Readonly<Record<string, string>> = { "/teacher": "/teachers", "/import": "/imports" };

export function consoleNav(path: string): Markup {
  const here = parents[path] ?? path;
  return html`<nav aria-label="Console"><ul>${places.map(
    ([to, name]) =>
      html`<li><a href=".${to}"${to === here ? html` aria-current="page"` : ""}>${name}</a></li>`,
  )}</ul></nav>`;
}

/** A page that shows what it was asked for, and does not change by itself. */
export function consoleFrame({ title, path, main }: { title: string; path: string; main: Markup }): Markup {
  return consoleDocument(`${title} – tvs console`, {
    head: html``,
    body: html`<header><h1>${title}</h1> ${consoleNav(path)}</header>
<main>${main}</main>
<footer><p>This page only reads. To act, paste a command into a terminal on this machine.</p></footer>`,
  });
}

export function consoleDocument(title: string, { head, body }: { head: Markup; body: Markup }): Markup {
  return html`${raw("<!doctype html>")}
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/console.css">
${head}</head><body>${body}</body></html>`;
}

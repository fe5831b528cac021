/** The rows of the table of routes for the pages: what people open, and the files that the pages load. */

import type { PageRoute } from "./routes.ts";

const api = "/v1/inter-agency";

export const pageRoutes: readonly PageRoute[] = [
  { method: "GET", path: `${api}/docs`, traffic: "other", page: ({ reference }) => reference.page },
  { method: "GET", path: `${api}/docs/reference.js`, page: ({ reference }) => reference.script },
  { method: "GET", path: `${api}/docs/reference.css`, page: ({ reference }) => reference.style },
  {
    method: "GET",
    path: `${api}/getting-started`,
    traffic: "other",
    page: ({ gettingStarted }) => gettingStarted.page,
  },
  {
    method: "GET",
    path: `${api}/getting-started/page.js`,
    page: ({ gettingStarted }) => gettingStarted.script,
  },
  {
    method: "GET",
    path: `${api}/getting-started/page.css`,
    page: ({ gettingStarted }) => gettingStarted.style,
  },
  {
    method: "GET",
    path: `${api}/getting-started/copy-button.js`,
    page: ({ gettingStarted }) => gettingStarted.copyButton,
  },
  {
    method: "GET",
    path: `${api}/examples/{language}/{file}`,
    page: ({ gettingStarted }) => gettingStarted.example,
  },
  { method: "GET", path: `${api}/help`, traffic: "other", page: ({ help }) => help.toFolder },
  { method: "GET", path: `${api}/help/`, traffic: "other", page: ({ help }) => help.contents },
  { method: "GET", path: `${api}/help/{topic}`, traffic: "other", page: ({ help }) => help.topic },
  { method: "GET", path: "/robots.txt", page: ({ site }) => site.robots },
  { method: "GET", path: "/logo", page: ({ site }) => site.logo },
  { method: "GET", path: "/site.css", page: ({ site }) => site.style },
  { method: "GET", path: "/docs", traffic: "other", page: ({ site }) => site.leadTo("v1/inter-agency/docs") },
  { method: "GET", path: api, traffic: "other", page: ({ site }) => site.leadTo("inter-agency/docs") },
  { method: "GET", path: "/icon.svg", page: ({ site }) => site.icon },
  { method: "GET", path: "/", traffic: "other", page: ({ lookup }) => lookup.show },
  { method: "POST", path: "/", traffic: "other", page: ({ lookup }) => lookup.answer },
  { method: "GET", path: "/verify-envelope", traffic: "other", page: ({ envelope }) => envelope.page },
  { method: "GET", path: "/verify-envelope/pdf.js", page: ({ envelope }) => envelope.pdf },
  { method: "GET", path: "/verify-envelope/{file}", page: ({ envelope }) => envelope.file },
];

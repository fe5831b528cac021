/** The page of the API reference: Scalar shows the OpenAPI document (decision D8.7). */

import { randomBytes } from "node:crypto";
import { Scalar } from "@scalar/hono-api-reference";
import { html } from "hono/html";
import { sendText } from "../api/public-document.ts";
import type { SiteDetails } from "../domain/site.ts";
import type { HonoEnv, PageHandler } from "../http/context.ts";
import { demoPartnerForCaller } from "../http/local-caller.ts";
import { englishTexts } from "./language.ts";
import css from "./reference.css" with { type: "text" };
import { htmlContentType, renderPreviewTags, setSecurityHeaders } from "./shell.ts";

const { shell, service: serviceName } = englishTexts;
const preview = renderPreviewTags(shell.reference, shell.referenceAbout);

/** Options that keep Scalar from requests and links to other hosts. */
const withoutElsewhere = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  externalUrls: { dashboardUrl: "", registryUrl: "", proxyUrl: "", apiBaseUrl: "" },
} as const;

/** Allows requests to this service only. Inline styles are allowed, because Scalar does not give its styles the nonce. */
function cspDirectivesOf(nonce: string) {
  return {
    "script-src": ["'self'", `'nonce-${nonce}'`],
    "style-src": ["'unsafe-inline'"],
    "img-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "form-action": ["'none'"],
  };
}

export const sendApiReference: PageHandler = async (c) => {
  const { service, options } = c.get("parts");
  const { issuer, site } = service.configuration.current().settings;
  const nonce = randomBytes(16).toString("base64");
  const apiKey = demoPartnerForCaller(c, options.demo)?.apiKey;
  const scalar = Scalar<HonoEnv>({
    ...withoutElsewhere,
    cdn: "docs/scalar.js",
    nonce,
    pageTitle: [shell.reference, serviceName, ...(site.name === null ? [] : [site.name])].join(" – "),
    url: "openapi.json",
    // The URL is relative, so that the page's calls go to the host from which the page was loaded.
    servers: [{ url: new URL(issuer).pathname }],
    theme: "default",
    customCss: `${css}${site.accent === null ? "" : `:root { --brand: ${site.accent}; }`}`,
    authentication: {
      preferredSecurityScheme: "bearerKey",
      ...(apiKey !== undefined && { securitySchemes: { bearerKey: { token: apiKey } } }),
    },
  });
  const page = (await scalar(c, async () => {})) as Response;
  setSecurityHeaders(c, cspDirectivesOf(nonce));
  c.header("Cache-Control", "no-store");
  const html = framed(await page.text(), String(head(site, service.keyKind === "test")));
  return sendText(c, html, { type: htmlContentType });
};

function head({ name }: SiteDetails, sandbox: boolean) {
  return html`<div class="site"><nav aria-label="${shell.footer}">
<a href="../../"><strong>${name ?? serviceName}</strong></a>
<a href="getting-started">${shell.gettingStarted}</a>
<a href="help/">${shell.manual}</a>
<a href="../../verify-envelope">${shell.verifyEnvelope}</a>
</nav>${sandbox ? html`<aside aria-label="${shell.sandbox}"><strong>${shell.sandbox}</strong> ${shell.sandboxMeaning}</aside>` : ""}</div>`;
}

/** Inserts the language, the icon, the meta elements and the site's navigation into Scalar's HTML. */
function framed(page: string, head: string): string {
  return page
    .replace("<html>", '<html lang="en">')
    .replace(
      "<title>",
      `<link rel="icon" href="../../icon.svg" type="image/svg+xml">\n${String(preview)}\n    <title>`,
    )
    .replace("<body>", () => `<body>\n    ${head}`);
}

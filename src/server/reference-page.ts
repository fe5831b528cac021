import { type Context, Hono } from "hono";
import type { Live } from "../domain/live.ts";
import type { AppEnv } from "./context.ts";
import { compressedDocument, type PublicDocument, sendDocument } from "./document.ts";

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Teacher Verification Service: API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/swagger-ui.js" defer></script>
<script src="docs/start.js" defer></script>
</head>
<body>
<main id="reference">
<noscript>
<h1>Teacher Verification Service: API reference</h1>
<p>This page needs JavaScript. The same document for machines is <a href="openapi.json">openapi.json</a>.</p>
</noscript>
</main>
</body>
</html>
`;

/** A file of its own, because the policy below allows no script in the page. */
const startScript = `SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  // The renderer's default asks a validator on another site.
  validatorUrl: null,
});
`;

/** The renderer keeps a column for links between operations, of which there are none, and wide margins. */
const pageStyle = `.swagger-ui .response-col_links { display: none; }
@media (max-width: 640px) {
  .swagger-ui .wrapper, .swagger-ui .opblock .opblock-section-header { padding-inline: 8px; }
  .swagger-ui .opblock-description-wrapper, .swagger-ui .responses-inner { padding: 8px; }
}
`;

/** Nothing loads from elsewhere, and nothing may frame the page, in which an engineer may enter a key. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The renderer is two megabytes of text: it is read and compressed when somebody first asks for it. */
async function loadRenderer() {
  const [script, style] = await Promise.all([
    import("swagger-ui-dist/swagger-ui-bundle.js", { with: { type: "text" } }),
    import("swagger-ui-dist/swagger-ui.css", { with: { type: "text" } }),
  ]);
  const [scriptDocument, styleDocument] = await Promise.all([
    compressedDocument(script.default, "text/javascript; charset=utf-8"),
    compressedDocument(style.default, "text/css; charset=utf-8"),
  ]);
  return { script: scriptDocument, style: styleDocument };
}

/** Loads at the first call; a failed load is tried again at the next one. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

/** The OpenAPI document, made anew only when the issuer has changed. */
function createDocumentSource(live: Pick<Live, "current">): () => Promise<PublicDocument> {
  let made: { issuer: string; document: Promise<PublicDocument> } | undefined;
  return async () => {
    const { issuer } = live.current().settings;
    if (made?.issuer !== issuer) made = { issuer, document: makeDocument(issuer) };
    return made.document;
  };
}

async function makeDocument(issuer: string): Promise<PublicDocument> {
  const { openApiDocument } = await import("./openapi.ts");
  return compressedDocument(JSON.stringify(openApiDocument(issuer)), "application/json");
}

/**
 * The OpenAPI document and a page that shows it to people (decisions, HTTP details and Pages). All of it is embedded
 * in the program and served from the same origin.
 */
export function referencePage(live: Pick<Live, "current">): Hono<AppEnv> {
  const renderer = once(loadRenderer);
  const page = once(() => compressedDocument(html, "text/html; charset=utf-8"));
  const start = once(() => compressedDocument(startScript, "text/javascript; charset=utf-8"));
  const style = once(() => compressedDocument(pageStyle, "text/css; charset=utf-8"));
  const openApi = createDocumentSource(live);

  return new Hono<AppEnv>()
    .get("/openapi.json", async (c) => sendDocument(c, await openApi()))
    .get("/docs", async (c) => {
      protectPage(c);
      return sendDocument(c, await page());
    })
    .get("/docs/start.js", async (c) => sendDocument(c, await start()))
    .get("/docs/page.css", async (c) => sendDocument(c, await style()))
    .get("/docs/swagger-ui.js", async (c) => sendDocument(c, (await renderer()).script))
    .get("/docs/swagger-ui.css", async (c) => sendDocument(c, (await renderer()).style));
}

function protectPage(c: Context): void {
  c.header("Content-Security-Policy", contentSecurityPolicy);
  c.header("Referrer-Policy", "no-referrer");
}

/** The API reference, rendered by Swagger UI. */

import type { Context } from "hono";
import { html } from "hono/html";
import type { Live } from "../../domain/live.ts";
import { sandboxTeachers } from "../../domain/sandbox-teachers.ts";
import type { PageHandler } from "../http/hono-call.ts";
import type { Demo, DemoOffer } from "../local-caller.ts";
import * as examples from "../openapi/examples.ts";
import { compressedDocument, once, type PublicDocument, sendDocument } from "../public-document.ts";
import { requestSchemas } from "../requests.ts";
import type { Service } from "../service.ts";
import { ownFilesPolicy } from "./shell.ts";

/**
 * The page around the renderer. What may differ is told to the script in data attributes, because the policy below
 * allows no script in the page.
 */
function pageOf(sandbox: boolean, demo: Demo | null) {
  const examples = sandbox ? JSON.stringify(sandboxExamples) : "[]";
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Teacher Verification Service: API reference</title>
<link rel="icon" href="../../icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/swagger-ui.js" defer></script>
<script src="docs/start.js" defer></script>
</head>
<body>
<header class="place ${sandbox ? "sandbox" : "live"}">
${sandbox ? sandboxNotice(demo) : liveNotice}
<p><a href="getting-started">Getting started for partner agencies</a> ·
<a href="../../verify-envelope">Verify an envelope</a> ·
<a href="help/">The operator’s manual</a> · <a href="openapi.json">OpenAPI (JSON)</a></p>
</header>
<div id="reference" data-sandbox="${String(sandbox)}" data-key="${demo?.apiKey ?? ""}" data-examples="${examples}">
<noscript><main>
<h1>Teacher Verification Service: API reference</h1>
<p>This page needs JavaScript. The same in OpenAPI is <a href="openapi.json">openapi.json</a>.</p>
</main></noscript>
</div>
</body>
</html>
`;
}

function sandboxNotice(demo: Demo | null) {
  const way =
    demo === null
      ? html`press “Authorize” and enter your <code>tvs_test_</code> key under <code>bearerKey</code>.`
      : html`the demo partner’s key is already entered: <code>${demo.apiKey}</code>`;
  return html`<p><strong>This is a sandbox:</strong> every teacher is made up. To try a call, ${way}</p>`;
}

const liveNotice = html`<p><strong>This is the live service.</strong> A call that you try here with your key is a real
one: it counts against your quota, and is recorded as evidence of what was attested to you. Integrate against a sandbox
first.</p>`;

/** The document's example teacher, and the one of the sandbox that takes that place in what is sent. */
const sandboxExamples = [
  [examples.regNo, sandboxTeachers[0]?.regNo],
  [examples.nin, sandboxTeachers[0]?.nin],
  [String(examples.tId), String(sandboxTeachers[0]?.tId)],
];

/**
 * Calls go to where the page came from, which the policy allows, whatever address the document names. What is sent in
 * a sandbox names a teacher that it has; the answers that are shown stay as they are, because they are signed.
 */
const startScript = `const place = document.getElementById("reference");
const { sandbox, key, examples } = place.dataset;

function knownHere(part) {
  let text = JSON.stringify(part);
  for (const [published, known] of JSON.parse(examples)) text = text.replaceAll(published, known);
  return JSON.parse(text);
}

async function start() {
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error("openapi.json: " + answer.status);
  const spec = await answer.json();
  const { components } = spec;
  spec.servers[0].url = new URL("../../..", location.href).href.replace(/\\/$/, "");
  for (const name of ${JSON.stringify(Object.keys(requestSchemas))})
    components.schemas[name] = knownHere(components.schemas[name]);
  components.parameters = knownHere(components.parameters);
  spec.paths = knownHere(spec.paths);
  const ui = SwaggerUIBundle({
    spec,
    dom_id: "#reference",
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: sandbox === "true",
    // The renderer's default asks a validator on another site.
    validatorUrl: null,
    onComplete() {
      if (key !== "") ui.preauthorizeApiKey("bearerKey", key);
    },
  });
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
start().catch(() => {
  place.textContent = "The reference could not be loaded. Reload the page, or open openapi.json instead.";
});
`;

/** The renderer keeps a column for links between operations, of which there are none, a choice of the one server, and wide
 * margins. */
const pageStyle = `body { margin: 0; }
html.dark-mode body { background: #1c2022; color: #e4e6e6; }
.swagger-ui .response-col_links, .swagger-ui .servers-title, .swagger-ui .servers { display: none; }
noscript main { padding: 0 1.25rem; font: 1rem/1.5 system-ui, sans-serif; }
.place { padding: .75rem 1.25rem; border-bottom: 2px solid; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
.place p { max-width: 90rem; margin: 0 auto .25rem; }
.place a { color: #0b4f9c; }
.place.sandbox { background: #fdf3e2; color: #14181c; border-color: #8a4b00; }
.place.live { background: #fceceb; color: #14181c; border-color: #a3211b; }
html.dark-mode .place { color: #f1f4f6; }
html.dark-mode .place a { color: #8cc4ff; }
html.dark-mode .place.sandbox { background: #2f2412; }
html.dark-mode .place.live { background: #331a19; }
@media (max-width: 640px) {
  .swagger-ui .wrapper, .swagger-ui .opblock .opblock-section-header { padding-inline: 8px; }
  .swagger-ui .opblock-description-wrapper, .swagger-ui .responses-inner { padding: 8px; }
}
`;

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
  const { openApiDocument } = await import("../openapi/document.ts");
  return compressedDocument(JSON.stringify(openApiDocument(issuer)), "application/json");
}

/**
 * The OpenAPI document and a page that shows it to people (decision D2.7 and decision D8.1). All of it is embedded
 * in the program and served from the same origin.
 * @param offer the sandbox's key, for those who may see it
 */
export function referencePage({ live, keyKind }: Pick<Service, "live" | "keyKind">, offer: DemoOffer) {
  const sandbox = keyKind === "test";
  const renderer = once(loadRenderer);
  const shownPage = once(async () =>
    compressedDocument(String(await pageOf(sandbox, null)), "text/html; charset=utf-8"),
  );
  const startFile = once(() => compressedDocument(startScript, "text/javascript; charset=utf-8"));
  const styleFile = once(() => compressedDocument(pageStyle, "text/css; charset=utf-8"));
  const openApiSource = createDocumentSource(live);

  const page: PageHandler = async (c) => {
    protectPage(c);
    const demo = offer(c);
    if (demo === null) return sendDocument(c, await shownPage());
    // It holds a key: nothing keeps a copy of it.
    c.header("Cache-Control", "no-store");
    return c.html(pageOf(sandbox, demo));
  };
  const sent =
    (document: () => Promise<PublicDocument>): PageHandler =>
    async (c) =>
      sendDocument(c, await document());
  return {
    page,
    openApi: sent(openApiSource),
    start: sent(startFile),
    style: sent(styleFile),
    rendererScript: sent(async () => (await renderer()).script),
    rendererStyle: sent(async () => (await renderer()).style),
  };
}

function protectPage(c: Context): void {
  c.header("Content-Security-Policy", ownFilesPolicy);
  c.header("Referrer-Policy", "no-referrer");
}

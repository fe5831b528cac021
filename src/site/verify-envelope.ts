import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import { type CompressedDocument, compressDocument, loadOnce, sendDocument } from "../api/public-document.ts";
import type { PageHandler } from "../http/context.ts";
import type { SiteTexts } from "./language.ts";
import { type CspDirectives, type Markup, sendCachedPage, styleCspSource } from "./shell.ts";

/** The sentences of the form, which the server renders. The page's script has sentences of its own. */
type FormTexts = SiteTexts["envelopeForm"];

/** A file whose name contains a digest of its content, so that browsers may cache it for a year. */
type Asset = { readonly name: string; readonly integrity: string; readonly document: CompressedDocument };

/** Makes the page's CSP directives. With pasted keys, the browser refuses every request. No form can be sent to a server. */
function cspDirectivesOf(pasted: boolean): CspDirectives {
  return {
    "script-src": ["'self'"],
    "style-src": [styleCspSource, "'self'"],
    "img-src": ["'self'", "data:"],
    "connect-src": [pasted ? "'none'" : "'self'"],
    "form-action": ["'none'"],
    "require-trusted-types-for": ["'script'"],
  };
}

async function makeAsset(name: string, body: string, type: string): Promise<Asset> {
  const digest = createHash("sha384").update(body).digest();
  const [stem = "", ending = ""] = name.split(".");
  return {
    name: `${stem}-${digest.toString("base64url").slice(0, 16)}.${ending}`,
    integrity: `sha384-${digest.toString("base64")}`,
    document: await compressDocument(body, `${type}; charset=utf-8`),
  };
}

const loadAssets = loadOnce(async () => {
  const [app, style] = await Promise.all([
    import("./verify-envelope/app.bundle.js", { with: { type: "text" } }),
    import("./verify-envelope/page.css", { with: { type: "text" } }),
  ]);
  return {
    app: await makeAsset("app.js", app.default, "text/javascript"),
    style: await makeAsset("page.css", style.default, "text/css"),
  };
});

type EnvelopeForm = {
  readonly texts: FormTexts;
  /** True if the user pastes the keys; the browser then refuses every request of the page. */
  readonly pasted: boolean;
  readonly issuer: string;
  readonly registry: string | null;
  /** The relative URL of the script. */
  readonly script: string;
  /** The digest of the script for Subresource Integrity. */
  readonly integrity: string;
};

const offline = "tvs verify envelope.json --key-history key-history.jose --issuer URL --audience YOU";

/** Makes the page's main part. The script unhides `#tool`. A result is above the form, so that the user sees it first. */
function envelopeMain(form: EnvelopeForm): Markup {
  const { texts, script, integrity } = form;
  const { needsScript } = texts;
  return html`<h1 id="title">${texts.title}</h1>
<p class="lead" id="lead">${texts.lead}</p>
<div class="notice warn" id="needs-script">
<h2>${needsScript.title}</h2>
<p id="why">${needsScript.why}</p>
<p>${needsScript.how}</p>
<pre tabindex="0"><code>${offline}</code></pre>
</div>
<div id="tool" hidden data-pack="v1/inter-agency/offline-pack" data-worker="verify-envelope-worker.js"
 data-log-key="v1/inter-agency/log/key" data-issuer="${form.issuer}" data-registry="${form.registry ?? ""}">
<div id="outcome"></div>
<div id="entry" class="screen">
${envelopePart(form)}
</div>
</div>
<script type="module" src="${script}" integrity="${integrity}"></script>`;
}

function envelopePart(form: EnvelopeForm): Markup {
  const { texts, issuer, pasted } = form;
  const words = texts.envelope;
  return html`<form id="envelope-form" aria-label="${texts.envelope.form}">
<div class="drop field"><label for="files">${words.open}</label>
<p class="hint" id="files-hint">${words.openHint}</p>
<input type="file" id="files" aria-describedby="files-hint" multiple></div>
<p id="progress" role="status"></p>
${area({ id: "envelope", label: words.paste, hint: null, rows: 4 })}
${pasted ? pastedKeys(texts) : ""}
<div class="present"><p id="proof-name" role="status"></p>
<button type="button" class="quiet" id="proof-remove" hidden>${texts.proof.remove}</button></div>
<details class="field" id="settings"><summary>${words.settings}</summary>
${line({ id: "issuer", label: words.issuer, hint: words.issuerHint, value: issuer })}
${line({ id: "audience", label: words.audience, hint: words.audienceHint })}
${proofPart(texts)}
${pasted ? "" : fetchedKeys(texts)}
</details>
<button>${words.verify}</button>
<p class="soft" id="kept" role="status"></p>
</form>`;
}

function fetchedKeys({ modes }: FormTexts): Markup {
  return html`<section id="keys" aria-labelledby="keys-title">
<h2 id="keys-title">${modes.title}</h2>
<p>${modes.fetched} <a href="?keys=pasted">${modes.toPasted}</a>.</p>
</section>`;
}

function pastedKeys({ modes, proof }: FormTexts): Markup {
  return html`<section id="keys" aria-labelledby="keys-title">
<h2 id="keys-title">${modes.title}</h2>
<p>${modes.pasted} <a href="verify-envelope">${modes.toFetched}</a>.</p>
${area({ id: "key-history", label: modes.history, hint: modes.historyHint, rows: 3 })}
${area({ id: "jwks", label: modes.jwks, hint: modes.jwksHint, rows: 3 })}
${area({ id: "log-key", label: proof.keyLabel, hint: proof.keyHint, rows: 2 })}
</section>`;
}

/** Makes the field for a proof. It is folded up, because most users have no proof. */
function proofPart({ proof }: FormTexts): Markup {
  return html`<details class="field" id="proof-part"><summary>${proof.add}</summary>
${area({ id: "proof", label: proof.paste, hint: proof.addHint, rows: 4 })}
</details>`;
}

/** Attributes with which a browser neither corrects nor remembers a field's text. */
const plain = raw('autocomplete="off" autocapitalize="off" spellcheck="false"');

type Field = { id: string; label: string; hint: string | null };

function line({ id, value = "", ...field }: Field & { value?: string }): Markup {
  return labelled(
    id,
    field,
    html`<input type="text" id="${id}" value="${value}" aria-describedby="${id}-hint" ${plain}>`,
  );
}

function area({ id, rows, ...field }: Field & { rows: number }): Markup {
  const described = field.hint === null ? "" : html` aria-describedby="${id}-hint"`;
  return labelled(
    id,
    field,
    html`<textarea id="${id}" rows="${String(rows)}"${described} ${plain}></textarea>`,
  );
}

function labelled(id: string, { label, hint }: Omit<Field, "id">, control: Markup): Markup {
  return html`<div class="field"><label for="${id}">${label}</label>
${hint === null ? "" : html`<p class="hint" id="${id}-hint">${hint}</p>`}
${control}</div>`;
}

/** Sends the page that verifies envelopes in the browser (decision D8.2). With `?keys=pasted`, the user pastes the keys. */
export const sendVerifyPage: PageHandler = (c) => {
  const pasted = c.req.query("keys") === "pasted";
  const about = {
    path: "/verify-envelope",
    name: pasted ? "pasted" : "fetched",
    cspDirectives: cspDirectivesOf(pasted),
    cacheControl: "no-cache",
  };
  return sendCachedPage(c, about, async ({ texts: { envelopeForm: texts } }, { issuer, site }) => {
    const { app, style } = await loadAssets();
    const at = (name: string) => `verify-envelope/${name}`;
    const served = { script: at(app.name), integrity: app.integrity };
    const main = envelopeMain({ texts, pasted, issuer, registry: site.name, ...served });
    return { title: texts.title, description: texts.lead, main, styles: [at(style.name)] };
  });
};

export const sendVerifyPageFile: PageHandler = async (c) => {
  const found = Object.values(await loadAssets()).find(({ name }) => name === c.req.param("file"));
  if (found === undefined) return c.notFound();
  return sendDocument(c, found.document, "public, max-age=31536000, immutable");
};

const loadWorker = loadOnce(async () => {
  const worker = await import("./verify-envelope-worker.client.js", { with: { type: "text" } });
  return compressDocument(worker.default, "text/javascript; charset=utf-8");
});

/** Sends the service worker's script, from the page's folder: a worker controls only URLs below the folder of its script. */
export const sendVerifyPageWorker: PageHandler = async (c) => {
  c.header("Content-Security-Policy", "default-src 'none'; connect-src 'self'");
  return sendDocument(c, await loadWorker(), "no-cache");
};

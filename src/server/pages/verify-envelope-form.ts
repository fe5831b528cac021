import { html } from "hono/html";
import type { Markup } from "./shell.ts";
import type { EnvelopeTexts } from "./verify-envelope/texts.ts";

/** What the page is served with: its texts, its addresses, and which of its two forms it has. */
export type EnvelopeForm = {
  readonly texts: EnvelopeTexts;
  /** The form in which the keys are pasted and the browser refuses every connection. */
  readonly pasted: boolean;
  /** The service's own, to begin with. */
  readonly issuer: string;
  /** Addresses relative to the page. */
  readonly scripts: { readonly app: string; readonly scanner: string; readonly pdf: string };
  /** The digest that the first script must have (Subresource Integrity). */
  readonly integrity: string;
};

const offline =
  "tvs verify envelope.json --key-history key-history.jose --issuer URL --audience YOU\ntvs verify --qr certificate.pdf --key-history key-history.jose --issuer URL --audience YOU";

/** The page's own part. Everything that needs the script is hidden until the script shows it. */
export function envelopeMain(form: EnvelopeForm): Markup {
  const { texts, scripts, integrity } = form;
  const { needsScript } = texts;
  return html`<h1 id="title">${texts.title}</h1>
<p class="lead" id="lead">${texts.lead}</p>
<div class="notice warn" id="needs-script">
<h2>${needsScript.title}</h2>
<p id="why">${needsScript.why}</p>
<p>${needsScript.how}</p>
<pre tabindex="0"><code>${offline}</code></pre>
</div>
<div id="tool" hidden data-scanner="${scripts.scanner}" data-pdf="${scripts.pdf}"
 data-jwks="v1/inter-agency/.well-known/jwks.json" data-history="v1/inter-agency/.well-known/key-history">
<fieldset class="screen">
<legend>${texts.kinds.legend}</legend>
<label class="choice"><input type="radio" name="kind" id="kind-envelope" checked> ${texts.kinds.envelope}</label>
<label class="choice"><input type="radio" name="kind" id="kind-webhook"> ${texts.kinds.webhook}</label>
</fieldset>
${keysPart(form)}
${envelopePart(form)}
${webhookPart(texts)}
<p id="progress" class="screen" role="status"></p>
<div id="outcome"></div>
</div>
<script type="module" src="${scripts.app}" integrity="${integrity}"></script>`;
}

function keysPart({ texts, pasted }: EnvelopeForm): Markup {
  const { modes } = texts;
  if (!pasted) {
    return html`<section class="screen" id="keys" aria-labelledby="keys-title">
<h2 id="keys-title">${modes.title}</h2>
<p>${modes.fetched} <a href="?keys=pasted">${modes.toPasted}</a>.</p>
</section>`;
  }
  return html`<section class="screen" id="keys" aria-labelledby="keys-title">
<h2 id="keys-title">${modes.title}</h2>
<p>${modes.pasted} <a href="verify-envelope">${modes.toFetched}</a>.</p>
${area({ id: "key-history", label: modes.history, hint: modes.historyHint, rows: 3 })}
${area({ id: "jwks", label: modes.jwks, hint: modes.jwksHint, rows: 3 })}
</section>`;
}

function envelopePart({ texts, issuer }: EnvelopeForm): Markup {
  const words = texts.envelope;
  return html`<form id="envelope-form" aria-label="${texts.kinds.envelope}">
${fileDrop({ id: "files", label: words.open, hint: words.openHint, multiple: true })}
${area({ id: "envelope", label: words.paste, hint: null, rows: 6 })}
${line({ id: "issuer", label: words.issuer, hint: words.issuerHint, value: issuer })}
${line({ id: "audience", label: words.audience, hint: words.audienceHint })}
<button>${words.verify}</button>
</form>`;
}

function webhookPart({ webhook: words, kinds }: EnvelopeTexts): Markup {
  return html`<form id="webhook-form" hidden aria-label="${kinds.webhook}">
${fileDrop({ id: "body-file", label: words.open, hint: words.openHint, multiple: false })}
<p id="body-name" role="status"></p>
${area({ id: "body", label: words.paste, hint: words.pasteHint, rows: 5 })}
${line({ id: "signature-header", label: words.header, hint: words.headerHint })}
${line({ id: "secret", label: words.secret, hint: words.secretHint, type: "password" })}
${line({ id: "arrived", label: words.arrived, hint: words.arrivedHint })}
<button>${words.verify}</button>
</form>`;
}

type Field = { readonly id: string; readonly label: string; readonly hint: string };

/** A field that browsers must neither correct nor remember. */
function line(field: Field & { value?: string; type?: "text" | "password" }): Markup {
  const { id, label, hint, value = "", type = "text" } = field;
  return html`<div class="field"><label for="${id}">${label}</label>
<p class="hint" id="${id}-hint">${hint}</p>
<input type="${type}" id="${id}" value="${value}" aria-describedby="${id}-hint" autocomplete="off" autocapitalize="off" spellcheck="false"></div>`;
}

function area(field: { id: string; label: string; hint: string | null; rows: number }): Markup {
  const { id, label, hint, rows } = field;
  const described = hint === null ? "" : html` aria-describedby="${id}-hint"`;
  return html`<div class="field"><label for="${id}">${label}</label>
${hint === null ? "" : html`<p class="hint" id="${id}-hint">${hint}</p>`}
<textarea id="${id}" rows="${String(rows)}"${described} autocomplete="off" autocapitalize="off" spellcheck="false"></textarea></div>`;
}

function fileDrop({ id, label, hint, multiple }: Field & { multiple: boolean }): Markup {
  return html`<div class="drop field"><label for="${id}">${label}</label>
<p class="hint" id="${id}-hint">${hint}</p>
<input type="file" id="${id}" aria-describedby="${id}-hint"${multiple ? html` multiple` : ""}></div>`;
}

import { html, raw } from "hono/html";
import written from "../../data/texts/en/guide.json" with { type: "json" };
import { serveFile } from "../api/public-document.ts";
import type { SandboxTeacher } from "../domain/sandbox/teachers.ts";
import { demoPartner, statusExampleTeachers, trapExampleTeachers } from "../domain/sandbox/teachers.ts";
import type { Settings } from "../domain/settings.ts";
import type { PageHandler } from "../http/context.ts";
import { demoPartnerForCaller } from "../http/local-caller.ts";
import * as steps from "./getting-started-steps.ts";
import { codeLanguages, type ExampleKind } from "./getting-started-steps.ts";
import { formatLanguageQuery, type Language } from "./language.ts";
import { type Markup, sendCachedPage, sendUncachedPage, styleCspSource } from "./shell.ts";
import { loadSentences } from "./texts/sentences.ts";

/** The page's sentences, in English only. The sentences contain HTML, which `raw` inserts unescaped. */
const texts = loadSentences(written);

/** Sends the page that leads partners from an API key to production (D2.7, D14.2), with programs in the language of `?code=`. */
export const sendGettingStarted: PageHandler = (c) => {
  const { service, options } = c.get("parts");
  const sandbox = service.keyKind === "test";
  const demo = demoPartnerForCaller(c, options.demo);
  const code = codeLanguages.find(({ id }) => id === c.req.query("code")) ?? codeLanguages[0];
  const about = {
    path: "/v1/inter-agency/getting-started",
    cspDirectives: {
      "script-src": ["'self'"],
      "style-src": [styleCspSource, "'self'"],
      "connect-src": [demo === null ? "'none'" : "'self'"],
    },
  };
  const page = (language: Language, { issuer, site }: Settings) => ({
    title: texts.title,
    description: texts.lead,
    main: renderGuide({
      issuer,
      sandbox,
      offered: demo !== null,
      apiKey: demo?.apiKey ?? `tvs_${service.keyKind}_YOUR_KEY`,
      partnerId: demo?.partnerId ?? (sandbox ? demoPartner : "YOUR_PARTNER_ID"),
      query: formatLanguageQuery(language),
      hasContact: Object.keys(site.contact).length > 0,
      code,
    }),
    scripts: ["getting-started/page.js"],
    styles: ["getting-started/page.css"],
  });
  // A page with the demo key is not cached, because only this caller may see the key.
  if (demo !== null) return sendUncachedPage(c, about, page);
  // Browsers do not keep the page, because it contains the issuer's URL, which the operator can change at any time.
  return sendCachedPage(c, { ...about, name: code.id, cacheControl: "no-store" }, page);
};

/**
 * Causes an event for a made-up teacher, for the page's button. A caller to whom the page does not show the demo key gets 404.
 * A script of another site gets 404 too, because its request has that site's `Origin`.
 */
export const causeSandboxEvent: PageHandler = async (c) => {
  const { demo, causeEvent } = c.get("parts").options;
  const origin = c.req.header("Origin") ?? "";
  const isOwn = URL.canParse(origin) && new URL(origin).host === c.req.header("Host");
  if (causeEvent === undefined || demoPartnerForCaller(c, demo) === null || !isOwn) return c.notFound();
  c.header("Cache-Control", "no-store");
  return c.json(await causeEvent());
};

const exampleFiles = new Map(
  codeLanguages.flatMap((language) =>
    steps.exampleKinds.map((kind) => {
      const { file, source } = language[kind];
      return [`${language.id}/${file}`, serveFile("text/plain", async () => ({ default: source }))] as const;
    }),
  ),
);

export const sendExampleFile: PageHandler = (c) =>
  exampleFiles.get(`${c.req.param("language")}/${c.req.param("file")}`)?.(c) ?? c.notFound();

const operatorOf = ({ hasContact }: steps.StepValues) =>
  hasContact ? `<a href="#contact">${texts.operator}</a>` : texts.operator;

function keyStateOf({ offered, sandbox }: steps.StepValues): keyof typeof texts.keyHere {
  if (offered) return "offered";
  return sandbox ? "sandbox" : "live";
}

function renderListing(
  label: string,
  { id, caption, text }: { id?: string; caption: string | Markup; text: string },
): Markup {
  return html`<figure class="listing" aria-label="${label}"><figcaption><span>${caption}</span></figcaption>
<pre${id === undefined ? "" : html` id="${id}"`}><code>${text.trimEnd()}</code></pre></figure>
`;
}

function renderCommands(step: steps.GuideStep, at: steps.StepValues): Markup {
  const text = steps.formatStepCommands(step, at);
  return renderListing(texts.commands(step.replaceAll("-", " ")), {
    id: `run-${step}`,
    caption: texts.shell,
    text,
  });
}

function renderExample(kind: ExampleKind, at: steps.StepValues): Markup {
  const one = at.code[kind];
  return html`${renderCommands(kind, at)}
<details><summary>${texts.whatIsIn(one.file)}</summary>
${renderListing(texts.whatIsIn(one.file), { caption: html`<code>${one.file}</code>`, text: one.source })}
</details>`;
}

function renderGuide(at: steps.StepValues): Markup {
  return html`<h1>${texts.title}</h1>
<p class="lead">${texts.lead}</p>
<div class="guide" data-copy="${texts.copy}" data-copied="${texts.copied}" data-copy-failed="${texts.copyFailed}">
<nav aria-label="${texts.menu}"><ol>
${Object.entries(texts.sections).map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)}
</ol></nav>
<div>
<p class="soft" role="status" id="copied"></p>
${raw(texts.about(String(html`${at.issuer}`), at.query))}
${raw(texts.place(at.sandbox, operatorOf(at)))}
${at.offered ? tryPlace(at) : ""}
${codeChoice(at)}
${Object.entries(texts.sections).map(
  ([id, title]) => html`<h2 id="${id}">${title}</h2>
${sections[id as keyof typeof sections](at)}
`,
)}</div>
</div>`;
}

function codeChoice(at: steps.StepValues): Markup {
  const language = at.query.replace("?", "&");
  return html`<nav class="codes" aria-label="${texts.codes}"><ul>
${codeLanguages.map(
  ({ id, name }) =>
    html`<li><a href="?code=${id}${language}#call" ${id === at.code.id ? html`aria-current="true"` : ""}>${name}</a></li>`,
)}
</ul></nav>`;
}

/** Makes the buttons that call the API with the demo key. The page's script enables them. */
function tryPlace(at: steps.StepValues): Markup {
  const { tryIt, commands } = texts;
  return html`<section class="try" id="try" aria-labelledby="try-title" data-key="${at.apiKey}" data-calling="${tryIt.calling}" data-unreachable="${tryIt.unreachable}">
<h2 id="try-title">${tryIt.title}</h2>
<p>${tryIt.lead}</p>
<ol>${steps.buttonCalls.map(
    ([step, method, path]) =>
      html`<li><button type="button" disabled id="try-${step}" data-method="${method}" data-path="${path}">${tryIt.buttons[step]}</button> <code>${method} /${path}</code></li>
`,
  )}</ol>
<p role="status">${tryIt.first}</p>
<figure class="listing" hidden><pre tabindex="0" role="group" aria-label="${commands(tryIt.title)}"><code></code></pre></figure>
</section>`;
}

const sections: Readonly<Record<keyof typeof texts.sections, (at: steps.StepValues) => Markup>> = {
  key: (
    at,
  ) => html`<p>${raw(texts.key(operatorOf(at)))} ${texts.keyHere[keyStateOf(at)]} ${texts.keyOpens}</p>
${renderCommands("key", at)}
${raw(texts.agreed(at.sandbox))}`,
  call: (at) => html`${raw(texts.call(at.sandbox))}
${at.code.prepare === null ? "" : html`<p>${texts.prepare(at.code.name)}</p>${renderCommands("prepare", at)}`}
${renderExample("ask", at)}
${raw(texts.envelope(at.query))}
${renderCommands("retry", at)}
${folded(texts.otherCalls, html`${raw(texts.lookups)}${renderCommands("other-calls", at)}`)}
${
  at.sandbox
    ? html`${folded(texts.teachers.title, teacherTable(statusExampleTeachers))}
${folded(texts.teachers.traps, teacherTable(trapExampleTeachers))}`
    : ""
}`,
  verify: (at) => html`${raw(texts.verify(at.query))}
${renderExample("verify", at)}
${folded(
  texts.ready.title,
  html`${raw(texts.ready.page(at.query))}
${renderCommands("verify-tvs", at)}
${raw(texts.ready.exitCodes)}
${raw(texts.ready.library)}
${renderCommands("verify-library", at)}`,
)}
${raw(texts.keep(at.query))}`,
  events: (at) => html`${raw(texts.events(operatorOf(at)))}
${renderCommands("watch", at)}
${raw(texts.fetch(at.sandbox))}
${renderExample("events", at)}`,
  webhook: (at) => html`${raw(texts.webhook(operatorOf(at)))}
${renderExample("receive", at)}
${raw(at.code.isServer ? texts.tryDelivery : texts.tryKept)}
${renderCommands("delivery", at)}
${at.sandbox ? sandboxDelivery(at) : ""}
${raw(texts.webhookRules(at.query))}`,
  rotate: (at) => raw(texts.rotate(operatorOf(at))),
  live: (at) => raw(texts.live(operatorOf(at), at.query)),
};

/** Explains deliveries from the sandbox. Shell commands cannot receive a delivery, so the page suggests another language. */
function sandboxDelivery(at: steps.StepValues): Markup {
  const { isServer } = at.code;
  return html`${raw(texts.sandboxDelivery(isServer, at.query))}
${isServer ? renderCommands("sandbox-delivery", at) : ""}`;
}

function folded(title: string, content: Markup): Markup {
  return html`<details><summary>${title}</summary>
${content}
</details>`;
}

function teacherTable(teachers: readonly SandboxTeacher[]): Markup {
  const words = texts.teachers;
  return html`<table class="records teachers">
<thead><tr><th scope="col">${words.regNo}</th><th scope="col">${words.tId}</th><th scope="col">${words.nin}</th><th scope="col">${words.shows}</th></tr></thead>
<tbody>${teachers.map(
    ({ regNo, tId, nin, shows }) =>
      html`<tr><td data-label="${words.regNo}"><code>${regNo}</code></td><td data-label="${words.tId}"><code>${tId ?? "–"}</code></td><td data-label="${words.nin}"><code>${nin ?? "–"}</code></td><td data-label="${words.shows}">${shows}</td></tr>
`,
  )}</tbody></table>`;
}

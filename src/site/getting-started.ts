import { html, raw } from "hono/html";
import written from "../../data/texts/en/guide.json" with { type: "json" };
import { programFile } from "../api/public-document.ts";
import { demoPartner, type SandboxTeacher, stateTeachers, trapTeachers } from "../domain/sandbox/teachers.ts";
import type { PageHandler } from "../http/context.ts";
import { type DemoOffer, placeholderKey } from "../http/local-caller.ts";
import type { AppOptions } from "../service.ts";
import * as steps from "./getting-started-steps.ts";
import { codeLanguages, type ExampleKind } from "./getting-started-steps.ts";
import { queryOf } from "./language.ts";
import { type Markup, type PageSender, styleHash } from "./shell.ts";
import { sentences } from "./texts/sentences.ts";

/** In English only; the HTML in its sentences is ours. */
const texts = sentences(written);

/**
 * The page that leads partners from a key to going live (decisions D2.7, D14.2). Its commands are for this server, in the
 * chosen programming language. The choice is a link, so it works without a script.
 */
export function gettingStarted({ kept, sandbox }: PageSender, offer: DemoOffer): PageHandler {
  return async (c) => {
    const demo = offer(c);
    const asked = c.req.query("code");
    const code = codeLanguages.find(({ id }) => id === asked) ?? codeLanguages[0];
    const about = {
      path: "/v1/inter-agency/getting-started",
      allowances: {
        "script-src": ["'self'"],
        "style-src": [styleHash, "'self'"],
        "connect-src": [demo === null ? "'none'" : "'self'"],
      },
      // A page with a key is for one reader.
      name: demo === null ? code.id : null,
      // The issuer may change.
      cacheControl: "no-store",
    };
    return kept(c, about, (language, { issuer, site }) => {
      const at: steps.Surroundings = {
        issuer,
        sandbox,
        offered: demo !== null,
        apiKey: demo?.apiKey ?? placeholderKey(sandbox),
        partnerId: demo?.partnerId ?? (sandbox ? demoPartner : "YOUR_PARTNER_ID"),
        query: queryOf(language),
        hasContact: Object.keys(site.contact).length > 0,
        code,
      };
      return {
        title: texts.title,
        description: texts.lead,
        main: guide(at),
        scripts: ["getting-started/page.js"],
        styles: ["getting-started/page.css"],
      };
    });
  };
}

/**
 * Causes an event of a made-up teacher, for the page's button. Readers who do not see the demo key get 404, as do scripts of
 * other sites: a script cannot hide its origin.
 */
export function causeEventHandler(offer: DemoOffer, causeEvent: AppOptions["causeEvent"]): PageHandler {
  return async (c) => {
    const origin = c.req.header("Origin") ?? "";
    const isOwn = URL.canParse(origin) && new URL(origin).host === c.req.header("Host");
    if (causeEvent === undefined || offer(c) === null || !isOwn) return c.notFound();
    c.header("Cache-Control", "no-store");
    return c.json(await causeEvent());
  };
}

const exampleFiles = new Map(
  codeLanguages.flatMap((language) =>
    steps.exampleKinds.map((kind) => {
      const { file, source } = language[kind];
      return [
        `${language.id}/${file}`,
        programFile("text/plain", async () => ({ default: source })),
      ] as const;
    }),
  ),
);

export const exampleFile: PageHandler = (c) =>
  exampleFiles.get(`${c.req.param("language")}/${c.req.param("file")}`)?.(c) ?? c.notFound();

const operatorOf = ({ hasContact }: steps.Surroundings) =>
  hasContact ? `<a href="#contact">${texts.operator}</a>` : texts.operator;

function keyStateOf({ offered, sandbox }: steps.Surroundings): keyof typeof texts.keyHere {
  if (offered) return "offered";
  return sandbox ? "sandbox" : "live";
}

function listing(
  label: string,
  { id, caption, text }: { id?: string; caption: string | Markup; text: string },
): Markup {
  return html`<figure class="listing" aria-label="${label}"><figcaption><span>${caption}</span></figcaption>
<pre${id === undefined ? "" : html` id="${id}"`}><code>${text.trimEnd()}</code></pre></figure>
`;
}

function run(step: steps.Step, at: steps.Surroundings): Markup {
  const text = steps.commandOf(step, at);
  return listing(texts.commands(step.replaceAll("-", " ")), {
    id: `run-${step}`,
    caption: texts.shell,
    text,
  });
}

function example(kind: ExampleKind, at: steps.Surroundings): Markup {
  const one = at.code[kind];
  return html`${run(kind, at)}
<details><summary>${texts.whatIsIn(one.file)}</summary>
${listing(texts.whatIsIn(one.file), { caption: html`<code>${one.file}</code>`, text: one.source })}
</details>`;
}

function guide(at: steps.Surroundings): Markup {
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

function codeChoice(at: steps.Surroundings): Markup {
  const language = at.query.replace("?", "&");
  return html`<nav class="codes" aria-label="${texts.codes}"><ul>
${codeLanguages.map(
  ({ id, name }) =>
    html`<li><a href="?code=${id}${language}#call" ${id === at.code.id ? html`aria-current="true"` : ""}>${name}</a></li>`,
)}
</ul></nav>`;
}

/** Calls of the page itself, with the demo key. The script enables their buttons. */
function tryPlace(at: steps.Surroundings): Markup {
  const { tryIt, commands } = texts;
  const calls = Object.entries(steps.trySteps) as [steps.TryStep, { method: string; path: string }][];
  return html`<section class="try" id="try" aria-labelledby="try-title" data-key="${at.apiKey}" data-calling="${tryIt.calling}" data-unreachable="${tryIt.unreachable}">
<h2 id="try-title">${tryIt.title}</h2>
<p>${tryIt.lead}</p>
<ol>${calls.map(
    ([step, { method, path }]) =>
      html`<li><button type="button" disabled id="try-${step}" data-method="${method}" data-path="${path}">${tryIt.buttons[step]}</button> <code>${method} /${path}</code></li>
`,
  )}</ol>
<p role="status">${tryIt.first}</p>
<figure class="listing" hidden><pre tabindex="0" role="group" aria-label="${commands(tryIt.title)}"><code></code></pre></figure>
</section>`;
}

const sections: Readonly<Record<keyof typeof texts.sections, (at: steps.Surroundings) => Markup>> = {
  key: (
    at,
  ) => html`<p>${raw(texts.key(operatorOf(at)))} ${texts.keyHere[keyStateOf(at)]} ${texts.keyOpens}</p>
${run("key", at)}
${raw(texts.agreed(at.sandbox))}`,
  call: (at) => html`${raw(texts.call(at.sandbox))}
${at.code.prepare === null ? "" : html`<p>${texts.prepare(at.code.name)}</p>${run("prepare", at)}`}
${example("ask", at)}
${raw(texts.envelope(at.query))}
${run("retry", at)}
${folded(texts.otherCalls, html`${raw(texts.lookups)}${run("other-calls", at)}`)}
${
  at.sandbox
    ? html`${folded(texts.teachers.title, teacherTable(stateTeachers))}
${folded(texts.teachers.traps, teacherTable(trapTeachers))}`
    : ""
}`,
  verify: (at) => html`${raw(texts.verify(at.query))}
${example("verify", at)}
${folded(
  texts.ready.title,
  html`${raw(texts.ready.page(at.query))}
${run("verify-tvs", at)}
${raw(texts.ready.exitCodes)}
${raw(texts.ready.library)}
${run("verify-library", at)}`,
)}
${raw(texts.keep(at.query))}`,
  events: (at) => html`${raw(texts.events(operatorOf(at)))}
${run("watch", at)}
${raw(texts.fetch(at.sandbox))}
${example("events", at)}`,
  webhook: (at) => html`${raw(texts.webhook(operatorOf(at)))}
${example("receive", at)}
${raw(at.code.isServer ? texts.tryDelivery : texts.tryKept)}
${run("delivery", at)}
${at.sandbox ? sandboxDelivery(at) : ""}
${raw(texts.webhookRules(at.query))}`,
  rotate: (at) => raw(texts.rotate(operatorOf(at))),
  live: (at) => raw(texts.live(operatorOf(at), at.query)),
};

/** The sandbox's own deliveries. A shell cannot receive them, so the page suggests another language. */
function sandboxDelivery(at: steps.Surroundings): Markup {
  const { isServer } = at.code;
  return html`${raw(texts.sandboxDelivery(isServer, at.query))}
${isServer ? run("sandbox-delivery", at) : ""}`;
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

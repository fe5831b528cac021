/** The API reference, made from the OpenAPI document (decision D8.7). */

import type { Settings } from "../domain/settings.ts";
import type { PageHandler } from "../http/hono-call.ts";
import type { DemoOffer } from "../http/local-caller.ts";
import { asKeys } from "../http/public-document.ts";
import { codeLanguages } from "./getting-started-languages.ts";
import { type Language, queryOf } from "./language.ts";
import type { PageSender } from "./page-sender.ts";

/**
 * What the page may do besides: its own style sheet and script, and in a sandbox calls to where it came from. No form
 * sends anything by itself.
 */
function allowances(sandbox: boolean) {
  return {
    "script-src": ["'self'"],
    "connect-src": [sandbox ? "'self'" : "'none'"],
    "form-action": ["'none'"],
    "require-trusted-types-for": ["'script'"],
  };
}

async function makePart(
  language: Language,
  { issuer, site }: Settings,
  { sandbox, apiKey }: { sandbox: boolean; apiKey: string | null },
) {
  const [{ referenceMain }, { referenceTexts }, { readDocument }, { loadProse }] = await Promise.all([
    import("./reference/main.ts"),
    import("./reference/writer.ts"),
    import("./reference/document.ts"),
    import("./reference/prose.ts"),
  ]);
  const texts = referenceTexts(language.tag);
  const main = referenceMain({
    ...readDocument(issuer, site),
    prose: await loadProse(language.tag),
    texts,
    issuer,
    sandbox,
    query: queryOf(language),
    apiKey,
  });
  return { title: texts.title, main, styles: ["docs/reference.css"], scripts: ["docs/reference.js"] };
}

/** @param offer the sandbox's key, for those who may see it */
export function referencePage({ kept, sandbox }: PageSender, offer: DemoOffer): PageHandler {
  return (c) => {
    const apiKey = offer(c)?.apiKey ?? null;
    const about = {
      path: "/v1/inter-agency/docs",
      allowances: allowances(sandbox),
      name: apiKey ?? "",
      // With a key in it, it is for one reader: nothing on the way keeps a copy of it.
      cacheControl: apiKey === null ? asKeys : "no-store",
    };
    return kept(c, about, (language, settings) => makePart(language, settings, { sandbox, apiKey }));
  };
}

/** Which language's examples are shown: that of the radio button that is chosen. */
const chosenExample = codeLanguages
  .map(({ id }) => `.sample:has([value="${id}"]:checked) [data-in="${id}"] { display: block; }\n`)
  .join("");

export async function loadReferenceStyle() {
  const { default: css } = await import("./reference/reference.css", { with: { type: "text" } });
  return { default: css + chosenExample };
}

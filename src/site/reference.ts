/** The API reference and the OpenAPI document that it is made from (decision D8.7). */

import type { Settings } from "../domain/settings.ts";
import type { PageHandler } from "../http/hono-call.ts";
import type { Demo, DemoOffer } from "../http/local-caller.ts";
import {
  asKeys,
  type CompressedDocument,
  compressedDocument,
  keptDocuments,
  once,
  sendDocument,
} from "../http/public-document.ts";
import type { Service } from "../service.ts";
import { type Language, queryOf } from "./language.ts";
import { languageOf, pageFrame, protectPage } from "./shell.ts";
import { type ReferenceTexts, referenceEnglish } from "./texts/reference-en.ts";
import { inTestLanguage, testLanguageTag } from "./texts/test-language.ts";

const path = "/v1/inter-agency/docs";

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

async function makeDocument({ issuer, site }: Settings): Promise<CompressedDocument> {
  const { openApiDocument } = await import("../api/openapi.ts");
  return compressedDocument(JSON.stringify(openApiDocument(issuer, site)), "application/json");
}

/** By the tags of language.ts; a language without its own sentences gets English. */
const languages: Readonly<Record<string, ReferenceTexts>> = { en: referenceEnglish };

function textsOf({ tag }: Language): ReferenceTexts {
  return tag === testLanguageTag ? inTestLanguage(referenceEnglish) : (languages[tag] ?? referenceEnglish);
}

/** Whom the page is for. */
type Reader = { readonly language: Language; readonly sandbox: boolean; readonly demo: Demo | null };

async function makePage(
  { issuer, site }: Settings,
  { language, sandbox, demo }: Reader,
): Promise<CompressedDocument> {
  const [{ referenceMain }, { readDocument }, { loadProse }] = await Promise.all([
    import("./reference/main.ts"),
    import("./reference/document.ts"),
    import("./reference/prose.ts"),
  ]);
  const texts = textsOf(language);
  const main = referenceMain({
    ...readDocument(issuer, site),
    prose: await loadProse(language.tag),
    texts,
    issuer,
    sandbox,
    query: queryOf(language),
    apiKey: demo?.apiKey ?? null,
  });
  const page = pageFrame({
    language,
    path,
    title: texts.title,
    main,
    sandbox,
    site,
    styles: ["docs/reference.css"],
    scripts: ["docs/reference.js"],
  });
  return compressedDocument(String(await page), "text/html; charset=utf-8");
}

/**
 * The reference's page, its two files and the OpenAPI document. All of it is embedded in the program and served from
 * the same origin.
 * @param offer the sandbox's key, for those who may see it
 */
export function referencePage(
  { configuration, keyKind }: Pick<Service, "configuration" | "keyKind">,
  offer: DemoOffer,
) {
  const sandbox = keyKind === "test";
  const kept = keptDocuments(configuration);
  const script = once(async () => {
    const { default: text } = await import("./reference/reference.client.js", { with: { type: "text" } });
    return compressedDocument(text, "text/javascript; charset=utf-8");
  });
  const style = once(async () => {
    const { referenceStyle } = await import("./reference/style.ts");
    return compressedDocument(referenceStyle, "text/css; charset=utf-8");
  });
  const sent =
    (load: () => Promise<CompressedDocument>): PageHandler =>
    async (c) =>
      sendDocument(c, await load());

  const page: PageHandler = async (c) => {
    protectPage(c, allowances(sandbox));
    const reader = { language: languageOf(c, sandbox), sandbox, demo: offer(c) };
    const name = JSON.stringify([reader.language.tag, reader.language.asked, reader.demo?.apiKey]);
    const document = await kept(name, (settings) => makePage(settings, reader));
    // With a key in it, it is for one reader: nothing on the way keeps a copy of it.
    return sendDocument(c, document, reader.demo === null ? asKeys : "no-store");
  };
  const openApi = sent(() => kept("openapi.json", makeDocument));
  return { page, openApi, script: sent(script), style: sent(style) };
}

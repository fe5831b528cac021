import { createHash } from "node:crypto";
import type { Context } from "hono";
import { loadPdfLibrary } from "../../certificate/pdf-library.ts";
import { compressedDocument, type PublicDocument, sendDocument } from "../document.ts";
import type { PageHandler } from "../http/hono-call.ts";
import type { Service } from "../service.ts";
import { type Allowances, languageOf, pageFrame, protectPage, styleHash } from "./shell.ts";
import type { Language } from "./texts.ts";
import { envelopeTexts } from "./verify-envelope/texts.ts";
import { envelopeMain } from "./verify-envelope-form.ts";
import { envelopeStyle } from "./verify-envelope-style.ts";

const path = "/verify-envelope";

/** A file whose name changes with its content, so that browsers keep it for ever. */
type Asset = { readonly name: string; readonly integrity: string; readonly document: PublicDocument };
type Assets = { readonly app: Asset; readonly scanner: Asset; readonly style: Asset };

/**
 * What the page may do: run our scripts, show the codes that it draws, and, unless the keys are pasted, fetch from
 * this service. No form can send anything, so what was typed in cannot end up in an address.
 */
function allowances(pasted: boolean): Allowances {
  return {
    "script-src": ["'self'"],
    "style-src": [styleHash, "'self'"],
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
    document: await compressedDocument(body, `${type}; charset=utf-8`),
  };
}

async function loadAssets(): Promise<Assets> {
  const [app, scanner] = await Promise.all([
    import("./verify-envelope/app.bundle.js", { with: { type: "text" } }),
    import("./verify-envelope/scanner.bundle.js", { with: { type: "text" } }),
  ]);
  return {
    app: await makeAsset("app.js", app.default, "text/javascript"),
    scanner: await makeAsset("scanner.js", scanner.default, "text/javascript"),
    style: await makeAsset("page.css", envelopeStyle, "text/css"),
  };
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

type Variant = { language: Language; pasted: boolean; issuer: string; sandbox: boolean };

async function makePage(variant: Variant, { app, scanner, style }: Assets): Promise<PublicDocument> {
  const { language, pasted, issuer, sandbox } = variant;
  const texts = envelopeTexts(language.tag);
  const at = (name: string) => `verify-envelope/${name}`;
  const scripts = { app: at(app.name), scanner: at(scanner.name), pdf: at("pdf.js") };
  const main = envelopeMain({ texts, pasted, issuer, scripts, integrity: app.integrity });
  const page = pageFrame({ language, path, title: texts.title, main, sandbox, styles: [at(style.name)] });
  return compressedDocument(String(await page), "text/html; charset=utf-8");
}

/** The few variants of the page, made when somebody first asks for them, and anew when the issuer changes. */
function createPages(assets: () => Promise<Assets>): (variant: Variant) => Promise<PublicDocument> {
  const made = new Map<string, Promise<PublicDocument>>();
  let issuer = "";
  return async (variant) => {
    if (variant.issuer !== issuer) made.clear();
    issuer = variant.issuer;
    const name = `${variant.language.tag} ${variant.pasted}`;
    const page = made.get(name) ?? makePage(variant, await assets());
    made.set(name, page);
    return page;
  };
}

function sendFor(c: Context, document: PublicDocument, cacheControl: string): Response {
  const response = sendDocument(c, document);
  response.headers.set("Cache-Control", cacheControl);
  return response;
}

/**
 * The page on which an envelope is verified in the browser itself and never uploaded (decisions, Pages). It has two
 * forms: one fetches the keys from this service; in the other, `?keys=pasted`, the browser refuses every connection.
 */
export function verifyEnvelopePage(service: Pick<Service, "live" | "keyKind">) {
  const assets = once(loadAssets);
  const pageOf = createPages(assets);
  const pdfLibrary = once(async () =>
    compressedDocument(await loadPdfLibrary(), "text/javascript; charset=utf-8"),
  );

  const page: PageHandler = async (c) => {
    const language = languageOf(c);
    const pasted = c.req.query("keys") === "pasted";
    const { issuer } = service.live.current().settings;
    const made = await pageOf({ language, pasted, issuer, sandbox: service.keyKind === "test" });
    protectPage(c, allowances(pasted));
    return sendFor(c, made, "no-cache");
  };
  const pdf: PageHandler = async (c) => sendDocument(c, await pdfLibrary());
  const file: PageHandler = async (c) => {
    const found = Object.values(await assets()).find(({ name }) => name === c.req.param("file"));
    if (found === undefined) return c.notFound();
    // A worker obeys the policy that it comes with, not that of its page: it may load pdf.js, and connect to nobody.
    c.header("Content-Security-Policy", "default-src 'none'; script-src 'self'");
    return sendFor(c, found.document, "public, max-age=31536000, immutable");
  };
  return { page, pdf, file };
}

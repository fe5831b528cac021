/** How the pages of a service are sent: in the reader's language, in the site's frame, with the headers that protect them. */

import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Settings } from "../domain/settings.ts";
import { compressedDocument, keptDocuments, sendDocument } from "../http/public-document.ts";
import type { Service } from "../service.ts";
import type { Language } from "./language.ts";
import { type Allowances, languageOf, type Page, pageFrame, protectPage } from "./shell.ts";

/** What of a page is its own. */
type Part = Omit<Page, "language" | "path" | "sandbox" | "site">;

type About = {
  /** The path under which the application knows the page. */
  readonly path: string;
  readonly allowances?: Allowances | undefined;
};

export type PageSender = ReturnType<typeof createPageSender>;

export function createPageSender({ configuration, keyKind }: Pick<Service, "configuration" | "keyKind">) {
  const sandbox = keyKind === "test";
  const documents = keptDocuments(configuration);
  return {
    sandbox,

    fresh(
      c: Context,
      { path, allowances, status = 200 }: About & { readonly status?: ContentfulStatusCode },
      part: (language: Language) => Part,
    ): Response | Promise<Response> {
      const language = languageOf(c);
      protectPage(c, allowances);
      c.header("Cache-Control", "no-store");
      const { site } = configuration.current().settings;
      return c.html(pageFrame({ ...part(language), language, path, sandbox, site }), status);
    },

    /**
     * Sends a page that is made once for all who read it in one language, and anew when the issuer or the site changes.
     * @param about.name tells pages of one path apart; null for a page that is for this reader alone, which is not kept
     */
    async kept(
      c: Context,
      about: About & { readonly name?: string | null; readonly cacheControl?: string },
      part: (language: Language, settings: Settings) => Part | Promise<Part>,
    ): Promise<Response> {
      const { path, allowances, name = "", cacheControl } = about;
      const language = languageOf(c);
      protectPage(c, allowances);
      const make = async (settings: Settings) => {
        const own = await part(language, settings);
        const frame = pageFrame({ ...own, language, path, sandbox, site: settings.site });
        return compressedDocument(String(await frame), "text/html; charset=utf-8");
      };
      const key = JSON.stringify([path, name, language.tag, language.asked]);
      const document = await (name === null ? make(configuration.current().settings) : documents(key, make));
      return sendDocument(c, document, cacheControl);
    },
  };
}

/** The small files that belong to the site as a whole, and the short ways to its pages. */

import { Buffer } from "node:buffer";
import { TvsError } from "../domain/errors.ts";
import type { PageHandler } from "../http/hono-call.ts";
import { asKeys, publicDocument, sendDocument } from "../http/public-document.ts";
import type { Service } from "../service.ts";
import { icon } from "./identity.ts";

/**
 * Crawlers need not ask the API; a link to an answer they may follow, because only then do they see that it must not
 * be shown (the page says `noindex`). Of a sandbox nothing is for them.
 */
const robots = {
  live: "User-agent: *\nDisallow: /teacher/\nDisallow: /v1/inter-agency/log/\n",
  test: "User-agent: *\nDisallow: /\n",
};

export function createSiteRoutes({ configuration, keyKind }: Pick<Service, "configuration" | "keyKind">) {
  const iconFile = publicDocument(icon, "image/svg+xml");
  const robotsFile = publicDocument(robots[keyKind], "text/plain; charset=utf-8");
  const logo: PageHandler = (c) => {
    const { site } = configuration.current().settings;
    if (site.logo === null) throw new TvsError("PATH_UNKNOWN", "this site has no logo");
    // Opened by itself it is a document, and as such may do nothing at all.
    const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";
    c.header("Content-Security-Policy", policy);
    c.header("Cache-Control", asKeys);
    c.header("Content-Type", site.logo.type);
    return c.body(new Uint8Array(Buffer.from(site.logo.data, "base64")));
  };
  const style: PageHandler = (c) => {
    const { accent } = configuration.current().settings.site;
    const css = accent === null ? "" : `@media screen{:root{--brand:${accent};--on-brand:#fff}}`;
    return sendDocument(c, publicDocument(css, "text/css; charset=utf-8"));
  };
  return {
    icon: ((c) => sendDocument(c, iconFile)) satisfies PageHandler,
    robots: ((c) => sendDocument(c, robotsFile)) satisfies PageHandler,
    logo,
    style,
    /** Leads on, relative to the address that was asked for, which may have a proxy's path before it. */
    leadTo:
      (way: string): PageHandler =>
      (c) =>
        c.redirect(way, 302),
  };
}

/** The app of the admin port: the operator's console and the Prometheus metrics. */

import { Hono, type MiddlewareHandler } from "hono";
import { compress } from "hono/compress";
import { getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { serveFile } from "../api/public-document.ts";
import { isTvsError } from "../domain/errors.ts";
import { log } from "../logger.ts";
import { expositionContentType, formatExposition, readMetrics } from "../metrics/exposition.ts";
import {
  type AdminEnv,
  type LinkRefusalReason,
  removeSessionFolder,
  requireLocalRequest,
  type SessionStore,
  sendError,
  sessionLifeMs,
  sessionRoute,
} from "./access.ts";
import { renderConsoleHome, renderFrame, renderMessagePage, renderSections } from "./console-page.ts";
import type { ConsoleSources } from "./console-state.ts";
import { addRegisterPages } from "./register-pages.ts";

type AdminOptions = { readonly sources: ConsoleSources; readonly sessions: SessionStore };

/** The cookie of a session. Its `Path` is the session's folder, so browsers send the cookie to that folder only. */
const cookieName = "tvs_console";
const livePath = "/live.json";

/** Makes the app. The console requires a session (decision D8.3), but `/metrics` does not: a scraper cannot open a link. */
export function createAdminApp({ sources, sessions }: AdminOptions): Hono<AdminEnv> {
  const command = sources.commandLine("console");
  const signedIn: MiddlewareHandler<AdminEnv> = async (c, next) => {
    if (sessions.has({ folder: c.req.param("folder"), secret: getCookie(c, cookieName) })) return next();
    if (removeSessionFolder(c.req.path) !== livePath) return c.html(refusalPage("no session", command), 401);
    return c.json({ statusCode: 401, message: `this session has ended; ${command} prints a new link` }, 401);
  };

  const app = new Hono<AdminEnv>();
  app.onError((error, c) => {
    const status = isTvsError(error)
      ? refusedStatuses[error.code as keyof typeof refusedStatuses]
      : undefined;
    const title = c.get("title");
    if (status !== undefined && title !== undefined) {
      const path = removeSessionFolder(c.req.path).replace(/\.csv$/, "");
      const main = html`<section class="panel" role="alert"><h2>This cannot be shown</h2><p>${error.message}</p><p><a href=".${path}">Back</a></p></section>`;
      return c.html(renderFrame({ title, path, main }), status);
    }
    log.error("the console failed", { detail: String(error) });
    return sendError(c, 500, "internal error");
  });
  app.use(requireLocalRequest(), compress({ encoding: "gzip" }));
  app.notFound((c) => sendError(c, 404, "there is no page at this address"));

  app.get("/open", async (c) => {
    const session = sessions.open(c.req.query("token") ?? "");
    if (typeof session === "string") return c.html(refusalPage(session, command), 410);
    const path = `/s/${session.folder}/`;
    const maxAge = sessionLifeMs / 1000;
    setCookie(c, cookieName, session.secret, { httpOnly: true, sameSite: "Strict", path, maxAge });
    return c.redirect(path, 303);
  });

  app.get("/", (c) => c.html(refusalPage("no session", command), 401));
  app.get(`${sessionRoute}/`, signedIn, async (c) => c.html(renderConsoleHome(await readMetrics(sources))));
  const pages = app.basePath(sessionRoute);
  pages.get(livePath, signedIn, async (c) =>
    c.json({ sections: await renderSections(await readMetrics(sources)) }),
  );
  addRegisterPages(pages, sources, signedIn);

  app.get("/metrics", async (c) =>
    c.body(await formatExposition(sources), 200, { "Content-Type": expositionContentType }),
  );

  for (const [path, file] of Object.entries(files)) app.get(path, file);
  return app;
}

/** The HTTP statuses of a malformed query and an unknown id, by error code. The page shows the error's message. */
const refusedStatuses = { USAGE: 400, REQUEST_INVALID: 400, NOT_KNOWN: 404, BODY_TOO_LARGE: 413 } as const;

const script = (load: Parameters<typeof serveFile>[1]) => serveFile("text/javascript", load);
const files: Readonly<Record<string, ReturnType<typeof serveFile>>> = {
  "/console.css": serveFile("text/css", () => import("./console.css", { with: { type: "text" } })),
  "/copy-button.js": script(() => import("../site/copy-button.client.js", { with: { type: "text" } })),
  "/console.js": script(() => import("./console.client.js", { with: { type: "text" } })),
};

type Refusal = LinkRefusalReason | "no session";

function refusalPage(refusal: Refusal, command: string) {
  const [title, text] = refusals[refusal];
  const remedy = "To get a new link, run this command on the machine of the service:";
  return renderMessagePage(title, { text: `${text} ${remedy}`, command });
}

const refusals: Readonly<Record<Refusal, readonly [title: string, text: string]>> = {
  used: [
    "This link was used already",
    "A link opens the console once, so a link that somebody finds later is useless. If you used it, go on in the window that it opened. If you did not, find out who can read this machine's terminal or log.",
  ],
  expired: ["This link is too old", "A link can be opened for five minutes."],
  unknown: ["This link is not valid", "It is incomplete, or the service was restarted after it was printed."],
  "no session": ["The console opens with a link", "This browser is not signed in, or its session has ended."],
};

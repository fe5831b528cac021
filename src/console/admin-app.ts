/** The operator's console and the metrics over HTTP. */

import { type Context, Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { programFile } from "../http/public-document.ts";
import { log } from "../logger.ts";
import type { Exposition } from "../metrics/exposition.ts";
import { look } from "../metrics/sources.ts";
import { type AdminEnv, failed, guarded, type Opening, type Sessions, sessionLifeMs } from "./access.ts";
import { consolePage, type PlainPage, plainPage, renderSections } from "./console-page.ts";
import type { ConsoleSources } from "./console-state.ts";
import { addRegisterPages } from "./register-pages.ts";

type AdminOptions = {
  readonly sources: ConsoleSources;
  readonly exposition: Exposition;
  readonly sessions: Sessions;
  /** The port of the console: cookies do not know ports, so the cookie's name has it. */
  readonly port: number;
};

/**
 * The operator's console and the metrics (decision D8.3). The metrics are open to whoever is on this machine, as a
 * scraper can open no link; the console wants a session, which a one-time link begins.
 */
export function createAdminApp({ sources, exposition, sessions, port }: AdminOptions): Hono<AdminEnv> {
  const cookieName = `tvs_console_${port}`;
  const isSignedIn = (c: Context<AdminEnv>) => sessions.has(getCookie(c, cookieName));
  const command = sources.commandLine("console");

  async function signedIn(c: Context<AdminEnv>, act: () => Promise<Response>): Promise<Response> {
    if (isSignedIn(c)) return act();
    return c.html(refusalPage("no session", { command, isSignedIn: false }), 401);
  }

  const app = new Hono<AdminEnv>();
  app.onError((error, c) => {
    log.error("the console failed", { detail: String(error) });
    return failed(c, 500, "internal error");
  });
  app.use(guarded());
  app.notFound((c) => failed(c, 404, "there is no page at this address"));

  app.get("/open", async (c) => {
    const opening = sessions.open(c.req.query("token") ?? "");
    if (opening.verdict === "good") {
      const maxAge = sessionLifeMs / 1000;
      setCookie(c, cookieName, opening.session, { httpOnly: true, sameSite: "Strict", path: "/", maxAge });
      return c.redirect("/", 303);
    }
    return c.html(refusalPage(opening.verdict, { command, isSignedIn: isSignedIn(c) }), 410);
  });

  app.get("/", (c) => signedIn(c, async () => c.html(consolePage(await look(sources)))));
  addRegisterPages(app, sources, signedIn);

  app.get("/live.json", async (c) => {
    if (!isSignedIn(c)) {
      return c.json(
        { statusCode: 401, message: `this session has ended; ${command} prints a new link` },
        401,
      );
    }
    return c.json({ sections: await renderSections(await look(sources)) });
  });

  app.get("/metrics", async (c) =>
    c.body(await exposition.text(), 200, { "Content-Type": exposition.contentType }),
  );

  for (const [path, file] of Object.entries(files)) app.get(path, file);
  return app;
}

/** What the console's pages load besides. */
const files: Readonly<Record<string, ReturnType<typeof programFile>>> = {
  "/console.css": programFile("text/css", () => import("./console.css", { with: { type: "text" } })),
  "/copy-button.js": programFile(
    "text/javascript",
    () => import("../site/copy-button.client.js", { with: { type: "text" } }),
  ),
  "/console.js": programFile(
    "text/javascript",
    () => import("./console.client.js", { with: { type: "text" } }),
  ),
};

type Refusal = Exclude<Opening["verdict"], "good"> | "no session";

function refusalPage(refusal: Refusal, { command, isSignedIn }: { command: string; isSignedIn: boolean }) {
  const [title, text] = refusals[refusal];
  const page: PlainPage = {
    text: `${text} To get a new link, run this on the machine of the service:`,
    command,
  };
  const more = html`<p>This browser is signed in: <a href="/">go to the console</a></p>`;
  return plainPage(title, isSignedIn ? { ...page, more } : page);
}

const refusals: Readonly<Record<Refusal, readonly [title: string, text: string]>> = {
  used: [
    "This link was used already",
    "A link opens the console once, so that nobody who finds it later gets in. If it was not you who used it, find out who can read this machine's terminal or log.",
  ],
  expired: ["This link is too old", "A link waits five minutes to be opened."],
  unknown: [
    "This link is not valid",
    "It is incomplete, or the service has been started anew since it was printed.",
  ],
  "no session": ["The console opens with a link", "This browser is not signed in, or its session has ended."],
};

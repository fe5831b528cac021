/** The operator's console and the metrics over HTTP. */

import { type Context, Hono } from "hono";
import { compress } from "hono/compress";
import { getCookie, setCookie } from "hono/cookie";
import { programFile } from "../api/public-document.ts";
import { log } from "../logger.ts";
import { type Exposition, look } from "../metrics/exposition.ts";
import {
  type AdminEnv,
  failed,
  guarded,
  type Opening,
  type Sessions,
  sessionLifeMs,
  sessionPath,
} from "./access.ts";
import { consolePage, plainPage, renderSections } from "./console-page.ts";
import type { ConsoleSources } from "./console-state.ts";
import { addRegisterPages } from "./register-pages.ts";

type AdminOptions = {
  readonly sources: ConsoleSources;
  readonly exposition: Exposition;
  readonly sessions: Sessions;
};

/** Sent for the path of its session alone. */
const cookieName = "tvs_console";

/**
 * The metrics are open on this machine, because a scraper can open no link; the console needs a session, which a
 * one-time link begins (decision D8.3).
 */
export function createAdminApp({ sources, exposition, sessions }: AdminOptions): Hono<AdminEnv> {
  const isSignedIn = (c: Context<AdminEnv>) =>
    sessions.has({ folder: c.req.param("folder"), secret: getCookie(c, cookieName) });
  const command = sources.commandLine("console");

  async function signedIn(c: Context<AdminEnv>, act: () => Promise<Response>): Promise<Response> {
    if (isSignedIn(c)) return act();
    return c.html(refusalPage("no session", command), 401);
  }

  const app = new Hono<AdminEnv>();
  app.onError((error, c) => {
    log.error("the console failed", { detail: String(error) });
    return failed(c, 500, "internal error");
  });
  app.use(guarded(), compress({ encoding: "gzip" }));
  app.notFound((c) => failed(c, 404, "there is no page at this address"));

  app.get("/open", async (c) => {
    const opening = sessions.open(c.req.query("token") ?? "");
    if (opening.verdict === "good") {
      const { folder, secret } = opening.session;
      const path = `/s/${folder}/`;
      const maxAge = sessionLifeMs / 1000;
      setCookie(c, cookieName, secret, { httpOnly: true, sameSite: "Strict", path, maxAge });
      return c.redirect(path, 303);
    }
    return c.html(refusalPage(opening.verdict, command), 410);
  });

  app.get("/", (c) => c.html(refusalPage("no session", command), 401));
  const pages = app.basePath(sessionPath);
  app.get(`${sessionPath}/`, (c) => signedIn(c, async () => c.html(consolePage(await look(sources)))));
  addRegisterPages(pages, sources, signedIn);

  pages.get("/live.json", async (c) => {
    if (!isSignedIn(c)) {
      const message = `this session has ended; ${command} prints a new link`;
      return c.json({ statusCode: 401, message }, 401);
    }
    return c.json({ sections: await renderSections(await look(sources)) });
  });

  app.get("/metrics", async (c) =>
    c.body(await exposition.text(), 200, { "Content-Type": exposition.contentType }),
  );

  for (const [path, file] of Object.entries(files)) app.get(path, file);
  return app;
}

const script = (load: Parameters<typeof programFile>[1]) => programFile("text/javascript", load);
const files: Readonly<Record<string, ReturnType<typeof programFile>>> = {
  "/console.css": programFile("text/css", () => import("./console.css", { with: { type: "text" } })),
  "/copy-button.js": script(() => import("../site/copy-button.client.js", { with: { type: "text" } })),
  "/console.js": script(() => import("./console.client.js", { with: { type: "text" } })),
};

type Refusal = Exclude<Opening["verdict"], "good"> | "no session";

function refusalPage(refusal: Refusal, command: string) {
  const [title, text] = refusals[refusal];
  return plainPage(title, {
    text: `${text} To get a new link, run this on the machine of the service:`,
    command,
  });
}

const refusals: Readonly<Record<Refusal, readonly [title: string, text: string]>> = {
  used: [
    "This link was used already",
    "A link opens the console once, so that nobody who finds it later gets in. If you used it, go on in the window that it opened. If it was not you who used it, find out who can read this machine's terminal or log.",
  ],
  expired: ["This link is too old", "A link waits five minutes to be opened."],
  unknown: [
    "This link is not valid",
    "It is incomplete, or the service has been started anew since it was printed.",
  ],
  "no session": ["The console opens with a link", "This browser is not signed in, or its session has ended."],
};

import { afterAll, beforeAll } from "bun:test";
import { readFileSync } from "node:fs";
import { makeImportDependencies } from "../../cli/open.ts";
import { listenOnConsolePort } from "../../cli/serve/console.ts";
import { openService } from "../../cli/serve/open-service.ts";
import { createApp } from "../../src/app.ts";
import { consoleFilePathOf, readCommandConfig } from "../../src/config.ts";
import { createConsoleLink, parseConsoleFile } from "../../src/console/access.ts";
import { importIntoRegister } from "../../src/domain/import/import.ts";
import { sendToApp } from "./answer.ts";
import { aClock } from "./clock.ts";
import { makeFolder } from "./folder.ts";
import { makeRegister } from "./service.ts";

export type TestConsole = Awaited<ReturnType<typeof openTestConsole>>;

/** Opens the real service with its console on a free port. Only the test moves its clock. */
export async function openTestConsole() {
  const folder = makeFolder();
  const clock = aClock("2026-03-01T09:30:00Z");
  const config = readCommandConfig({ data: folder.path }, {});
  const consolePort = await listenOnConsolePort(0);
  await makeRegister(folder.path, { at: clock.now() });
  const opened = await openService(config, { clock, defaultIssuer: "https://teachers.example" });
  await consolePort.open(opened, config);
  const { port } = consolePort;
  const { operator } = opened;

  /** Imports an extract. A baseline causes no events. */
  async function load(name: string, text: string, baseline: boolean): Promise<void> {
    const bytes = new Blob([text]).stream();
    await importIntoRegister({ name, bytes }, makeImportDependencies(operator), {
      baseline,
      allowChange: true,
    });
  }

  /** Makes a link, as `tvs console` prints it. */
  async function newLink(): Promise<string> {
    const location = parseConsoleFile(readFileSync(consoleFilePathOf(config), "utf8"));
    return createConsoleLink(operator.secrets, location, clock.now()).url;
  }
  const app = createApp(opened.service, { publicPerMinute: 1_000_000, trustedProxies: [] });

  type Sent = { headers?: Record<string, string>; method?: string; host?: string };

  /** Sends a request to the console. A Host header replaces the host of the URL. */
  async function call(path: string, { headers = {}, method = "GET", host = "127.0.0.1" }: Sent = {}) {
    const url = `http://${host}:${port}${path}`;
    const response = await fetch(url, { method, headers, redirect: "manual", keepalive: false });
    const cookies = response.headers.getSetCookie();
    const received: Record<string, string | undefined> = Object.fromEntries(response.headers);
    return { status: response.status, headers: received, cookies, text: await response.text() };
  }

  /** Opens a link as a browser does. @returns the Cookie header, the path of the pages, and a function that gets one */
  async function signIn(link?: string) {
    const { headers, cookies } = await call(pathOf(link ?? (await newLink())));
    const cookie = (cookies[0] ?? "").replace(/;.*$/, "");
    const home = headers.location ?? "";
    /** Gets a page, by its path below that of the session, or by a link of another page. */
    const get = (path: string) => {
      const address = new URL(path.replace(/^\//, "./"), `http://127.0.0.1${home}`);
      return call(pathOf(String(address)), { headers: { Cookie: cookie } });
    };
    return { cookie, home, get };
  }

  async function close() {
    await consolePort.close();
    await opened.close();
    await folder.remove();
  }

  const ask = (path: string, init?: RequestInit) => sendToApp(app, path, init);

  return {
    ...opened,
    ...{ port, load, newLink, call, signIn, ask, close },
    folder: folder.path,
    forward: clock.add,
  };
}

/** Opens a service with its console for all tests of a file. */
export function sharedTestConsole(): TestConsole {
  const world = {} as TestConsole;
  beforeAll(async () => {
    Object.assign(world, await openTestConsole());
  });
  afterAll(() => world.close());
  return world;
}

export function pathOf(link: string): string {
  const { pathname, search } = new URL(link);
  return `${pathname}${search}`;
}

/**
 * Starts a real Chromium for the tests of the pages. `npm run pages` runs these tests, and `npm test` does not, because a
 * fresh machine with Node and npm has no browser.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext, BrowserContextOptions, Browser as Chromium, Page } from "playwright-core";
import { chromium } from "playwright-core";
import { openSite, type TestSite } from "./site.ts";

/** The time limit of a test. On a busy machine, a browser needs seconds to start, and axe needs seconds for a page. */
export const browserTestTimeoutMs = 240_000;

/** A browser action fails after this time, before the time limit of the test. */
const actionMs = 45_000;

const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Flags with which Chromium asks no first-run questions, and makes only the requests of the page. */
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function executable(): string {
  const path = process.env.CHROMIUM ?? paths.find((path) => existsSync(path));
  if (path === undefined) {
    throw new Error("no Chromium: install it (apt-get install chromium), or name it in CHROMIUM");
  }
  return path;
}

export type Browser = {
  readonly context: BrowserContext;
  /** Opens a tab. */
  open(): Promise<Tab>;
  close(): Promise<void>;
};

export type Tab = {
  readonly page: Page;
  /** The messages of script errors and of refusals by the content security policy, in order. */
  readonly complaints: string[];
  /** Every requested URL, except `data:` and `blob:`. */
  readonly requested: string[];
};

/** The one Chromium for all profiles, because starting Chromium takes longer than most tests. */
let running: Promise<Chromium> | undefined;
let profiles = 0;

/**
 * Opens a new, empty profile.
 * @param options Playwright's options, such as `viewport`, `colorScheme`, `javaScriptEnabled` and `locale`
 */
export async function startBrowser(options: BrowserContextOptions = {}): Promise<Browser> {
  profiles++;
  running ??= chromium.launch({ executablePath: executable(), args: flags });
  // Playwright's routes do not see the requests of a service worker, so only the tests of the worker allow a worker.
  const context = await (await running).newContext({ serviceWorkers: "block", ...options });
  context.setDefaultTimeout(actionMs);
  return {
    context,
    open: () => openTab(context),
    async close() {
      await context.close();
      if (--profiles > 0) return;
      const ending = running;
      running = undefined;
      await (await ending)?.close();
    },
  };
}

export async function runInBrowser<T>(
  options: BrowserContextOptions,
  run: (tab: Tab, browser: Browser) => Promise<T>,
): Promise<T> {
  const browser = await startBrowser(options);
  try {
    return await run(await browser.open(), browser);
  } finally {
    await browser.close();
  }
}

/** Opens a sandbox and an empty profile before the first test of a file, and closes both after the last test. */
export function useSharedSite(options: BrowserContextOptions = {}): { site: TestSite; browser: Browser } {
  setDefaultTimeout(browserTestTimeoutMs);
  const [site, browser] = [{} as TestSite, {} as Browser];
  beforeAll(async () => {
    const [opened, started] = await Promise.all([openSite(), startBrowser(options)]);
    Object.assign(site, opened);
    Object.assign(browser, started);
  });
  afterAll(() => Promise.all([browser.close(), site.close()]));
  return { site, browser };
}

async function openTab(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  const complaints: string[] = [];
  const requested: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!/^(?:data|blob):/.test(request.url())) requested.push(request.url());
  });
  return { page, complaints, requested };
}

type AxeFinding = { rule: string; impact: string | null; targets: string[] };

const axeSource = readFileSync(
  join(dirname(fileURLToPath(import.meta.resolve("axe-core"))), "axe.min.js"),
  "utf8",
);

type AxeGlobal = {
  axe: {
    run(options: object): Promise<{
      violations: { id: string; impact: string | null; nodes: { target: string[]; html: string }[] }[];
    }>;
  };
};

/**
 * Runs axe-core with all rules, best practices included, or with `rules` only. `evaluate` bypasses the page's content security
 * policy. The page must allow scripts (`javaScriptEnabled`).
 */
export async function findAxeViolations(page: Page, rules?: readonly string[]): Promise<AxeFinding[]> {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(
    async (runOnly) => {
      const { axe } = globalThis as unknown as AxeGlobal;
      return (await axe.run({ resultTypes: ["violations"], ...(runOnly && { runOnly }) })).violations;
    },
    rules as string[] | undefined,
  );
  return violations.map(({ id, impact, nodes }) => ({
    rule: id,
    impact,
    targets: nodes.map(({ target, html }) => `${target.join(" ")}  ${html}`),
  }));
}

/** Measures by how much the page is wider than its window. On such a page, a phone scrolls sideways. */
function overflowPx(page: Page): Promise<number> {
  return page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  ) as Promise<number>;
}

/** Window widths in pixels, from the narrowest phone to a desktop. */
const widths = [320, 390, 1280];

/**
 * Expects that a page fits every screen and that axe finds no fault. In the light colour scheme, axe runs all rules. In the
 * dark scheme, where only colours differ, axe runs the rule of contrast.
 * @param axeWidths the widths at which axe runs
 */
export async function expectAccessiblePage(page: Page, axeWidths: readonly number[] = [390]): Promise<void> {
  const size = page.viewportSize();
  for (const width of widths) {
    await page.setViewportSize({ width, height: 844 });
    expect({ page: page.url(), width, overflow: await overflowPx(page) }).toMatchObject({
      width,
      overflow: 0,
    });
    if (axeWidths.includes(width)) expect(await findAxeViolations(page)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await findAxeViolations(page, ["color-contrast"])).toEqual([]);
  await page.emulateMedia({ colorScheme: "light" });
  if (size !== null) await page.setViewportSize(size);
}

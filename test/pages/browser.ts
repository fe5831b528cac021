/**
 * Real Chromium for the tests of the pages. They run as `npm run pages`, apart from `npm test`, because a fresh machine
 * with Node and npm has no browser.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type BrowserContext,
  type BrowserContextOptions,
  type Browser as Chromium,
  chromium,
  type Page,
} from "playwright-core";
import { openSite, type TestSite } from "./site.ts";

/** The time limit of a test. A browser on a busy machine needs seconds to start, and axe seconds for each page. */
export const browserTestTimeoutMs = 240_000;

/** A browser action fails after this time, before the time limit of the test. */
const actionMs = 45_000;

const paths = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Chromium asks no first-run questions, and makes only the requests of the page. */
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
  /** Errors of scripts and refusals by the content security policy, in their order. */
  readonly complaints: string[];
  /** Every requested URL, except `data:` and `blob:`. */
  readonly requested: string[];
};

/** One Chromium for all profiles: starting it takes longer than most tests. */
let running: Promise<Chromium> | undefined;
let profiles = 0;

/**
 * Opens a new, empty profile.
 * @param options Playwright's: `viewport`, `colorScheme`, `javaScriptEnabled`, `locale`, …
 */
export async function startBrowser(options: BrowserContextOptions = {}): Promise<Browser> {
  profiles++;
  running ??= chromium.launch({ executablePath: executable(), args: flags });
  // Playwright's routes do not see the requests of a service worker: only tests of the worker allow it.
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

/** A sandbox and an empty profile for all tests of a file, opened before the first of them and closed after the last. */
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
 * Runs axe-core with all of its rules, best practices included, or with some. `evaluate` bypasses the page's content security
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

/** The page must never be wider than its window: a phone would scroll sideways. */
function overflowPx(page: Page): Promise<number> {
  return page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  ) as Promise<number>;
}

/** From the narrowest phone to a desktop. */
const widths = [320, 390, 1280];

/**
 * Expects that a page fits every screen and that axe finds nothing: with all rules in the light scheme, and with the rule of
 * contrast in the dark one, where only colours differ.
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

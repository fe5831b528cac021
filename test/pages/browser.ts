/**
 * Real Chromium for the tests of the pages. They run as `npm run pages`, apart from `npm test`, because a fresh machine
 * with Node and npm has no browser.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { makeFolder } from "../harness/folder.ts";

/** Starting a browser on a busy machine takes seconds; Bun's own limit for a test is five. */
export const patienceMs = 60_000;

/** What a page has not done by then, it will not do: a test says so before its own time is up. */
const actionMs = 15_000;

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Quiet: no first-run questions, and no call to anybody but the page under test. */
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
  const path = process.env.CHROMIUM ?? places.find((place) => existsSync(place));
  if (path === undefined) {
    throw new Error("no Chromium: install it (apt-get install chromium), or name it in CHROMIUM");
  }
  return path;
}

export type Browser = {
  readonly context: BrowserContext;
  /** A fresh tab. What the page logs as an error, and every address that it asks for, is kept. */
  open(): Promise<Tab>;
  close(): Promise<void>;
};

export type Tab = {
  readonly page: Page;
  /** Errors of scripts and refusals by the content security policy, in their order. */
  readonly complaints: string[];
  /** Every address that was asked for, but for `data:` and `blob:`. */
  readonly requested: string[];
};

/**
 * Starts Chromium with a new, empty profile.
 * @param options Playwright's: `viewport`, `colorScheme`, `javaScriptEnabled`, `locale`, …
 */
export async function startBrowser(options: BrowserContextOptions = {}): Promise<Browser> {
  const { path: profile, remove } = await makeFolder();
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: executable(),
      headless: true,
      args: flags,
      ...options,
    });
    context.setDefaultTimeout(actionMs);
    return {
      context,
      open: () => openTab(context),
      close: () => context.close().finally(remove),
    };
  } catch (error) {
    await remove();
    throw error;
  }
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

/** What axe has to say about a page: the rule, and where it is broken. */
export type AxeFinding = { rule: string; impact: string | null; targets: string[] };

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
 * Runs axe-core with all of its rules, best practices included. It is put in past the page's own policy, which
 * rightly lets no foreign script in. The page must allow scripts (`javaScriptEnabled`).
 */
export async function axeFindings(page: Page): Promise<AxeFinding[]> {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as AxeGlobal;
    return (await axe.run({ resultTypes: ["violations"] })).violations;
  });
  return violations.map(({ id, impact, nodes }) => ({
    rule: id,
    impact,
    targets: nodes.map(({ target, html }) => `${target.join(" ")}  ${html}`),
  }));
}

/** The page must never be wider than its window: a phone would scroll sideways. */
export function overflowPx(page: Page): Promise<number> {
  return page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  ) as Promise<number>;
}

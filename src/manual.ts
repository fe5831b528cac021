/** The operator's manual: Markdown pages, embedded in the program, for `tvs help` and for the service's own pages. */

import accessLog from "../data/help/access-log.md" with { type: "text" };
import backup from "../data/help/backup.md" with { type: "text" };
import boards from "../data/help/boards.md" with { type: "text" };
import consolePage from "../data/help/console.md" with { type: "text" };
import errorsPage from "../data/help/errors.md" with { type: "text" };
import evidence from "../data/help/evidence.md" with { type: "text" };
import growth from "../data/help/growth.md" with { type: "text" };
import install from "../data/help/install.md" with { type: "text" };
import keyTheft from "../data/help/key-theft.md" with { type: "text" };
import keys from "../data/help/keys.md" with { type: "text" };
import libsql from "../data/help/libsql.md" with { type: "text" };
import limits from "../data/help/limits.md" with { type: "text" };
import metrics from "../data/help/metrics.md" with { type: "text" };
import nodes from "../data/help/nodes.md" with { type: "text" };
import partners from "../data/help/partners.md" with { type: "text" };
import privacy from "../data/help/privacy.md" with { type: "text" };
import proved from "../data/help/proved.md" with { type: "text" };
import proxy from "../data/help/proxy.md" with { type: "text" };
import register from "../data/help/register.md" with { type: "text" };
import sandbox from "../data/help/sandbox.md" with { type: "text" };
import service from "../data/help/service.md" with { type: "text" };
import terminal from "../data/help/terminal.md" with { type: "text" };
import verify from "../data/help/verify.md" with { type: "text" };
import webhooks from "../data/help/webhooks.md" with { type: "text" };
import { errorCodes } from "./partner/error-codes.ts";

export type Topic = {
  /** The word after `tvs help`, the last part of the page's address, and the file's name. */
  readonly name: string;
  readonly summary: string;
  /** Markdown. */
  readonly text: string;
};

/** The topics, in the order in which an operator meets them. */
export const topics: readonly Topic[] = [
  {
    name: "terminal",
    summary: "Exit codes, files, completion: what holds for every command",
    text: terminal,
  },
  { name: "register", summary: "Load teachers, revoke a licence, decide who is eligible", text: register },
  { name: "partners", summary: "Onboard a partner: scopes, quotas, API keys, certificates", text: partners },
  { name: "proxy", summary: "End TLS here or in front, and believe the right headers", text: proxy },
  { name: "keys", summary: "Rotate keys, replace one that leaked, keep the master key", text: keys },
  { name: "sandbox", summary: "Cause webhooks and receive them: a partner's engineer", text: sandbox },
  { name: "webhooks", summary: "Tell partners of changes, and see what went wrong", text: webhooks },
  { name: "errors", summary: "What each error code means, and what to do", text: errorsPage + codeTable() },
  { name: "access-log", summary: "Follow a request id to its call and its attestations", text: accessLog },
  { name: "console", summary: "See how the service does and what needs doing", text: consolePage },
  { name: "metrics", summary: "Watch it with Prometheus and Grafana; every metric", text: metrics },
  { name: "install", summary: "Run it under systemd: package, files, timers, alerts", text: install },
  { name: "service", summary: "Run it in a container; issuer, settings and site", text: service },
  { name: "backup", summary: "Back up while serving, and restore", text: backup },
  {
    name: "nodes",
    summary: "Run several nodes behind a proxy, and what to do when a part dies",
    text: nodes,
  },
  { name: "libsql", summary: "Look after the server that nodes share: tokens, TLS, backup", text: libsql },
  { name: "verify", summary: "Check envelopes and certificates, offline and for years", text: verify },
  { name: "boards", summary: "For an examination board: what to ask for, and how to check it", text: boards },
  {
    name: "evidence",
    summary: "The log that shows when each answer was given, to everybody",
    text: evidence,
  },
  { name: "key-theft", summary: "A key is stolen: what happens, what to do, what it prints", text: keyTheft },
  { name: "privacy", summary: "What is kept of whom, and data-protection requests", text: privacy },
  { name: "growth", summary: "How many nodes and primaries for how many checks", text: growth },
  { name: "limits", summary: "What it does not do, and how much it takes", text: limits },
  { name: "proved", summary: "The randomised tests of what it promises, and their results", text: proved },
];

function codeTable(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, { status, meaning, remedy }]) => `| \`${code}\` | ${status} | ${meaning} | ${remedy} |\n`,
  );
  return `| code | status | what it means | what to do |\n|---|---|---|---|\n${rows.join("")}`;
}

/** The title of a page: its first heading. */
export function titleOf({ text }: Topic): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}

/**
 * Where a link of a page leads.
 * @param href as it is written: `keys.md`, `keys.md#the-master-key`, or an address
 * @returns the topic that it names and the place in its page, or null when it leads out of the manual
 */
export function linkedTopic(href: string): { name: string; anchor: string } | null {
  const [, name = "", anchor = ""] = /^([a-z-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  return topics.some((topic) => topic.name === name) ? { name, anchor } : null;
}

/** The id of a heading, as code forges make it: lower case, words joined by dashes. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

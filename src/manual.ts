/** The operator's manual: Markdown pages, embedded in the program. `tvs help` and the service's web pages show them. */

import accessLog from "../data/help/access-log.md" with { type: "text" };
import backup from "../data/help/backup.md" with { type: "text" };
import boards from "../data/help/boards.md" with { type: "text" };
import consolePage from "../data/help/console.md" with { type: "text" };
import errorsPage from "../data/help/errors.md" with { type: "text" };
import evidence from "../data/help/evidence.md" with { type: "text" };
import firstDay from "../data/help/first-day.md" with { type: "text" };
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

export type ManualTopic = {
  /** The argument of `tvs help`, the last part of the page's URL, and the name of its file. */
  readonly name: string;
  readonly summary: string;
  /** The page in Markdown. */
  readonly text: string;
};

type Group = { readonly title: string; readonly topics: readonly ManualTopic[] };

const topic = (name: string, summary: string, text: string): ManualTopic => ({ name, summary, text });

export const manualTopicGroups: readonly Group[] = [
  {
    title: "Start here",
    topics: [topic("first-day", "A day from an empty folder to a checked backup", firstDay)],
  },
  {
    title: "Daily work",
    topics: [
      topic("register", "Load teachers, revoke a licence, decide who is eligible", register),
      topic("partners", "Add a partner: scopes, quotas, API keys, certificates", partners),
      topic("webhooks", "Notify partners of changes, and see what failed", webhooks),
      topic("keys", "Rotate keys, replace one that leaked, keep the master key", keys),
      topic("terminal", "Exit codes, files and names that hold for every command", terminal),
    ],
  },
  {
    title: "Install and run",
    topics: [
      topic("install", "Run it under systemd: package, files, timers, alerts", install),
      topic("service", "Set issuer, name and logo; run it in a container", service),
      topic("proxy", "End TLS here or in front, and trust the right headers", proxy),
      topic("backup", "Back up while serving, and restore", backup),
    ],
  },
  {
    title: "Watch and find out",
    topics: [
      topic("console", "See how the service does and what needs doing", consolePage),
      topic("metrics", "Watch it with Prometheus and Grafana; every metric", metrics),
      topic("access-log", "Find out why a call was refused", accessLog),
      topic("errors", "Look up an error code and what to do", errorsPage + codeTable()),
    ],
  },
  {
    title: "Ask, check and prove",
    topics: [
      topic("sandbox", "For a partner's engineer: cause events and receive them", sandbox),
      topic("verify", "Check envelopes and printed attestations, offline", verify),
      topic("boards", "For an examination board: ask for answers and check them", boards),
      topic("evidence", "Show when each answer was given", evidence),
      topic("key-theft", "Act when a key is stolen, with what each command prints", keyTheft),
    ],
  },
  {
    title: "Grow and decide",
    topics: [
      topic("nodes", "Run several nodes, and act when a part dies", nodes),
      topic("libsql", "Run the server that nodes share: tokens, TLS, backup", libsql),
      topic("growth", "How many nodes and primaries for how many checks", growth),
      topic("limits", "What it does not do, and how much it takes", limits),
      topic("privacy", "What is stored of whom, and data-protection requests", privacy),
      topic("proved", "What tried to break each promise, how often, and what was lost", proved),
    ],
  },
];

export const manualTopics: readonly ManualTopic[] = manualTopicGroups.flatMap((group) => group.topics);

function codeTable(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, { status, meaning, remedy }]) => `| \`${code}\` | ${status} | ${meaning} | ${remedy} |\n`,
  );
  return `| code | status | what it means | what to do |\n|---|---|---|---|\n${rows.join("")}`;
}

export function topicTitleOf({ text }: ManualTopic): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}

/**
 * Finds the topic to which a link on a manual page leads.
 * @param href the link's target, such as `keys.md`, `keys.md#the-master-key`, or a URL
 * @returns the topic's name and the anchor on its page; null if the link leads out of the manual
 */
export function parseTopicLink(href: string): { name: string; anchor: string } | null {
  const [, name = "", anchor = ""] = /^([a-z-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  return manualTopics.some((topic) => topic.name === name) ? { name, anchor } : null;
}

/** Makes the id of a heading as GitHub does: lower case, words joined by dashes. */
export function headingIdOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

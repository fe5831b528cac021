/** What `tvs doctor --alert-command` does: a program is told of each finding that begins or ends (decision D1.13). */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import * as v from "valibot";
import { alertsFile, type Config } from "../../src/config.ts";
import { type Check, ok, warn } from "../../src/domain/check.ts";
import { isoTime, systemClock } from "../../src/domain/clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { codeOf, placeOver, writeBeside } from "../../src/store/driver/files.ts";
import { lockFile } from "../../src/store/driver/service-lock.ts";
import { canRun } from "../program.ts";

/** A check, its advice in words. */
type Finding = Pick<Check, "name" | "result" | "found" | "advice" | "about">;

/** One alert, as the program gets it. */
export type Alert = {
  /** The check's stable name. */
  readonly alert: string;
  readonly state: "begun" | "ended";
  readonly since: string;
  readonly text: string;
  /** The page of the manual that says more. */
  readonly page: string;
};

/** The check that speaks of the program itself, and of which it is not told. */
const ownName = "alert-command";

/** The manual's pages, and the checks that they are for; `service` has the others. */
const checksOfPages: Readonly<Record<string, readonly string[]>> = {
  backup: ["database", "integrity", "schema"],
  evidence: ["log", "log-anchors", "log-checkpoint", "log-head", "retention"],
  keys: ["master-key", "signing-keys"],
  nodes: ["database-clock", "node-clocks", "node-keys", "node-versions", "nodes"],
  partners: ["credentials", "quotas"],
  proxy: ["client-certificates", "proxy", "tls"],
  register: ["import", "import-source", "losses", "register"],
  webhooks: ["private-webhooks", "webhook-endpoints", "webhook-receivers", "webhooks", "webhooks-held"],
};

export function pageOf(check: string): string {
  return Object.keys(checksOfPages).find((page) => checksOfPages[page]?.includes(check)) ?? "service";
}

const stateSchema = v.object({
  /** By alert: since when it is on, and which findings the program knows; none when it is still to be told. */
  alerts: v.record(v.string(), v.object({ since: v.string(), told: v.array(v.string()), text: v.string() })),
  failure: v.nullable(v.string()),
});
type State = v.InferOutput<typeof stateSchema>;

/** What was told; nothing where there is no such file, or no whole one: then everything is told again. */
function readState(file: string): State {
  try {
    return v.parse(stateSchema, JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return { alerts: {}, failure: null };
  }
}

export function checkAlertCommand(config: Config): Check {
  const { failure } = readState(alertsFile(config));
  if (failure === null) return ok(ownName, "nothing is left to tell");
  return warn(ownName, failure, "it is asked again by the next tvs doctor --alert-command");
}

/** What keeps a program from being run; null for nothing. */
export function programFlaw(path: string): string | null {
  if (!canRun(path)) return "is not there, or this user cannot run it";
  const found = statSync(path);
  if (!found.isFile()) return "is not a program";
  return process.platform !== "win32" && (found.mode & 0o002) !== 0 ? "can be written by everybody" : null;
}

/**
 * Tells the program what has begun and ended since it was told last. Each telling is on the disk when it has
 * succeeded, so a kill lets one be told twice and none be lost. A state that cannot be written lets everything be
 * told again: a disk that is full must not hide itself.
 * @returns what was told, and why the rest was not, which is asked again the next time: null when there is no rest
 */
export async function tellAlerts(
  config: Config,
  path: string,
  findings: readonly Finding[],
  limitMs = 30_000,
): Promise<Awaited<ReturnType<typeof tellInTurn>>> {
  const file = alertsFile(config);
  // Where no lock can be made, telling something twice is better than telling nothing.
  const lock = await lockFile(`${file}.lock`).catch((error: unknown) => {
    if (isTvsError(error, "DATABASE_IN_USE")) return null;
    return { close() {} };
  });
  if (lock === null) return { told: [], failure: "another tvs doctor is telling alerts now" };
  try {
    return await tellInTurn(file, findings, { path, limitMs });
  } finally {
    lock.close();
  }
}

/** The program, and how long it may take for an alert. */
type Program = { readonly path: string; readonly limitMs: number };

async function tellInTurn(file: string, findings: readonly Finding[], program: Program) {
  const { path } = program;
  const state = readState(file);
  const told: Alert[] = [];
  const flaw = programFlaw(path);
  // A program that is not there is told of at once, not when the first alert comes.
  let failure = flaw === null ? null : `${path} ${flaw}`;
  for (const { alert, known } of flaw === null ? dueAlerts(state, findings) : []) {
    const { alert: name, since, text } = alert;
    // Whether a program that fails or is killed has told it, nobody knows: until it succeeds it counts as not told.
    state.alerts[name] = { since, text, told: [] };
    await save(file, state);
    const problem = await run(program, alert);
    if (problem !== null) failure = `${path} ${problem} when it was told of ${name}`;
    else {
      told.push(alert);
      if (alert.state === "ended") delete state.alerts[name];
      else state.alerts[name] = { since, text, told: known };
    }
  }
  state.failure = failure;
  const unsaved = await save(file, state);
  return { told, failure: failure ?? unsaved };
}

type Due = { readonly alert: Alert; readonly known: string[] };

/** What has begun, became worse or is about something further, and what has ended. */
function dueAlerts({ alerts }: State, findings: readonly Finding[]): Due[] {
  const wrong = Map.groupBy(
    findings.filter(({ name, result }) => result !== "ok" && name !== ownName),
    ({ name }) => name,
  );
  const due: Due[] = [];
  for (const [name, those] of wrong) {
    const before = alerts[name];
    const known = those.flatMap(knownBy);
    if (before !== undefined) before.told = before.told.filter((one) => known.includes(one));
    if (known.every((one) => before?.told.includes(one))) continue;
    const since = before?.since ?? isoTime(systemClock.now());
    const text = those
      .map(({ found, advice }) => (advice === null ? found : `${found}; ${advice}`))
      .join("\n");
    due.push({ alert: { alert: name, state: "begun", since, text, page: pageOf(name) }, known });
  }
  // Where the database could not be read, what it would say is not known: an alert of it has not ended.
  const isRead = findings.some(({ name }) => name === "register");
  for (const [name, { since, text }] of Object.entries(alerts)) {
    const isLookedAt = isRead || findings.some((one) => one.name === name);
    if (!isLookedAt || wrong.has(name)) continue;
    due.push({ alert: { alert: name, state: "ended", since, text, page: pageOf(name) }, known: [] });
  }
  return due;
}

/** A failure is known as the warning that it was too, so that one that gets better is not told again. */
function knownBy({ result, about }: Finding): string[] {
  return (result === "fail" ? ["warn", "fail"] : ["warn"]).map((one) => `${one} ${about ?? ""}`);
}

/** @returns why it could not be written; null when it stands on the disk */
async function save(file: string, state: State): Promise<string | null> {
  try {
    placeOver(await writeBeside(file, `${JSON.stringify(state)}\n`), file);
    return null;
  } catch (error) {
    return `${file} cannot be written (${codeOf(error)}), so everything is told again`;
  }
}

/** Runs the program without a shell, and without our settings: a key or a token may be among them. */
async function run({ path, limitMs }: Program, alert: Alert): Promise<string | null> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TVS_")));
  const child = spawn(path, [], {
    stdio: ["pipe", process.stderr, process.stderr],
    env,
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  // A program need not read what it is told.
  child.stdin.on("error", () => {});
  child.stdin.end(`${JSON.stringify(alert)}\n`);
  try {
    const [code, signal] = await once(child, "exit");
    if (code === 0) return null;
    return child.killed ? `took longer than ${limitMs / 1_000} s` : `ended with ${signal ?? code}`;
  } catch (error) {
    return `cannot be run (${codeOf(error)})`;
  }
}

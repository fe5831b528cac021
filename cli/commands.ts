import { type ArgsDef, runCommand } from "citty";
import packageJson from "../package.json" with { type: "json" };
import { suggestion } from "../src/domain/did-you-mean.ts";
import { isTvsError, TvsError } from "../src/domain/errors.ts";
import { commonArgs, commonValueFlags, type OurCommand } from "./command.ts";
import { setWorkerEntry } from "./entry.ts";
import { helpText, usage } from "./terminal/help.ts";
import { exitCodeOf, exitCodes } from "./terminal/output.ts";
import { rootHelp } from "./terminal/root-help.ts";

export const version = packageJson.version;

/** The command table. Each command's file is loaded only when it is run or explained. */
export const root: OurCommand = {
  meta: { name: "tvs", version, description: "Teacher Verification Service" },
  subCommands: {
    serve: () => import("./serve.ts").then((file) => file.serveCommand),
    keys: () => import("./keys.ts").then((file) => file.keysCommand),
    partners: () => import("./partners.ts").then((file) => file.partnersCommand),
    teachers: () => import("./teachers.ts").then((file) => file.teachersCommand),
    webhooks: () => import("./webhooks.ts").then((file) => file.webhooksCommand),
    attestations: () => import("./attestations.ts").then((file) => file.attestationsCommand),
    calls: () => import("./calls.ts").then((file) => file.callsCommand),
    verify: () => import("./verify/verify.ts").then((file) => file.default as unknown as OurCommand),
    "verify-webhook": () => import("./verify-webhook.ts").then((file) => file.verifyWebhookCommand),
    roster: () => import("./roster.ts").then((file) => file.rosterCommand),
    backup: () => import("./backup.ts").then((file) => file.backupCommand),
    restore: () => import("./restore.ts").then((file) => file.restoreCommand),
    status: () => import("./status.ts").then((file) => file.statusCommand),
    console: () => import("./console.ts").then((file) => file.consoleCommand),
    doctor: () => import("./doctor/doctor.ts").then((file) => file.doctorCommand),
    service: () => import("./service.ts").then((file) => file.serviceCommand),
    policy: () => import("./policy.ts").then((file) => file.policyCommand),
    openapi: () => import("./openapi.ts").then((file) => file.openapiCommand),
    completion: () => import("./terminal/completion.ts").then((file) => file.completionCommand),
  },
};

/**
 * Runs one command line.
 * @param argv the words after the program's name
 * @param entry the address of main.ts
 * @returns the exit code (decisions, The program)
 */
export async function runCommandLine(argv: readonly string[], entry: URL): Promise<number> {
  setWorkerEntry(entry);
  const words = kidsLast(commonFlagsLast(argv));
  try {
    if (words.length === 1 && (words[0] === "--version" || words[0] === "-v")) {
      process.stdout.write(`${version}\n`);
      return exitCodes.done;
    }
    // The completion scripts ask with this word, which no help mentions; what follows is not ours to reorder.
    if (argv[0] === "__complete")
      return await (await import("./terminal/complete.ts")).complete(root, argv.slice(1));
    if (words[0] === "help") return await explain(words.slice(1));
    if (words.length === 0 || words.includes("--help") || words.includes("-h")) return await explain(words);
    const { command, parents, rest } = await findCommand(words);
    // What the words name is found; citty would look for a further command among the operands.
    const { subCommands: _found, ...own } = command;
    await runCommand(own, { rawArgs: rest }).catch((error: unknown) => {
      throw withUsage(error, own, ["tvs", ...parents]);
    });
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    return fail(error, words);
  }
}

/** citty names the first argument that is missing; the operator wants all of them at once. */
function withUsage(error: unknown, { args = {} }: OurCommand, path: readonly string[]): unknown {
  const { name, message = "" } = error as { name?: string; message?: string };
  if (name !== "CLIError") return error;
  const words = usage(path, Object.entries(args as ArgsDef));
  return new TvsError("USAGE", `${lowerFirst(message)}; usage: ${words}; --help explains them`);
}

type Found = { command: OurCommand; parents: string[]; rest: string[] };

function takesOperand({ run, args = {} }: OurCommand): boolean {
  return run !== undefined && Object.values(args as ArgsDef).some(({ type }) => type === "positional");
}

/** Follows the words to a command; @throws TvsError USAGE for a word that is none. */
async function findCommand(words: readonly string[]): Promise<Found> {
  let command: OurCommand = root;
  const parents: string[] = [];
  let rest = [...words];
  while (command.subCommands !== undefined) {
    const table = command.subCommands as Record<string, () => Promise<OurCommand>>;
    const [name] = rest;
    if (name === undefined || name.startsWith("-")) break;
    const load = Object.hasOwn(table, name) ? table[name] : undefined;
    if (load === undefined && takesOperand(command)) break;
    if (load === undefined) {
      const path = ["tvs", ...parents].join(" ");
      const names = Object.keys(table);
      // The list would bury the one word that is probably wanted.
      const meant =
        suggestion(name, names) || (await suggestionBelow(name, table)) || `; it has ${names.join(", ")}`;
      throw new TvsError("USAGE", `${path} has no command "${name}"${meant}`);
    }
    parents.push(name);
    command = await load();
    rest = rest.slice(1);
  }
  if (
    command.subCommands !== undefined &&
    command.run === undefined &&
    !rest.some((word) => word === "--help" || word === "-h")
  ) {
    const path = ["tvs", ...parents].join(" ");
    const names = Object.keys(command.subCommands).join(", ");
    const [flag = ""] = rest;
    if (flag.startsWith("-") && !Object.hasOwn(commonArgs, flag.replace(/^--|=.*$/g, "")))
      throw new TvsError(
        "USAGE",
        `Unknown option '${flag.replace(/=.*$/, "")}'${flagMeant(flag)}; ${path} --help shows what there is`,
      );
    throw new TvsError("USAGE", `${path} needs a command: ${names}`);
  }
  return { command, parents, rest };
}

/** `tvs revoke` means `tvs teachers revoke`: the word is right, and only the group before it is missing. */
async function suggestionBelow(
  name: string,
  table: Readonly<Record<string, () => Promise<OurCommand>>>,
): Promise<string> {
  const groups = await Promise.all(
    Object.entries(table).map(async ([group, load]) => ({
      group,
      commands: (await load()).subCommands ?? {},
    })),
  );
  const found = groups.filter(({ commands }) => Object.hasOwn(commands, name));
  return found.length === 0
    ? ""
    : `; did you mean ${found.map(({ group }) => `${group} ${name}`).join(" or ")}?`;
}

/** Before a command only the common options can be meant. */
function flagMeant(flag: string): string {
  return suggestion(flag.replace(/^-+|=.*$/g, ""), Object.keys(commonArgs), "--").replace(/\?$/, "");
}

async function explain(words: readonly string[]): Promise<number> {
  const asked = words.filter((word) => word !== "--help" && word !== "-h");
  const { command, parents } = await findCommand([
    ...asked.filter((word) => !word.startsWith("-")),
    "--help",
  ]);
  const isRoot = parents.length === 0;
  process.stdout.write(isRoot ? await rootHelp(root) : await helpText(command, ["tvs", ...parents]));
  return exitCodes.done;
}

/**
 * One key id in sixty-four begins with a dash and would be read as options. No option is as long, so such a
 * word is an operand: whoever has to declare a key compromised must not have to know of `--` first.
 */
function kidsLast(words: readonly string[]): string[] {
  const isKid = (word: string | undefined) => /^-[\w-]{42}$/.test(word ?? "");
  // The one option that takes a key id keeps it.
  const joined = words.flatMap((word, index) => {
    if (word === "--anchor" && isKid(words[index + 1])) return [`${word}=${words[index + 1]}`];
    return words[index - 1] === "--anchor" && isKid(word) ? [] : [word];
  });
  const kids = joined.filter(isKid);
  if (kids.length === 0 || words.includes("--")) return joined;
  return [...joined.filter((word) => !kids.includes(word)), "--", ...kids];
}

/** `tvs --data DIR keys list` means `tvs keys list --data DIR`. */
function commonFlagsLast(argv: readonly string[]): string[] {
  let first = 0;
  while (
    first < argv.length &&
    argv[first]?.startsWith("-") &&
    argv[first] !== "--help" &&
    argv[first] !== "-h"
  ) {
    first += commonValueFlags.includes(argv[first] ?? "") ? 2 : 1;
  }
  return first >= argv.length ? [...argv] : [...argv.slice(first), ...argv.slice(0, first)];
}

/** One line that says what is wrong and what to do, never a stack trace. */
function fail(error: unknown, words: readonly string[]): number {
  const known = asTvsError(error);
  process.stderr.write(`tvs: ${known.message.replaceAll("\n", " ")}\n`);
  if (words.includes("--json")) {
    process.stdout.write(`${JSON.stringify({ error: { code: known.code, message: known.message } })}\n`);
  }
  if (process.env.TVS_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return exitCodeOf(known);
}

function asTvsError(error: unknown): TvsError {
  if (isTvsError(error)) return error;
  const { message } = error as { message?: string };
  return new TvsError("INTERNAL", `internal error: ${message ?? String(error)}; set TVS_DEBUG=1 for more`);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

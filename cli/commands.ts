import { runCommand } from "citty";
import { suggestWord } from "../src/domain/did-you-mean.ts";
import { TvsError } from "../src/domain/errors.ts";
import type { CommandLoaders, TvsCommand } from "./command.ts";
import { argsOf, commonArgs, moveKeyIdsLast, subCommandsOf, tvsVersion } from "./command.ts";
import { setMainUrl } from "./program.ts";
import { addUsageToError, formatCommandHelp, formatRootHelp, printFailure } from "./terminal/help.ts";
import { exitCodes } from "./terminal/output.ts";

/** All commands, below the headings of `tvs --help`. Help and completion are made from this table. */
const sections: Readonly<Record<string, CommandLoaders>> = {
  "RUN THE SERVICE": {
    init: () => import("./register/init.ts").then((file) => file.initCommand),
    serve: () => import("./serve/serve.ts").then((file) => file.serveCommand),
    console: () => import("./serve/console.ts").then((file) => file.consoleCommand),
    status: () => import("./doctor/status.ts").then((file) => file.statusCommand),
    doctor: () => import("./doctor/doctor.ts").then((file) => file.doctorCommand),
  },
  "KEEP THE REGISTER": {
    teachers: () => import("./register/teachers.ts").then((file) => file.teachersCommand),
    roster: () => import("./register/roster.ts").then((file) => file.rosterCommand),
    policy: () => import("./register/policy.ts").then((file) => file.policyCommand),
    changes: () => import("./register/changes.ts").then((file) => file.changesCommand),
  },
  "LOOK AFTER PARTNERS": {
    partners: () => import("./partners/partners.ts").then((file) => file.partnersCommand),
    webhooks: () => import("./partners/webhooks.ts").then((file) => file.webhooksCommand),
  },
  "ANSWER FOR WHAT WAS SIGNED": {
    attestations: () => import("./evidence/attestations.ts").then((file) => file.attestationsCommand),
    log: () => import("./evidence/log.ts").then((file) => file.logCommand),
    keys: () => import("./register/keys.ts").then((file) => file.keysCommand),
    verify: () => import("./verify/verify.ts").then((file) => file.makeVerifyCommand("tvs verify")),
    "verify-webhook": () => import("./verify/verify-webhook.ts").then((file) => file.verifyWebhookCommand),
  },
  "KEEP IT SAFE": {
    backup: () => import("./safe/backup.ts").then((file) => file.backupCommand),
    restore: () => import("./safe/restore.ts").then((file) => file.restoreCommand),
  },
  "TRY IT IN A SANDBOX": {
    trigger: () => import("./sandbox/trigger.ts").then((file) => file.triggerCommand),
    sandbox: () => import("./sandbox/sandbox.ts").then((file) => file.sandboxCommand),
  },
  "FOR DEVELOPERS AND SHELLS": {
    openapi: () => import("./openapi.ts").then((file) => file.openapiCommand),
    licenses: () => import("./licenses.ts").then((file) => file.licensesCommand),
    completion: () => import("./terminal/completion.ts").then((file) => file.completionCommand),
  },
};

export const rootCommand: TvsCommand = {
  description: "Teacher Verification Service",
  sections,
  subCommands: Object.assign({}, ...Object.values(sections)),
};

/** Runs a command line. @param argv the words after `tvs` @returns the exit code (decision D1.2) */
export async function runCommandLine(argv: readonly string[], entry: URL): Promise<number> {
  setMainUrl(entry);
  const words = commonFlagsLast(argv);
  try {
    if (words.length === 1 && (words[0] === "--version" || words[0] === "-v")) {
      process.stdout.write(`${tvsVersion}\n`);
      return exitCodes.done;
    }
    // The completion scripts call this hidden command, which needs the words in the order in which they were typed.
    if (argv[0] === "__complete")
      return await (await import("./terminal/completion.ts")).printCompletions(rootCommand, argv.slice(1));
    if (words[0] === "help")
      return await (await import("./terminal/manual.ts")).runHelp(words.slice(1), rootCommand, explain);
    if (words.length === 0 || words.includes("--help") || words.includes("-h")) return await explain(words);
    const { command, parents, rest } = await findCommand(words);
    // `subCommands` is not passed to citty, which would read the first operand as a subcommand's name.
    const { subCommands: _found, ...own } = command;
    await runCommand(own, { rawArgs: moveKeyIdsLast(rest, command) }).catch((error: unknown) => {
      throw addUsageToError(error, own, ["tvs", ...parents]);
    });
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    return printFailure(error, words);
  }
}

/** Finds the command that the first words name. @throws TvsError USAGE if a word names no command */
async function findCommand(words: readonly string[]) {
  let command: TvsCommand = rootCommand;
  const parents: string[] = [];
  let rest = [...words];
  while (command.subCommands !== undefined) {
    const table = subCommandsOf(command);
    const [name] = rest;
    if (name === undefined || name.startsWith("-")) break;
    const load = Object.hasOwn(table, name) ? table[name] : undefined;
    if (load !== undefined) {
      parents.push(name);
      command = await load();
      rest = rest.slice(1);
      continue;
    }
    const hasOperand = Object.values(argsOf(command)).some(({ type }) => type === "positional");
    if (command.run !== undefined && hasOperand) break;
    // A suggested command helps more than the list of all commands, so the list is printed only without a suggestion.
    const meant =
      suggestWord(name, Object.keys(table)) ||
      (await suggestionBelow(name, table)) ||
      (parents.length === 0 ? suggestWord(name, ["version"], "--") : "") ||
      `; its commands: ${Object.keys(table).join(", ")}`;
    throw new TvsError("USAGE", `${["tvs", ...parents].join(" ")} has no command "${name}"${meant}`);
  }
  const isExplained = rest.includes("--help") || rest.includes("-h");
  if (command.run === undefined && !isExplained)
    throw new TvsError("USAGE", missingCommand(command, ["tvs", ...parents].join(" "), rest));
  return { command, parents, rest };
}

function missingCommand(group: TvsCommand, path: string, [flag = ""]: readonly string[]): string {
  const name = flag.replace(/^-+|=.*$/g, "");
  if (!flag.startsWith("-") || (flag.startsWith("--") && Object.hasOwn(commonArgs, name)))
    return `${path} needs a command: ${Object.keys(subCommandsOf(group)).join(", ")}`;
  // Only the common options are accepted before a command, so only a common option is suggested.
  const meant = suggestWord(name, Object.keys(commonArgs), "--").replace(/\?$/, "");
  return `Unknown option '${flag.replace(/=.*$/, "")}'${meant}; ${path} --help shows the options`;
}

/** Suggests subcommands that have the unknown name: `tvs teachers revoke` for `tvs revoke`. */
async function suggestionBelow(name: string, table: CommandLoaders): Promise<string> {
  const groups = await Promise.all(
    Object.entries(table).map(async ([group, load]) => [group, subCommandsOf(await load())] as const),
  );
  const found = groups.filter(([, commands]) => Object.hasOwn(commands, name));
  const lines = found.map(([group]) => `${group} ${name}`);
  return lines.length === 0 ? "" : `; did you mean ${lines.join(" or ")}?`;
}

async function explain(words: readonly string[]): Promise<number> {
  const names = words.filter((word) => !word.startsWith("-"));
  const { command, parents } = await findCommand([...names, "--help"]);
  const isRoot = parents.length === 0;
  process.stdout.write(
    isRoot ? await formatRootHelp(rootCommand) : await formatCommandHelp(command, ["tvs", ...parents]),
  );
  return exitCodes.done;
}

/** Moves common options from the beginning to the end, so that `tvs --data DIR keys list` works too. */
function commonFlagsLast(argv: readonly string[]): string[] {
  const isOption = (word: string | undefined) =>
    word?.startsWith("-") === true && word !== "--help" && word !== "-h";
  let first = 0;
  while (isOption(argv[first])) {
    const name = argv[first]?.replace(/^--/, "") as keyof typeof commonArgs;
    first += commonArgs[name]?.type === "string" ? 2 : 1;
  }
  return first >= argv.length ? [...argv] : [...argv.slice(first), ...argv.slice(0, first)];
}

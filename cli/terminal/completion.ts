/** Completion at Tab: the scripts for the shells, and what could come next on a command line. */

import { suggestion } from "../../src/domain/did-you-mean.ts";
import { TvsError } from "../../src/domain/errors.ts";
import { topics } from "../../src/manual.ts";
import {
  type Args,
  argsOf,
  command,
  commandsOf,
  commonArgs,
  configOf,
  type FindIds,
  type OurCommand,
  operand,
  type Values,
} from "../command.ts";
import { print } from "./output.ts";

/*
 * The scripts that the shells run at Tab. Each hands the words to `tvs __complete` and shows the lines that come
 * back, a word and its meaning parted by a tab. The program that stands on the line is asked, so that `./tvs` and a
 * second installation complete their own commands.
 */

const bash = String.raw`# bash completion for tvs
_tvs() {
  local line words=() COMPREPLY_ALL=()
  # COMP_WORDS is parted at = and : as well; the line up to the cursor is not, once the shell's own words are joined.
  local current="" begun=""
  read -ra words <<< "${"$"}{COMP_LINE:0:COMP_POINT}"
  [[ "${"$"}{COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=("")
  begun="${"$"}{words[${"$"}{#words[@]}-1]}"
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    [[ -n "$line" ]] && COMPREPLY_ALL+=("$line")
  done < <("${"$"}{words[0]}" __complete "${"$"}{words[@]:1}" 2>/dev/null)
  # readline replaces only what follows the last = or : that it parts words at.
  current="${"$"}{COMP_WORDS[COMP_CWORD]}"
  [[ "$current" == "=" || "$current" == ":" ]] && current=""
  local prefix="${"$"}{begun%"$current"}"
  for line in "${"$"}{COMPREPLY_ALL[@]}"; do COMPREPLY+=("${"$"}{line#"$prefix"}"); done
  if [[ ${"$"}{#COMPREPLY[@]} -eq 1 && "${"$"}{COMPREPLY[0]}" == *, ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o bashdefault -o default -F _tvs tvs
`;

const zsh = String.raw`#compdef tvs
# zsh completion for tvs
_tvs() {
  local -a found words_now
  local line word meaning
  words_now=("${"$"}{(@Q)words[2,CURRENT]}")
  while IFS=$'\t' read -r word meaning; do
    [[ -n "$word" ]] && found+=("${"$"}{word//:/\\:}${"$"}{meaning:+:$meaning}")
  done < <("${"$"}{(Q)words[1]}" __complete "${"$"}{words_now[@]}" 2>/dev/null)
  if (( ${"$"}{#found} )); then _describe -V tvs found; else _files; fi
}
if [[ "${"$"}{funcstack[1]}" == _tvs ]]; then _tvs "$@"; else compdef _tvs tvs; fi
`;

const fish = String.raw`# fish completion for tvs
function __tvs_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c tvs -f -a '(__tvs_complete)'
`;

export const scripts = { bash, zsh, fish } as const;

const shells = Object.keys(scripts);

export const completionCommand = command({
  description:
    "Print a script that enables completion in your shell. It completes commands, options, their values, and ids",
  example: [
    'tvs completion bash > ~/.local/share/bash-completion/completions/tvs    # or: eval "$(tvs completion bash)"',
    "tvs completion zsh > ~/.zfunc/_tvs    # a folder of $fpath; or: source <(tvs completion zsh)",
    "tvs completion fish > ~/.config/fish/completions/tvs.fish    # or: tvs completion fish | source",
  ].join("\n  "),
  args: {
    shell: { ...operand(`One of ${shells.join(", ")}`), valueHint: shells.join("|") },
  },
  async run({ args }) {
    const { shell } = args;
    const script = Object.hasOwn(scripts, shell) ? scripts[shell as keyof typeof scripts] : undefined;
    if (script === undefined) {
      const choices = `${shells.join(", ")}${suggestion(shell, shells)}`;
      throw new TvsError("USAGE", `the shell must be one of ${choices}`);
    }
    print(args, { shell, script }, () => script);
  },
});

const maxIds = 200;

type Candidate = readonly [word: string, meaning: string];

/**
 * Prints the words that may follow, a line each: the word, a tab, what it means. Nothing is printed where a file is
 * meant, or nothing is known: the shell offers files then.
 * @param words those before the cursor, the last one being begun (and perhaps empty)
 * @returns the exit code, 0: whoever presses Tab does not want to read of an error
 */
export async function complete(root: OurCommand, words: readonly string[]): Promise<number> {
  const found = await candidates(root, words).catch((): Candidate[] => []);
  const text = found.map(([word, meaning]) => `${word}\t${oneLine(meaning)}\n`).join("");
  process.stdout.write(text);
  return 0;
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/\. (?:[A-Z]|--json).*$/s, "");
}

async function candidates(root: OurCommand, words: readonly string[]): Promise<Candidate[]> {
  const begun = words.at(-1) ?? "";
  const { command, operands, open, isHelp } = await readLine(root, words.slice(0, -1));
  const all = isHelp
    ? await helpOffers(command, { isRoot: command === root, operands })
    : await offers(command, { begun, operands, open, words });
  if (command === root && operands === 0 && !isHelp && open === null) all.push(helpWord);
  return all.filter(([word]) => word.startsWith(begun));
}

const helpWord: Candidate = ["help", "The manual, and the help of every command"];

/** What `tvs help` explains: the topics of the manual, and the commands that are no topics too. */
async function helpOffers(
  command: OurCommand,
  { isRoot, operands }: { isRoot: boolean; operands: number },
): Promise<Candidate[]> {
  if (operands > 0) return [];
  const pages = isRoot ? topics.map(({ name, summary }): Candidate => [name, summary]) : [];
  const commands = await subCommands(command);
  return [...pages, ...commands.filter(([name]) => !pages.some(([page]) => page === name))];
}

type Line = {
  command: OurCommand;
  operands: number;
  open: string | null;
  /** Whether the word before the command is `help`, which is no command itself. */
  isHelp: boolean;
};

/** Reads a begun line: which command it names, how many operands it has, and which option waits for its value. */
async function readLine(root: OurCommand, words: readonly string[]): Promise<Line> {
  const line: Line = { command: root, operands: 0, open: null, isHelp: false };
  for (const word of words) {
    if (line.open !== null) line.open = null;
    else if (word.startsWith("--"))
      line.open = word.includes("=") || !takesValue(line.command, word.slice(2)) ? null : word.slice(2);
    else if (word === "help" && line.command === root && !line.isHelp && line.operands === 0)
      line.isHelp = true;
    else if (line.operands === 0) await descend(line, word);
    else line.operands++;
  }
  return line;
}

async function descend(line: Line, word: string): Promise<void> {
  const table = commandsOf(line.command);
  const load = Object.hasOwn(table, word) ? table[word] : undefined;
  if (load === undefined) line.operands++;
  else line.command = await load();
}

function takesValue(command: OurCommand, name: string): boolean {
  // Before a command only the options of every command stand.
  const args: Args = command.args === undefined ? commonArgs : argsOf(command);
  return args[name]?.type === "string";
}

type Asked = { begun: string; operands: number; open: string | null; words: readonly string[] };

async function offers(command: OurCommand, { begun, operands, open, words }: Asked): Promise<Candidate[]> {
  const [, inline] = /^--([\w-]+)=/.exec(begun) ?? [];
  if (inline !== undefined)
    return (await values(command, inline, begun.slice(inline.length + 3), words)).map(([word, meaning]) => [
      `--${inline}=${word}`,
      meaning,
    ]);
  if (open !== null) return values(command, open, begun, words);
  if (begun.startsWith("-")) return flags(command, words);
  const positional = Object.entries(argsOf(command)).filter(([, one]) => one.type === "positional")[operands];
  const named = operands === 0 ? await subCommands(command) : [];
  return [...named, ...(positional === undefined ? [] : await values(command, positional[0], begun, words))];
}

async function subCommands(command: OurCommand): Promise<Candidate[]> {
  return Promise.all(
    Object.entries(commandsOf(command)).map(async ([name, load]): Promise<Candidate> => {
      return [name, (await load()).description];
    }),
  );
}

function flags(command: OurCommand, words: readonly string[]): Candidate[] {
  const own = Object.entries(argsOf(command)).filter(
    ([name, one]) => one.type !== "positional" && !words.includes(`--${name}`),
  );
  return [
    ...own.map(([name, one]): Candidate => [`--${name}`, one.description ?? ""]),
    ["--help", "What it does, with examples"],
  ];
}

async function values(
  command: OurCommand,
  name: string,
  begun: string,
  words: readonly string[],
): Promise<Candidate[]> {
  const arg = argsOf(command)[name];
  const known = arg?.values ?? choicesOf(arg?.valueHint ?? "");
  if (known === null) return [];
  if ("oneOf" in known) return known.oneOf.map((one) => [one, ""]);
  if ("ids" in known) return lookUp(known.ids, words);
  const before = begun.slice(0, begun.lastIndexOf(",") + 1);
  const left = known.listOf.filter(
    (one) => !before.split(",").includes(one) && (before === "" || one !== "all"),
  );
  return left.map((one) => [`${before}${one}`, ""]);
}

/** The choices that a hint such as `call|item` names. */
function choicesOf(hint: string): Values | null {
  return /^[a-z0-9]+(\|[a-z0-9]+)+$/.test(hint) ? { oneOf: hint.split("|") } : null;
}

/** Ids from the database at hand. A Tab must neither make a data directory nor wait for a busy database. */
async function lookUp(find: FindIds, words: readonly string[]): Promise<Candidate[]> {
  const given = (name: string) => {
    const at = words.lastIndexOf(name);
    return at === -1
      ? words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
      : words[at + 1];
  };
  const [data, database] = [given("--data"), given("--database")];
  const config = configOf({
    ...(data === undefined ? {} : { data }),
    ...(database === undefined ? {} : { database }),
    ...(words.includes("--sandbox") ? { sandbox: true } : {}),
  });
  // A server may be far away.
  if (config.database.kind !== "file") return [];
  const { withOperator } = await import("../open.ts");
  let found: readonly Candidate[] = [];
  await withOperator(config, async (operator) => {
    found = (await find(operator, maxIds)).slice(0, maxIds);
  });
  return [...found];
}

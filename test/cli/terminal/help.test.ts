import { expect, test } from "bun:test";
import type { ArgsDef } from "citty";
import { defineCommand, type TvsCommand } from "../../../cli/command.ts";
import { rootCommand } from "../../../cli/commands.ts";
import { formatCommandHelp } from "../../../cli/terminal/help.ts";
import words from "../../../data/commands.json" with { type: "json" };
import { runTvs } from "../../harness/command.ts";
import { expectRefusal } from "../../harness/refusal.ts";

const importing = defineCommand({
  description: "Import an extract. All rows are checked before one is applied, and this goes on for long",
  example: "tvs import extract.csv",
  args: {
    file: { type: "positional", required: true, description: "The extract" },
    reason: { type: "string", required: true, valueHint: "TEXT", description: "Why" },
    strict: { type: "boolean", description: "word ".repeat(60).trim() },
  },
  async run() {},
});

async function leaves(command: TvsCommand, path: string[]): Promise<[string, TvsCommand][]> {
  const below = Object.entries(command.subCommands ?? {}).map(async ([name, load]) =>
    leaves(await load(), [...path, name]),
  );
  const own: [string, TvsCommand][] = command.run === undefined ? [] : [[path.join(" "), command]];
  return [...own, ...(await Promise.all(below)).flat()];
}

test("the examples of every command call that command, with options that it has", async () => {
  const all = await leaves(rootCommand, ["tvs"]);
  expect(all.length).toBeGreaterThan(50);
  for (const [words, { example = "", args }] of all) {
    expect(example).toContain(words);
    const own = example.split("\n").filter((line) => line.trim().startsWith(words));
    const used = own.flatMap((line) => Array.from(line.matchAll(/ --([\w-]+)/g), ([, name]) => name));
    const known = Object.keys({ ...args, help: true });
    expect([words, used.filter((name) => !known.includes(name ?? ""))]).toEqual([words, []]);
  }
});

test("data/commands.json describes every option of a command, and no other option", async () => {
  const described: Readonly<Record<string, { example: unknown; options?: object }>> = words;
  const all = await leaves(rootCommand, ["tvs"]);
  for (const [path, { args = {} }] of all) {
    const mute = Object.entries(args as ArgsDef).filter(([, { description = "" }]) => description === "");
    const known = Object.keys(described[path.slice(4)]?.options ?? {});
    const idle = known.filter((name) => !Object.hasOwn(args, name));
    expect([path, mute.map(([name]) => name), idle]).toEqual([path, [], []]);
  }
  const paths = all.map(([path]) => path.slice(4));
  expect(Object.keys(words).filter((path) => !paths.includes(path))).toEqual([]);
});

test("tvs --help names every command once", async () => {
  const { stdout } = await runTvs(["--help"]);
  for (const name of Object.keys(rootCommand.subCommands ?? {}))
    expect([name, stdout.match(new RegExp(`^  ${name} `, "gm"))?.length]).toEqual([name, 1]);
});

test("the help of a command shows its operands, required options, other options and the common options", async () => {
  const text = await formatCommandHelp(importing, ["tvs", "import"]);
  expect(text).toContain("USAGE\n  tvs import FILE --reason TEXT [OPTIONS]\n");
  expect(text).toMatch(/ARGUMENTS\n {2}FILE {2}The extract\n/);
  expect(text).toMatch(/OPTIONS\n {2}--reason TEXT {2}Why \(required\)\n/);
  expect(text.indexOf("--strict")).toBeLessThan(text.indexOf("OPTIONS OF EVERY COMMAND"));
  expect(text.indexOf("--json")).toBeGreaterThan(text.indexOf("OPTIONS OF EVERY COMMAND"));
  expect(text).toEndWith("EXAMPLE\n  tvs import extract.csv\n");
});

test("the help of a command fits 80 columns, except its examples", async () => {
  for (const words of ["", "serve ", "partners webhook set ", "teachers import "]) {
    const { stdout } = await runTvs(`${words}--help`.split(" "));
    const [text = ""] = stdout.split("\nEXAMPLE");
    expect(text.split("\n").filter(({ length }) => length > 80)).toEqual([]);
  }
});

test("the refusal of a mistyped option that is before the command names the option", async () => {
  for (const words of [["--jsn"], ["keys", "--jsn=x"]])
    await expectRefusal(runTvs(words), 2, "Unknown option '--jsn'");
});

test("an unknown command that resembles no known command prints the list of commands", async () => {
  const { stderr } = await runTvs(["frobnicate"]);
  expect(stderr).not.toContain("did you mean");
  expect(stderr).toContain("its commands: init, serve, ");
});

import { expect, test } from "bun:test";
import { runCommand } from "citty";
import { defineCommand, makeGroup, moveKeyIdsLast, option, readRepeatedOption } from "../../cli/command.ts";
import { catchError } from "../harness/rejection.ts";

/** Runs a command line. @returns the options and operands that the command got, or its refusal */
async function call(rawArgs: string[], changes: { variadic?: boolean } = {}) {
  let seen: Record<string, unknown> | undefined;
  const made = defineCommand({
    description: "Imports",
    example: "tvs import F",
    args: {
      file: { type: "positional", description: "The file", required: true },
      "dry-run": { type: "boolean", description: "Change nothing" },
      reason: { type: "string", description: "Why" },
    },
    ...changes,
    async run({ args }) {
      seen = { ...args };
    },
  });
  const error = await catchError(runCommand(made, { rawArgs }));
  return { seen, error: error as { code?: string; message: string } | undefined };
}

test("a command accepts its own options and the common options", async () => {
  const { seen, error } = await call("x.csv --dry-run --reason why --data /d --json --sandbox".split(" "));
  expect(error).toBeUndefined();
  const flags = { "dry-run": true, json: true, sandbox: true };
  expect(seen).toMatchObject({ file: "x.csv", reason: "why", data: "/d", ...flags });
});

test.each([
  ["a mistyped option", ["x.csv", "--dry-rum"], /--dry-rum/],
  ["an option of another command", ["x.csv", "--port", "1"], /--port/],
  ["an unknown short option", ["x.csv", "-n"], /-n/],
  ["a value for an option without a value", ["x.csv", "--dry-run=maybe"], /--dry-run/],
  ["a missing option value", ["x.csv", "--reason"], /--reason/],
  ["an option in place of an option value", ["x.csv", "--reason", "--dry-run"], /--reason/],
  [
    "one operand too many",
    ["x.csv", "y.csv"],
    /unexpected argument number 2: the command takes FILE and nothing else;/,
  ],
])("a command line with %s is refused before the command runs", async (_what, rawArgs, message) => {
  const { seen, error } = await call(rawArgs);
  expect(seen).toBeUndefined();
  expect(error).toMatchObject({ code: "USAGE" });
  expect(error?.message).toMatch(message);
  expect(error?.message).toEndWith("--help shows its options");
  expect(error?.message).not.toContain("\n");
  // An operand may be personal data.
  expect(error?.message).not.toContain("y.csv");
});

test("a command with a variadic operand accepts any number of operands", async () => {
  const { seen, error } = await call(["a", "b", "c"], { variadic: true });
  expect(error).toBeUndefined();
  expect(seen?._).toEqual(["a", "b", "c"]);
  expect((await call(["a", "--nope"], { variadic: true })).error).toMatchObject({ code: "USAGE" });
});

test("a key id that begins with a dash is read as an operand, or as the value of the option before it", () => {
  const made = defineCommand({
    description: "",
    example: "",
    args: { anchor: option("KID") },
    async run() {},
  });
  const kid = `-_${"a".repeat(41)}`;
  expect(moveKeyIdsLast([kid, "--json"], made)).toEqual(["--json", "--", kid]);
  expect(moveKeyIdsLast(["--anchor", kid, "file"], made)).toEqual([`--anchor=${kid}`, "file"]);
  const others = ["--json", kid.slice(1), `${kid}a`];
  expect(moveKeyIdsLast(others, made)).toEqual(others);
});

test("a repeated option keeps all its values, whether spelled --name value or --name=value", () => {
  const rawArgs = ["--trusted-proxy", "10.0.0.1", "--port=0", "--trusted-proxy=10.0.0.2"];
  expect(readRepeatedOption(rawArgs, "trusted-proxy")).toEqual(["10.0.0.1", "10.0.0.2"]);
  expect(readRepeatedOption(rawArgs, "missing")).toBeUndefined();
});

test("a command group loads a command's module only to run that command", () => {
  let loaded = 0;
  const made = makeGroup("Keys", {
    list: async () => {
      loaded++;
      return defineCommand({ description: "Lists", example: "tvs keys list", async run() {} });
    },
  });
  expect(Object.keys(made.subCommands ?? {})).toEqual(["list"]);
  expect(loaded).toBe(0);
});

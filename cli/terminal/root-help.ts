/** `tvs --help`: the commands by what they are for, and where to begin. */

import type { ArgsDef } from "citty";
import { commonArgs, type OurCommand } from "../command.ts";
import { commandLines, type Line, listed, optionLine, section } from "./help.ts";
import { terminalWidth, wrapped } from "./output.ts";

/** Who uses what; a command that stands nowhere here is listed last, so that none is ever missing. */
const groups: readonly (readonly [title: string, names: readonly string[]])[] = [
  ["RUN THE SERVICE", ["serve", "service", "console", "status", "calls", "doctor"]],
  ["KEEP THE REGISTER", ["teachers", "roster", "policy"]],
  ["LOOK AFTER PARTNERS", ["partners", "webhooks"]],
  ["ANSWER FOR WHAT WAS SIGNED", ["attestations", "keys", "verify", "verify-webhook"]],
  ["KEEP IT SAFE", ["backup", "restore"]],
  ["FOR DEVELOPERS AND SHELLS", ["openapi", "completion"]],
];

const firstSteps = `  tvs serve --sandbox                          try it, with made-up teachers
  tvs teachers import extract.csv --baseline   load the register
  tvs partners add ID --help                   onboard a partner
  tvs serve --issuer https://verify.example    go live
  tvs doctor                                   when something looks wrong`;

export async function rootHelp(root: OurCommand): Promise<string> {
  const { version = "", description = "" } = root.meta as { version?: string; description?: string };
  const lines = new Map((await commandLines(root)).map((line) => [line[0], line]));
  const named = groups.map(([title, names]): [string, Line[]] => [title, linesOf(lines, names)]);
  const rest = [...lines.keys()].filter((name) => !groups.some(([, names]) => names.includes(name)));
  const whole = [...named, ["OTHERS", linesOf(lines, rest)] as const].filter(([, body]) => body.length > 0);
  // One width for all groups, so that the eye runs down one edge.
  const nameWidth = Math.max(...[...lines.keys()].map((name) => name.length));
  return [
    `${wrapped(`${description} (tvs ${version})`, terminalWidth())}\n`,
    section("USAGE", "  tvs COMMAND [OPTIONS]"),
    ...whole.map(([title, body]) => section(title, listed(body, nameWidth))),
    section("OPTIONS OF EVERY COMMAND", listed(Object.entries(commonArgs as ArgsDef).map(optionLine))),
    section("FIRST STEPS", firstSteps),
    `\n${wrapped("`tvs COMMAND --help` explains a command, with examples; `tvs completion bash|zsh|fish` teaches it to your shell.", terminalWidth())}\n`,
  ].join("");
}

function linesOf(lines: ReadonlyMap<string, Line>, names: readonly string[]): Line[] {
  return names.map((name) => lines.get(name)).filter((line) => line !== undefined);
}

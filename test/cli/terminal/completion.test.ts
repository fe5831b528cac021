import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rootCommand } from "../../../cli/commands.ts";
import { findCompletions } from "../../../cli/terminal/completion.ts";
import { runJson, runTvs } from "../../harness/command.ts";
import { sharedFolder } from "../../harness/folder.ts";
import { mainUrl, runToEnd } from "../../harness/program.ts";

setDefaultTimeout(60_000);

const folder = sharedFolder();
const dataDir = join(folder, "data");

beforeAll(async () => {
  const terms = ["--scopes", "all", "--purposes", "all", "--per-minute", "9", "--per-day", "99"];
  await runTvs(["partners", "add", "exam-body", "--name", "Exam: Body", ...terms], { dataDir });
  const script = `#!/bin/sh\nexec '${process.execPath}' '${fileURLToPath(mainUrl)}' "$@"\n`;
  await writeFile(join(folder, "tvs"), script, { mode: 0o755 });
  await writeFile(join(folder, "bash"), (await runTvs(["completion", "bash"])).stdout);
});

async function offered(...words: string[]): Promise<string[]> {
  const found = await findCompletions(rootCommand, ["--data", dataDir, ...words]);
  return found.map(([word]) => word);
}

test.each([
  ["ke", "keys"],
  ["he", "help"],
  ["help ke", "keys key-theft"],
  ["help --print al", "alerts.yml"],
  ["help keys ro", "rotate"],
  ["keys co", "compromise"],
  ["partners show ", "exam-body"],
  ["webhooks list --partner ", "exam-body"],
  ["webhooks list --state d", "delivered dead"],
  ["webhooks list --state=p", "--state=pending"],
  ["partners add x --scopes batch,lookup_by_n", "batch,lookup_by_nin"],
  ["partners webhook set exam-body u --events all,license.v", "all,license.verified"],
  ["keys rotate --no", "--now"],
  ["keys rotate --now --n", ""],
  ["partners add e", ""],
  ["backup /tmp/f", ""],
  ["nonsense ", ""],
])("shell completion of `%s` offers `%s`", async (line, expected) => {
  expect((await offered(...line.split(" "))).join(" ")).toBe(expected);
});

test("shell completion offers the key ids of the database", async () => {
  const keys = await runJson<{ kid: string }[]>(["keys", "list"], { dataDir });
  const words = await offered("keys", "compromise", "");
  expect(words.toSorted()).toEqual(keys.map(({ kid }) => kid).toSorted());
});

test("shell completion without a register creates no register and prints nothing", async () => {
  const elsewhere = join(folder, "elsewhere");
  const found = await runTvs(["__complete", "partners", "show", "--data", elsewhere, ""]);
  expect(found).toMatchObject({ code: 0, stdout: "", stderr: "" });
  expect(existsSync(elsewhere)).toBe(false);
});

test("bash completes commands, ids, and values after an equals sign", async () => {
  const ask = (line: string, words: string[]) =>
    `COMP_LINE='${line}' COMP_POINT=${line.length} COMP_CWORD=${words.length - 1}; ` +
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); _tvs; echo "\${COMPREPLY[*]}"`;
  const script = [
    "source ./bash",
    ask("tvs keys ", ["tvs", "keys", ""]),
    ask("tvs partners show ex", ["tvs", "partners", "show", "ex"]),
    ask("tvs webhooks list --state=d", ["tvs", "webhooks", "list", "--state", "=", "d"]),
    ask("tvs webhooks list --state=", ["tvs", "webhooks", "list", "--state", "="]),
    "complete -p tvs",
  ].join("\n");
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TVS_DATA: dataDir };
  const { code, stdout, stderr } = await runToEnd(["bash", "-c", script], { cwd: folder, env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n").slice(0, 5)).toEqual([
    "list rotate compromise jwks history import",
    "exam-body",
    "delivered dead",
    "pending delivered dead",
    "complete -o bashdefault -o default -F _tvs tvs",
  ]);
});

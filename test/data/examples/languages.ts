/** The languages of `data/examples`: what each needs, how it is compiled, and the words that start a program of it. */

import { test } from "bun:test";
import { join } from "node:path";
import { runToEnd } from "../../harness/program.ts";

const examples = join(import.meta.dir, "../../../data/examples");

export type ExampleProgram = "ask" | "verify" | "receive" | "events";

export type Language = {
  readonly name: string;
  /** Whether this machine has the programs that the language's examples need. */
  readonly isHere: boolean;
  /** Whether this language runs every fixture and vector. A language that starts slowly runs a tenth. */
  readonly isWhole: boolean;
  file(program: ExampleProgram): string;
  /** Prepares a program in a temporary folder, and returns the words that start it. */
  prepare(program: ExampleProgram, folder: string): Promise<readonly string[]>;
};

/** Defines a test for each language. It is skipped where the machine lacks the language. */
export function testEachLanguage(
  name: string,
  run: (language: Language) => Promise<void>,
  timeoutMs = 120_000,
  chosen = languages,
): void {
  for (const language of chosen)
    test.skipIf(!language.isHere)(`${name}, in ${language.name}`, () => run(language), timeoutMs);
}

/** Chooses the items of a list that a language runs. */
export function chooseForLanguage<T>({ isWhole }: Language, list: readonly T[]): readonly T[] {
  return isWhole ? list : list.filter((_, index) => index % 10 === 0);
}

/** Makes the environment of a program, with `folder` for its caches. */
export function makeExampleEnvironment(folder: string, more: Readonly<Record<string, string>> = {}) {
  const own = { HOME: folder, PYTHONDONTWRITEBYTECODE: "1" };
  return { ...process.env, ...own, ...more };
}

function has(...commands: readonly string[]): boolean {
  return commands.every((command) => Bun.which(command) !== null);
}

/** The first Python that has PyJWT. Only Debian's own Python finds Debian's packages. */
const python = ["python3", "/usr/bin/python3"].find((name) => {
  if (!has(name)) return false;
  return Bun.spawnSync([name, "-c", "import jwt, cryptography"], { stderr: "ignore" }).exitCode === 0;
});

/** Compiles each program once for a folder. */
function once(prepare: Language["prepare"]): Language["prepare"] {
  const made = new Map<string, Promise<readonly string[]>>();
  return (program, folder) => {
    const known = made.get(`${program} ${folder}`) ?? prepare(program, folder);
    made.set(`${program} ${folder}`, known);
    return known;
  };
}

function script(name: string, extension: string, words: readonly string[] | null): Language {
  const file = (program: ExampleProgram) => join(examples, name, `${program}.${extension}`);
  return {
    name,
    isHere: words !== null,
    isWhole: ["javascript", "php"].includes(name),
    file,
    prepare: async (program) => [...(words ?? []), file(program)],
  };
}

async function runWell(words: readonly string[], folder: string): Promise<void> {
  const { code, stdout, stderr } = await runToEnd(words, { env: makeExampleEnvironment(folder) });
  if (code !== 0) throw new Error(`${words.join(" ")}: ${stdout}${stderr}`);
}

function capital(program: ExampleProgram): string {
  return program.charAt(0).toUpperCase() + program.slice(1);
}

const jackson = ["databind", "core", "annotations"].map((part) => `/usr/share/java/jackson-${part}.jar`);

const java: Language = {
  name: "java",
  isHere: has("javac", "java") && jackson.every((jar) => Bun.file(jar).size > 0),
  isWhole: false,
  file: (program) => join(examples, "java", `${capital(program)}.java`),
  prepare: once(async (program, folder) => {
    const path = [folder, ...jackson].join(":");
    await runWell(["javac", "-encoding", "UTF-8", "-d", folder, "-cp", path, java.file(program)], folder);
    // Java's second compiler would make short programs slower.
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path, capital(program)];
  }),
};

const shellNeeds = ["sh", "curl", "gzip", "jq", "openssl", "base64", "od"];

export const languages: readonly Language[] = [
  script("curl", "sh", has(...shellNeeds) ? ["sh"] : null),
  script("javascript", "mjs", has("node") ? ["node"] : null),
  script("python", "py", python === undefined ? null : [python]),
  script("php", "php", has("php") ? ["php"] : null),
  java,
];

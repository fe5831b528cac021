/** The command lines of a document, run in one shell as a reader would paste them. */
import { expect } from "bun:test";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder } from "../harness/folder.ts";
import { programWords, runToEnd, type Service, startService } from "../harness/program.ts";
import { read, root } from "../harness/repository.ts";

export const repositoryPath = (path: string) => join(root, path);

/** The command lines of a document's `sh` blocks, in order, without comments. */
export function readPrintedLines(path: string, heading?: string): string[] {
  const text = read(path);
  const [, section = ""] = heading === undefined ? ["", text] : text.split(`\n## ${heading}\n`);
  const own = heading === undefined ? section : (section.split(/^## /m)[0] ?? "");
  const blocks = [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.split("\n")).filter((line) => !/^\s*(?:#.*)?$/.test(line));
}

export type CommandExit = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** A bash that keeps its folder and variables from line to line, with `tvs` on its PATH. */
export type Shell = Awaited<ReturnType<typeof openShell>>;

/** @param replaced printed texts, such as addresses, with their replacements in the test */
export async function openShell(replaced: () => Readonly<Record<string, string>>) {
  const folder = makeFolder();
  const [state, programs, home] = ["state", "programs", "work/first"].map((name) => join(folder.path, name));
  if (state === undefined || programs === undefined || home === undefined) throw new Error("no folder");
  for (const path of [state, programs, home]) await mkdir(path, { recursive: true });
  // The commands run in a folder of their own, where a relative path would lead elsewhere.
  const absolute = programWords.map((word) => (word.includes("/") ? resolve(word) : word));
  const script = `#!/bin/sh\nexec ${absolute.map((word) => `'${word}'`).join(" ")} "$@"\n`;
  for (const path of [programs, home]) await writeFile(join(path, "tvs"), script, { mode: 0o755 });
  await writeFile(join(state, "cwd"), home);
  await writeFile(join(state, "env"), "");

  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(TVS_|NO_COLOR$|FORCE_COLOR$|BUN_)/.test(name),
  );
  const env = { ...Object.fromEntries(kept), PATH: `${programs}:${process.env.PATH}` };
  const services: Service[] = [];

  function asRun(line: string): string {
    return Object.entries(replaced()).reduce((text, [printed, own]) => text.replaceAll(printed, own), line);
  }

  function run(line: string): Promise<CommandExit> {
    const script = [
      `. '${state}/env'`,
      `cd "$(cat '${state}/cwd')"`,
      `set -a\n${asRun(line)}\ncode=$?\nset +a`,
      `export -p > '${state}/env'\npwd > '${state}/cwd'\nexit $code`,
    ].join("\n");
    return runToEnd(["bash", "-c", script], { env });
  }

  /** Runs a line, which must exit with 0. */
  async function runWell(line: string): Promise<CommandExit> {
    const ended = await run(line);
    const said = ended.code === 0 ? "" : ended.stdout + ended.stderr;
    expect({ line, code: ended.code, said }).toEqual({ line, code: 0, said: "" });
    return ended;
  }

  /** Asks the last started service about the first teacher of the sample, with a partner's key. */
  const check = (apiKey: string) =>
    fetch(`${services.at(-1)?.url}/v1/inter-agency/eligibility-check`, {
      method: "POST",
      headers: { Authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        identifier: { regNo: "TR/2019/LA/000001" },
        purpose: "BODYA_INVIGILATOR_ELIGIBILITY",
      }),
    });

  const cwd = async () => (await readFile(join(state, "cwd"), "utf8")).trim();

  /** Runs a `tvs serve` line on free ports, so that documents can be run side by side. {@link stopServices} ends it. */
  async function serve(line: string): Promise<Service> {
    const words = asRun(line)
      .replace(/^(?:\.\/)?tvs serve/, "")
      .replace(/ > \S+ 2>&1 &(?: \w+=\$!)?$|&$/, "")
      .replace(/--port \d+/, "")
      .replace(/--(tls|admin)-port \d+/, "--$1-port 0")
      .trim()
      .split(/\s+/)
      .filter(Boolean);
    const at = words.indexOf("--data");
    const name = at === -1 ? "data" : (words[at + 1] ?? "");
    const here = await cwd();
    const paths = (at === -1 ? words : words.toSpliced(at, 2)).map((word) =>
      /\.(?:pem|json)$/.test(word) ? join(here, word) : word,
    );
    const service = await startService({ dataDir: join(here, name), args: paths });
    services.push(service);
    const log = / > (\S+) 2>&1 &(?: \w+=\$!)?$/.exec(line)?.[1];
    if (log !== undefined) await writeFile(join(here, log), service.stdout());
    return service;
  }

  /** @returns their exit codes */
  async function stopServices(): Promise<number[]> {
    return Promise.all(services.splice(0).map((service) => service.stop()));
  }

  async function close(): Promise<void> {
    await stopServices();
    await folder.remove();
  }

  const set = (name: string, value: string) => run(`${name}='${value}'`);
  const fileText = async (name: string) => readFile(join(await cwd(), name), "utf8");
  return { home, run, runWell, check, serve, services, stopServices, set, cwd, fileText, close };
}

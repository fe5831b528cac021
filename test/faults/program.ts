/** The program as the fault tests run it: real processes, which they end as they like. */
import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";

const main = resolve(import.meta.dir, "../../cli/main.ts");

/** Runs one command that has to succeed. @returns its standard output */
export function tvs(args: readonly string[]): Promise<string> {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
    });
    child.on("close", (code) =>
      code === 0 ? done(text) : failed(new Error(`tvs ${args[0]} ${args[1]} ended with ${code}: ${text}`)),
    );
  });
}

/** A serving process that is ready. */
export type Serving = { readonly child: ChildProcess; readonly url: string };

export async function startService(dataDir: string, flags: readonly string[] = []): Promise<Serving> {
  const args = [main, "serve", "--port", "0", "--data", dataDir, ...flags];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise<string>((done, failed) => {
    child.on("exit", (code) => failed(new Error(`serve ended with ${code}`)));
    child.stdout.on("data", (chunk) => {
      const found = /listening on (http:\S+)/.exec(String(chunk));
      if (found?.[1] !== undefined) done(found[1]);
    });
  });
  return { child, url };
}

/** Sends a signal and waits for the end. */
export function endService({ child }: Serving, signal: NodeJS.Signals): Promise<void> {
  return new Promise((done) => {
    child.removeAllListeners("exit");
    child.once("exit", () => done());
    child.kill(signal);
  });
}

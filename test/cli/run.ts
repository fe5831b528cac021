import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export type Finished = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type RunOptions = {
  readonly dataDir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
};

const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/**
 * Runs one command line in a process of its own, as an operator does. No `TVS_` variable of the machine
 * that runs the tests reaches it, so that nobody's real data is ever touched.
 */
export async function runTvs(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("TVS_"));
  const child = spawn(process.execPath, [main, ...args], {
    env: {
      ...Object.fromEntries(inherited),
      ...(options.dataDir === undefined ? {} : { TVS_DATA: options.dataDir }),
      ...options.env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A command that reads no input may be gone before it is written.
  child.stdin.on("error", () => {});
  child.stdin.end(options.stdin ?? "");
  const [stdout, stderr, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    exitOf(child),
  ]);
  return { code, stdout, stderr };
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

function exitOf(child: ReturnType<typeof spawn>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
}

/** Registers a function that is called at the end; the function that was registered last is called first. */
export type Cleanup = (undo: () => unknown) => void;

export async function withCleanup<T>(run: (cleanup: Cleanup) => Promise<T>): Promise<T> {
  const undos: (() => unknown)[] = [];
  try {
    return await run((undo) => undos.push(undo));
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}

/** Starts a server in its own process, and reads the port that it prints. @returns the server's URL and process id */
export async function startServer(
  words: readonly string[],
  cleanup: Cleanup,
): Promise<{ url: string; pid: number }> {
  const env = { ...process.env, NODE_ENV: "production" };
  const child = Bun.spawn([...words], { stdout: "pipe", stderr: "inherit", env });
  cleanup(async () => {
    child.kill();
    await child.exited;
  });
  for await (const chunk of child.stdout)
    return { url: `http://127.0.0.1:${Number(new TextDecoder().decode(chunk))}`, pid: child.pid };
  throw new Error(`${words.at(-1)} did not start`);
}

/** Takes what is to be undone at the end, the last one first. */
export type Cleanup = (undo: () => unknown) => void;

export async function withCleanup<T>(act: (cleanup: Cleanup) => Promise<T>): Promise<T> {
  const undos: (() => unknown)[] = [];
  try {
    return await act((undo) => undos.push(undo));
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}

/**
 * Starts a server of the benchmark's own as a process, and reads its port, which it prints first.
 * @returns its address and process id
 */
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

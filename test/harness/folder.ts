/** Folders of the tests, gone when the tests are. */
import { afterAll } from "bun:test";
import { mkdtempSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const prefix = join(tmpdir(), "tvs-test-");

/** What uses a folder, and ends before it is removed. */
const users = new Map<string, () => Promise<void>>();

/** Ends by `act` what uses a folder or file, before a folder around it is removed. */
export function beforeRemoval(path: string, act: () => Promise<void>): void {
  users.set(path, act);
}

async function removeAll(folder: string): Promise<void> {
  const within = [...users].filter(([path]) => path.startsWith(folder));
  for (const [path] of within) users.delete(path);
  await Promise.all(within.map(([, act]) => act()));
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** A folder that is there until `remove` is called. */
export type Folder = { readonly path: string; remove(): Promise<void> };

export async function makeFolder(): Promise<Folder> {
  const path = await mkdtemp(prefix);
  return { path, remove: () => removeAll(path) };
}

/** Gives a test a folder of its own and removes it afterwards. */
export async function withTempDir<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeFolder();
  try {
    return await act(folder.path);
  } finally {
    await folder.remove();
  }
}

/** A folder for all tests of a file, or of the group in which it is asked for, removed after the last of them. */
export function sharedFolder(): string {
  const path = mkdtempSync(prefix);
  afterAll(() => removeAll(path));
  return path;
}

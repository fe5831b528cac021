/** Temporary folders, removed after the tests. */
import { afterAll } from "bun:test";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const prefix = join(tmpdir(), "tvs-test-");

const removeAll = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 5 });

export type Folder = { readonly path: string; remove(): Promise<void> };

export function makeFolder(): Folder {
  const path = mkdtempSync(prefix);
  return { path, remove: () => removeAll(path) };
}

export async function withTempDir<T>(act: (folder: string) => Promise<T>): Promise<T> {
  const folder = makeFolder();
  try {
    return await act(folder.path);
  } finally {
    await folder.remove();
  }
}

/** Makes a folder for all tests of a file or describe block. It is removed after the last test. */
export function sharedFolder(): string {
  const { path, remove } = makeFolder();
  afterAll(remove);
  return path;
}

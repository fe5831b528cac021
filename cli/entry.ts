/** Where a worker thread re-enters the program. */

let entry: URL | undefined;

/** Remembers the address of main.ts, which only main.ts knows. */
export function setWorkerEntry(url: URL): void {
  entry = url;
}

export function workerEntry(): URL {
  if (entry === undefined) throw new Error("the program was not started by main.ts");
  return entry;
}
